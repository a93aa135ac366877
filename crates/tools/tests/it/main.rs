//! Tools as a model uses them, on real files and processes.

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
