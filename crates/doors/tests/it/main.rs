//! Tests of the doors.

#![cfg(test)]

mod http;
