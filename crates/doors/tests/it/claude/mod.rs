//! The door of the Claude SDKs, driven as its clients drive it.

mod asks;
mod hooks;
mod leaving;
mod turns;
mod visit;
mod wire;
