//! The tools from outside: what a model gets for what it writes, on real files and real processes.

#![cfg(test)]

mod asking;
mod escapes;
mod fetching;
mod fixture;
mod forbidden;
mod patching;
mod reach;
mod searching;
mod session;
mod shell;
mod steering;
mod viewing;
mod writing;
