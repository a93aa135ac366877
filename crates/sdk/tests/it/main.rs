//! Bosun inside a program.

#![cfg(test)]

mod sessions;
