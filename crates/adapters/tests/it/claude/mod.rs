//! The adapter of the Claude SDKs, driven as its clients drive it.

#![cfg(test)]

mod asks;
mod files;
mod hooks;
mod leaving;
mod limits;
mod live;
mod options;
mod resume_at;
mod rewind;
mod servers;
mod structured;
mod subagents;
mod turns;
mod visit;
mod wire;
