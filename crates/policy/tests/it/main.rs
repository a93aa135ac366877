//! Tests of the policy through its public face.

mod generate;
mod oracle;
mod reading;
mod second;
mod shims;
