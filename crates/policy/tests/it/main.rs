//! Tests of the policy through its public face.

mod paths;
mod rules;
mod sample;
