//! A server's answer as it arrives.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use reqwest::Response;
use tokio::time::{Instant, timeout};

use crate::{CarriedAnswer, HttpTimeouts, NetError, wait};

/// A server's answer. Its headers have arrived; its body arrives in pieces.
pub struct HttpResponse {
    content: ResponseContent,
    host: String,
    timeouts: HttpTimeouts,
    phase: BodyPhase,
}

/// Where the answer comes from.
enum ResponseContent {
    Network(Response),
    Carried(CarriedAnswer),
}

/// Which deadline applies to the next piece of the body.
enum BodyPhase {
    /// Nothing has arrived; the first byte must arrive by this time.
    FirstByte(Instant),
    /// The idle timeout applies.
    Further,
}

impl HttpResponse {
    /// An answer whose headers have arrived; the first byte of its body must arrive by `deadline`.
    pub(crate) fn new(response: Response, host: String, timeouts: HttpTimeouts, deadline: Instant) -> HttpResponse {
        let content = ResponseContent::Network(response);
        HttpResponse { content, host, timeouts, phase: BodyPhase::FirstByte(deadline) }
    }

    /// The same for an answer that a carrier brings.
    pub(crate) fn carried(
        answer: CarriedAnswer,
        host: String,
        timeouts: HttpTimeouts,
        deadline: Instant,
    ) -> HttpResponse {
        let content = ResponseContent::Carried(answer);
        HttpResponse { content, host, timeouts, phase: BodyPhase::FirstByte(deadline) }
    }

    /// The status code.
    pub fn status(&self) -> u16 {
        match &self.content {
            ResponseContent::Network(response) => response.status().as_u16(),
            ResponseContent::Carried(answer) => answer.status,
        }
    }

    /// Whether the status is a success.
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status())
    }

    /// A header of the answer; none if it is absent or not text.
    pub fn header<'a>(&'a self, name: &'a str) -> Option<&'a str> {
        self.header_values(name).next()
    }

    /// All values of a header that may occur several times.
    pub fn header_values<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let (network, carried) = match &self.content {
            ResponseContent::Network(response) => (Some(response.headers().get_all(name)), None),
            ResponseContent::Carried(answer) => (None, Some(&answer.headers)),
        };
        let network = network.into_iter().flatten().filter_map(|value| value.to_str().ok());
        let is_named = |(known, _): &&'a (String, String)| known.eq_ignore_ascii_case(name);
        network.chain(carried.into_iter().flatten().filter(is_named).map(|(_, value)| value.as_str()))
    }

    /// The next piece of the body; none at its end. Data that has arrived is returned even after the deadline.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, NetError> {
        let deadline = match self.phase {
            BodyPhase::FirstByte(deadline) => deadline,
            BodyPhase::Further => Instant::now() + self.timeouts.idle,
        };
        let host = &self.host;
        let reading = async {
            match &mut self.content {
                ResponseContent::Network(response) => {
                    response.chunk().await.map_err(|error| NetError::from_body(host, &error))
                }
                ResponseContent::Carried(answer) => {
                    let lost = |why: String| NetError::ConnectionLost { host: host.clone(), why };
                    answer.body.recv().await.transpose().map_err(lost)
                }
            }
        };
        let Some(read) = wait::until(deadline, reading).await else { return Err(self.timeout_error()) };
        self.phase = BodyPhase::Further;
        read
    }

    /// The body as text, up to `limit` bytes.
    pub async fn text(mut self, limit: usize) -> Result<String, NetError> {
        let mut body = Vec::new();
        while body.len() < limit {
            let Some(chunk) = self.chunk().await? else { break };
            body.extend_from_slice(&chunk[..chunk.len().min(limit - body.len())]);
        }
        Ok(String::from_utf8_lossy(&body).into_owned())
    }

    /// The part of the body that arrives within `time`, as text and up to `limit` bytes, whether or not it is complete.
    pub async fn excerpt(mut self, limit: usize, time: Duration) -> String {
        let mut body = Vec::new();
        let reading = async {
            while let Ok(Some(chunk)) = self.chunk().await {
                body.extend_from_slice(&chunk[..chunk.len().min(limit - body.len())]);
                if body.len() == limit {
                    break;
                }
            }
        };
        // A timeout does not matter: what arrived counts.
        let _ = timeout(time, reading).await;
        String::from_utf8_lossy(&body).into_owned()
    }

    fn timeout_error(&self) -> NetError {
        let host = self.host.clone();
        match self.phase {
            BodyPhase::FirstByte(_) => NetError::FirstByte { host, after: self.timeouts.first_byte },
            BodyPhase::Further => NetError::Idle { host, after: self.timeouts.idle },
        }
    }
}

impl fmt::Debug for HttpResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "answer {} of {}", self.status(), self.host)
    }
}
