//! Tests of the policy through its public face.
