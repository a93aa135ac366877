//! Sessions with many agents whose owning process is killed at any moment: nothing is lost or repeated, and no limit
//! is exceeded.

mod agent_limits;
mod owners;
mod selftest;
mod storm;
