//! Models: a request goes in, a stream of typed deltas comes out.
//!
//! A [`Model`] holds no conversation: everything it may know is in the [`Request`], so a process
//! that adopts a session asks on where the last one stopped. Real models are asked at the
//! [`Providers`]. Two more live here: [`Script`] answers from rules in a YAML file, [`Replay`] from
//! a recording that a [`Recorder`] made.

#![deny(missing_docs)]

mod delta;
mod facts;
mod lenient;
mod messages;
mod model;
mod open;
pub mod prices;
mod provider;
mod replay;
mod reply;
mod request;
mod script;
mod short_names;
mod wire;

pub use delta::Delta;
pub use facts::{Facts, Skill};
pub use lenient::Lenient;
pub use messages::{Fold, Messages};
pub use model::{Deltas, Model, ModelError};
pub use open::{OpenError, is_file, open};
pub use provider::{Extra, Key, Listed, Provider, Providers, Wire};
pub use replay::{Recorder, RecordingError, Replay};
pub use reply::{Draft, Reply};
pub use request::{Calls, Message, Part, Request, ToolSpec};
pub use script::{Script, ScriptError, script_schema, without_null};
