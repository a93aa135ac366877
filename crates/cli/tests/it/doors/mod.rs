//! Programs written for other agents' SDKs, which find Bosun in the place of those agents.

mod copilot;
mod copilot_crews;
mod copilot_kills;
