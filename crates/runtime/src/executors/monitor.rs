//! Runs a command again and again until it succeeds, without model requests meanwhile.

use std::sync::Arc;
use std::time::Duration;

use protocol::FailKind;
use tools::BoxFuture;

use super::shell::{CommandRepetition, run_command};
use super::{Executor, fail_run};
use crate::session_context::SessionContext;
use crate::supervisor::RunLink;

/// Runs monitors.
#[derive(Debug)]
pub(super) struct MonitorExecutor(pub(super) Arc<SessionContext>);

impl Executor for MonitorExecutor {
    fn run(&self, link: RunLink) -> BoxFuture<'static, ()> {
        let context = Arc::clone(&self.0);
        let pause = context.log.roster.with_task(link.run.task, |entry| entry.spec.every_secs).flatten();
        Box::pin(async move {
            match pause.map(|secs| Duration::from_secs(secs.into())) {
                Some(pause) => run_command(&context, &link, CommandRepetition::UntilSuccess { pause }).await,
                None => fail_run(&link, FailKind::Internal, "the monitor has no interval".into()).await,
            }
        })
    }
}
