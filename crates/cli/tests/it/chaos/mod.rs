//! Whole trees of agents, whose owners die at any moment: nothing is lost, nothing is done twice, no limit is passed.

mod caps;
mod owners;
mod selftest;
mod storm;
