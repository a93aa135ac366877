//! Models: a request goes in, a stream of typed deltas comes out.
//!
//! A [`Model`] holds no conversation: everything it may know is in the [`ModelRequest`], so a process that adopts a
//! session continues where the last one stopped. Remote models belong to the [`Providers`]. There are two more:
//! [`ScriptModel`] answers from rules in a YAML file, [`ReplayModel`] from a recording that a [`RecordingModel`] made.

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
mod turn_headers;
mod wire;

pub use delta::Delta;
pub use facts::{ModelFacts, ModelTier};
pub use lenient::LenientModel;
pub use messages::{MessageFold, Messages};
pub use model::{Deltas, Model, ModelError};
pub use open::{OpenModelError, open};
pub use provider::{
    ClientProvider, ModelListing, Provider, ProviderKey, Providers, RequestExtras, TokenError, TokenSource,
    TokenSupplier, WireFormat,
};
pub use replay::{RecordingError, RecordingModel, ReplayModel};
pub use reply::{ModelReply, ReplyBuilder};
pub use request::{MessagePart, ModelMessage, ModelRequest, ToolCallPolicy, ToolSpec};
pub use script::{SCRIPT_SCHEMA, ScriptError, ScriptModel, generate_script_schema, without_null};
pub use turn_headers::TurnHeaders;
