//! One event after the other.
