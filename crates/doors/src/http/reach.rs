//! How a session is reached: here, through the socket of the process that runs it, or by its file.

use std::time::Duration;

use protocol::SessionId;
use protocol::api::Method;
use rpc::Client;
use serde_json::Value;
use store::Reader;

use super::file;
use super::hall::{Hall, Link};
use super::problem::Problem;

/// How a session is reached.
pub(super) enum Reach {
    /// Somebody runs it.
    Live(Link),
    /// Nobody does.
    Resting(Reader),
}

impl Hall {
    /// Finds a session, wherever it is.
    pub(super) async fn reach(&self, id: SessionId) -> Result<Reach, Problem> {
        if let Some(link) = self.link(id).await {
            return Ok(Reach::Live(link));
        }
        let reader = Reader::open(self.home(), id)?;
        let Some((_, owner)) = reader.lease()?.filter(|(_, owner)| owner.is_alive()) else {
            return Ok(Reach::Resting(reader));
        };
        drop(reader);
        self.connect(id, owner.pid).await.map(Reach::Live)
    }

    /// The same for a client that subscribes to events. It connects to the session's socket even if the session runs here,
    /// so that the events are read on the caller's thread and not on the thread that runs sessions.
    pub(super) async fn reach_to_watch(&self, id: SessionId) -> Result<Reach, Problem> {
        match self.runs(id) {
            true => self.connect(id, std::process::id()).await.map(Reach::Live),
            false => self.reach(id).await,
        }
    }

    async fn connect(&self, id: SessionId, owner: u32) -> Result<Link, Problem> {
        Client::connect(&self.home().socket(id)).await.map_err(|error| {
            Problem::conflict(format!("process {owner} runs the session, but {error}"))
                .remedy("try again in a moment, or stop that process")
        })
    }

    /// Calls a method of a session.
    pub(super) async fn call(
        &self,
        id: SessionId,
        method: Method,
        params: Value,
        patience: Duration,
    ) -> Result<Value, Problem> {
        match self.reach(id).await? {
            Reach::Live((client, _notifications)) => call(&client, method, params, patience).await,
            Reach::Resting(reader) => file::answer(&reader, self.home(), id, method, params),
        }
    }
}

/// Calls a method of a session that somebody runs.
pub(super) async fn call(client: &Client, method: Method, params: Value, patience: Duration) -> Result<Value, Problem> {
    let answer = tokio::time::timeout(patience, client.call::<Value>(method, params));
    answer.await.map_or_else(|_elapsed| Err(silent()), |answer| answer.map_err(Problem::from))
}

fn silent() -> Problem {
    Problem::new(hyper::StatusCode::GATEWAY_TIMEOUT, "the session does not answer; what was asked may still happen")
        .remedy("look at the session with GET")
}
