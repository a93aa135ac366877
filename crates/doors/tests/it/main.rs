//! Doors, driven as their clients drive them.

mod claude;
mod corpus;
mod drive;
