//! Performs a plan as a stream of deltas.

use std::future;
use std::time::Duration;

use futures_util::{StreamExt, stream};

use super::answer::ScriptPlan;
use crate::{Delta, Deltas, ModelError};

/// One action of a script.
#[derive(Debug)]
pub(super) enum ScriptAction {
    Send(Delta),
    Drip { kind: fn(String) -> Delta, text: String, from: usize, pace: DripPace },
    Wait(Duration),
    Fail(ModelError),
    Hang,
}

/// How fast a text drips: `size` characters at a time, each after the time `every`.
#[derive(Debug, Clone, Copy)]
pub(super) struct DripPace {
    pub(super) every: Duration,
    pub(super) size: usize,
}

/// Performs the actions of `plan`, as fast as the stream is read.
pub(super) fn play(plan: ScriptPlan) -> Deltas {
    stream::unfold(plan, next).boxed()
}

async fn next(mut plan: ScriptPlan) -> Option<(Result<Delta, ModelError>, ScriptPlan)> {
    loop {
        match plan.pop_front()? {
            ScriptAction::Send(delta) => return Some((Ok(delta), plan)),
            ScriptAction::Fail(error) => return Some((Err(error), ScriptPlan::new())),
            ScriptAction::Wait(time) => tokio::time::sleep(time).await,
            ScriptAction::Hang => future::pending().await,
            ScriptAction::Drip { text, from, .. } if from == text.len() => {}
            ScriptAction::Drip { kind, text, from, pace } => {
                tokio::time::sleep(pace.every).await;
                let end = text[from..].char_indices().nth(pace.size).map_or(text.len(), |(at, _)| from + at);
                let piece = kind(text[from..end].to_owned());
                plan.push_front(ScriptAction::Drip { kind, text, from: end, pace });
                return Some((Ok(piece), plan));
            }
        }
    }
}
