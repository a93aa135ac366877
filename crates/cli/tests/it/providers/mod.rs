//! The binary with real providers' wires, which the test kit's server speaks.

mod agents;
mod compaction;
mod counts;
mod faults;
mod job;
mod limits;
mod outages;
mod prefix;
mod secrets;
mod three_wires;

/// Each wire as a model is named on it.
const MODELS: [&str; 3] = ["anthropic/test-model", "openai/test-model", "openai-chat/test-model"];
