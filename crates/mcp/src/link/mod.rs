//! The connection to one server: requests to it, and the messages that it sends by itself.

mod server_link;
mod server_messages;

pub(crate) use self::server_link::{ServerLink, ServerRequest};
