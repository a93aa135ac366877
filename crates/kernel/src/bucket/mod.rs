//! Who may ask a provider now: the shared state of everybody who uses one account and model, and its decisions.
//!
//! A bucket is open or closed. While it is open, a window bounds how many requests are under way, and after the
//! first throttle a pace bounds how often one starts. While it is closed nobody asks until a known moment, and then
//! one request at a time probes. The state is plain data that processes hand to each other; time and chance come in
//! as arguments.

mod admit;
mod gate;
mod line;
mod pace;
mod settle;
mod state;
mod tally;
mod window;

pub use admit::Entrance;
pub use line::Holder;
pub use settle::News;
pub use state::{Bucket, Permit};
