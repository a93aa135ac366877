//! Who may ask a provider now: the shared state of everybody who uses one account and model, and its decisions.
//!
//! A bucket is open or closed. While it is open, a window bounds how many requests are under way, and after the
//! first throttle a pace bounds how often one starts. While it is closed nobody asks until a known moment, and then
//! one request at a time probes. The state is plain data that processes hand to each other; time and chance come in
//! as arguments.

mod admit;
mod gate;
mod pace;
mod queue;
mod settle;
mod state;
mod throttle_stats;
mod window;

pub use admit::AdmitDecision;
pub use queue::PermitHolder;
pub use settle::RequestOutcome;
pub use state::{RateBucket, RequestPermit};
