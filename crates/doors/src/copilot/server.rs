//! What the clients of one process share: where sessions are found, the token, and the sessions that are held.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::House;

/// What the clients of one process share.
pub(crate) struct Server {
    pub(crate) house: Arc<dyn House>,
    token: Option<String>,
    closing: CancellationToken,
}

impl Server {
    pub(crate) fn new(house: Arc<dyn House>, token: Option<String>) -> Server {
        Server { house, token, closing: CancellationToken::new() }
    }

    /// Whether clients must show a token first.
    pub(crate) fn asks_for_token(&self) -> bool {
        self.token.is_some()
    }

    /// Whether this is the token. It takes as long to say no as to say yes.
    pub(crate) fn knows(&self, token: Option<&str>) -> bool {
        match (&self.token, token) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(ours), Some(theirs)) => {
                ours.len() == theirs.len()
                    && ours.bytes().zip(theirs.bytes()).fold(0, |differ, (a, b)| differ | (a ^ b)) == 0
            }
        }
    }

    /// Ends the server once what is being answered is answered.
    pub(crate) fn close(&self) {
        self.closing.cancel();
    }

    pub(crate) async fn closed(&self) {
        self.closing.cancelled().await;
    }
}
