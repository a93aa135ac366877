//! Admission of model requests: the state that all users of one account and model share, and its decisions.
//!
//! A bucket is open or closed. While it is open, a window limits how many requests are in progress, and after the
//! first throttle a pace limits how often one starts. While it is closed, no request starts until a known time; from
//! then on, one request at a time tests the provider as a probe. The state is plain data that processes share; time and
//! randomness are passed in.

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
