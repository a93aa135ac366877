//! Tests of the policy through its public face.

#![cfg(test)]

mod corpus;
mod explain;
mod paths;
mod rules;
mod sample;
