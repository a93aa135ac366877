//! Tests of the public interface of the policy.

#![cfg(test)]

mod attacks;
mod corpus;
mod explain;
mod generate;
mod oracle;
mod paths;
mod programs;
mod quirks;
mod reading;
mod rules;
mod sample;
mod second;
mod shims;
mod unclear;
