//! Tests of the reader of shell commands, against bash itself and a second parser.

#![cfg(test)]

mod generate;
mod oracle;
mod programs;
mod quirks;
mod reading;
mod second;
mod shims;
mod unclear;
