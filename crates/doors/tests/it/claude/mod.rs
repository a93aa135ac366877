//! The door of the Claude SDKs, driven as its clients drive it.

#![cfg(test)]

mod asks;
mod crew;
mod files;
mod hooks;
mod leaving;
mod limits;
mod servers;
mod structured;
mod turns;
mod visit;
mod wire;
