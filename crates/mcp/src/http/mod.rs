//! The transport to a URL.

mod event_stream;
mod headers;
mod param_headers;
mod transport;

pub(crate) use param_headers::ParamHeader;
pub(crate) use transport::{HttpTransport, HttpTransportSetup};
