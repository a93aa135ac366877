//! Doors, driven as their clients drive them.

mod claude;
mod copilot;
mod corpus;
mod drive;
