//! Buckets: what each event does, and whole crowds against servers that throttle.

mod closings;
mod crowd;
mod crowds;
mod damage;
mod dice;
mod openings;
mod plan;
mod scene;
mod server;
