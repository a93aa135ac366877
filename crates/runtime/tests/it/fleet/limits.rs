//! Limits stop a fleet, and say so.
