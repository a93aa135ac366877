//! Tests of the policy through its public face.

mod generate;
mod oracle;
mod programs;
mod reading;
mod second;
mod shims;
