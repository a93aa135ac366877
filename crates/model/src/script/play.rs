//! Performs a plan as a stream of deltas.

use std::future;
use std::time::Duration;

use futures_util::{StreamExt, stream};

use super::answer::Plan;
use crate::{Delta, Deltas, ModelError};

/// One thing a script does.
#[derive(Debug)]
pub(super) enum Act {
    Send(Delta),
    Drip { kind: fn(String) -> Delta, text: String, from: usize, pace: Pace },
    Wait(Duration),
    Fail(ModelError),
    Hang,
}

/// How fast a text drips: so many characters at a time, each time after a while.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    pub(super) every: Duration,
    pub(super) size: usize,
}

/// Performs `plan`, act by act, as fast as it is read.
pub(super) fn play(plan: Plan) -> Deltas {
    stream::unfold(plan, next).boxed()
}

async fn next(mut plan: Plan) -> Option<(Result<Delta, ModelError>, Plan)> {
    loop {
        match plan.pop_front()? {
            Act::Send(delta) => return Some((Ok(delta), plan)),
            Act::Fail(error) => return Some((Err(error), Plan::new())),
            Act::Wait(time) => tokio::time::sleep(time).await,
            Act::Hang => future::pending().await,
            Act::Drip { text, from, .. } if from == text.len() => {}
            Act::Drip { kind, text, from, pace } => {
                tokio::time::sleep(pace.every).await;
                let end = text[from..].char_indices().nth(pace.size).map_or(text.len(), |(at, _)| from + at);
                let piece = kind(text[from..end].to_owned());
                plan.push_front(Act::Drip { kind, text, from: end, pace });
                return Some((Ok(piece), plan));
            }
        }
    }
}
