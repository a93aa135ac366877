//! Tests of the policy through its public face.

#![cfg(test)]

mod generate;
mod oracle;
mod programs;
mod quirks;
mod reading;
mod second;
mod shims;
mod unclear;
