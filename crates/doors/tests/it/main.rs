//! Tests of the doors.
