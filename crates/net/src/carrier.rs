//! Carries requests in another way than over the network: the program that drives a session may send them itself.

use std::fmt;
use std::pin::Pin;

use bytes::Bytes;
use tokio::sync::mpsc;

use crate::NetError;

/// An answer that is being waited for.
pub type CarriedAnswerFuture<'a> = Pin<Box<dyn Future<Output = Result<CarriedAnswer, NetError>> + Send + 'a>>;

/// Carries requests to their servers.
pub trait RequestCarrier: fmt::Debug + Send + Sync {
    /// Sends a request; returns when the headers of the answer have arrived. Whoever drops the future or the answer no
    /// longer wants the rest.
    fn carry(&self, request: CarriedRequest) -> CarriedAnswerFuture<'_>;
}

/// A request to carry. Its headers may contain keys.
pub struct CarriedRequest {
    /// The method, such as `POST`.
    pub method: String,
    /// The address.
    pub url: String,
    /// The headers, with their values as they are sent.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Bytes,
    /// On whose behalf it is sent, if that is known.
    pub sender: Option<String>,
}

impl fmt::Debug for CarriedRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} of {} bytes", self.method, self.url, self.body.len())
    }
}

/// An answer that a carrier brings.
#[derive(Debug)]
pub struct CarriedAnswer {
    /// The status code.
    pub status: u16,
    /// The headers, by name in lower case.
    pub headers: Vec<(String, String)>,
    /// The pieces of the body; an error says why it is incomplete.
    pub body: mpsc::Receiver<Result<Bytes, String>>,
}
