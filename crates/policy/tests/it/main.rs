//! Tests of the public interface of the policy.

#![cfg(test)]

mod attacks;
mod corpus;
mod explain;
mod paths;
mod rules;
mod sample;
#[expect(dead_code, reason = "the files that a command made concern the tests of shell-parser")]
#[path = "../../../shell-parser/tests/it/shims.rs"]
mod shims;
