//! Buckets: what each event does, and whole crowds against servers that throttle.

mod cases;
mod crowd;
mod crowds;
mod dice;
mod server;
