//! Bosun inside a program.

mod sessions;
