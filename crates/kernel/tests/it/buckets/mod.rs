//! Tests of buckets: single events, and simulations of many callers against servers that throttle.

mod closings;
mod crowd;
mod crowds;
mod damage;
mod dice;
mod fixture;
mod openings;
mod plan;
mod server;
