//! Starts and resumes the fleets of a session. Every entry point comes here, and one task drives one fleet at a time.

use std::path::PathBuf;
use std::sync::Arc;

use kernel::{KernelInput, TodoTransition};
use protocol::api::TodoEdit;
use protocol::{BlockReason, Event, FleetConfig, Hinted, TodoId};
use runtime::{
    FleetActivity, FleetError, FleetHandle, FleetOutcome, FleetQueue, FleetRequest, FleetRunner, FleetSession,
    InputRejection, RequestedFleet, ResultReuse, WantedFleet,
};
use tokio::sync::watch;
use tools::BoxFuture;

use crate::driver::FleetDriver;
use crate::finished_todos::FinishedTodos;
use crate::merging::FleetMerger;
use crate::plan_check::check_plan;
use crate::services::FleetServices;

/// Runs fleets whose todos the runtime gives to workers.
#[derive(Debug, Clone, Copy, Default)]
pub struct FleetEngine;

impl FleetRunner for FleetEngine {
    fn run(&self, session: FleetSession, queue: FleetQueue) -> BoxFuture<'static, ()> {
        Box::pin(SessionFleets { session }.run(queue))
    }
}

/// The fleets of one session.
struct SessionFleets {
    session: FleetSession,
}

/// A fleet that is being driven.
struct DrivenFleet {
    handle: FleetHandle,
    driving: BoxFuture<'static, ()>,
}

impl SessionFleets {
    /// Serves requests until the session ends.
    async fn run(self, mut queue: FleetQueue) {
        let merger = Arc::new(FleetMerger::new(self.session.clone()));
        let mut driven: Option<DrivenFleet> = None;
        loop {
            tokio::select! {
                biased;
                () = end_of(driven.as_mut()) => {
                    let outcome = driven.take().and_then(|driven| driven.handle.outcome());
                    self.session.show(activity_after(outcome)).await;
                }
                request = queue.next() => {
                    let Some(RequestedFleet { wanted, reply }) = request else { return };
                    let answer = match (driven.as_ref().map(|driven| driven.handle.clone()), wanted) {
                        (Some(_), WantedFleet::New(_)) => Err(FleetError::AtWork(self.session.id())),
                        (Some(handle), WantedFleet::Latest(_)) => Ok(handle),
                        (None, wanted) => self.begin(wanted, &merger).await.map(|begun| {
                            queue.set_latest(begun.handle.clone());
                            driven.insert(begun).handle.clone()
                        }),
                    };
                    reply.send(answer);
                }
            }
        }
    }

    async fn begin(&self, wanted: WantedFleet, merger: &Arc<FleetMerger>) -> Result<DrivenFleet, FleetError> {
        self.session.show(FleetActivity::Driven).await;
        let begun = match wanted {
            WantedFleet::New(request) => self.start(*request, merger).await,
            WantedFleet::Latest(excluded) => self.resume(excluded, merger).await,
        };
        if begun.is_err() {
            self.session.show(FleetActivity::Over).await;
        }
        begun
    }

    async fn start(&self, request: FleetRequest, merger: &Arc<FleetMerger>) -> Result<DrivenFleet, FleetError> {
        if self.has_fleet().await? {
            return match request.is_blank() {
                true => self.resume(request.excluded, merger).await,
                false => Err(FleetError::Unfinished(self.session.id())),
            };
        }
        let FleetRequest { mut config, todos, reuse, excluded } = request;
        if config.isolated {
            let usable = merger.check_repository().await;
            usable.map_err(|error| FleetError::Repository(error.refusal()))?;
        }
        if !todos.is_empty() {
            check_plan(&self.session, &config, &todos).await?;
            config.plan.get_or_insert_default();
            self.session.edit_todos(todos.into_iter().map(|todo| TodoEdit::Add(todo.into())).collect()).await?;
        }
        self.session.submit(KernelInput::BeginFleet(config.clone())).await?;
        self.drive(FleetServices::new(&self.session, Arc::clone(merger), &config, reuse, excluded))
    }

    async fn resume(&self, excluded: Vec<PathBuf>, merger: &Arc<FleetMerger>) -> Result<DrivenFleet, FleetError> {
        let config = self.latest_config()?.ok_or(FleetError::NoFleet)?;
        if !self.has_fleet().await? {
            self.session.submit(KernelInput::BeginFleet(config.clone())).await?;
            self.reopen_blocked_todos().await?;
        }
        let merger = Arc::clone(merger);
        self.drive(FleetServices::new(&self.session, merger, &config, ResultReuse::Reuse, excluded))
    }

    fn drive(&self, services: FleetServices) -> Result<DrivenFleet, FleetError> {
        let (ending, outcome) = watch::channel(None);
        let handle = FleetHandle { outcome };
        let driver = FleetDriver::new(self.session.clone(), services)?;
        Ok(DrivenFleet { handle, driving: Box::pin(driver.drive(ending)) })
    }

    /// Whether the session has a fleet that has not ended.
    async fn has_fleet(&self) -> Result<bool, InputRejection> {
        self.session.query(|kernel| kernel.graph().fleet().is_some()).await
    }

    /// The configuration of the session's latest fleet; nothing if there was none.
    fn latest_config(&self) -> Result<Option<FleetConfig>, FleetError> {
        let began = |event: Event| match event {
            Event::FleetBegan(config) => Some(config),
            _other => None,
        };
        let log = self.session.reader()?.task_events(self.session.root())?;
        Ok(log.into_iter().rev().find_map(|envelope| began(envelope.entry.event)))
    }

    /// Tries blocked todos again. Work that could not be merged is merged again, but not done again.
    async fn reopen_blocked_todos(&self) -> Result<(), FleetError> {
        let finished = FinishedTodos::read(&self.session.reader()?, self.session.root())?;
        for todo in self.blocked_todos().await? {
            let to = if finished.contains(&todo) { TodoTransition::Reuse(None) } else { TodoTransition::Reopen };
            self.session.submit(KernelInput::SetTodoState { todo, to }).await?;
        }
        Ok(())
    }

    /// The todos that are blocked for a reason of their own, not because of a dependency.
    async fn blocked_todos(&self) -> Result<Vec<TodoId>, InputRejection> {
        let blocked = |kernel: &kernel::Kernel| {
            let is_own_block = |node: &kernel::TodoNode| match &node.progress {
                kernel::TodoProgress::Blocked(BlockReason::Itself { .. } | BlockReason::Cycle { .. }) => true,
                kernel::TodoProgress::Blocked(BlockReason::Upstream { .. })
                | kernel::TodoProgress::Pending
                | kernel::TodoProgress::Reported
                | kernel::TodoProgress::Claimed { .. }
                | kernel::TodoProgress::Done => false,
            };
            kernel.graph().nodes().filter(|(_, node)| is_own_block(node)).map(|(id, _)| id.clone()).collect()
        };
        self.session.query(blocked).await
    }
}

fn activity_after(outcome: Option<FleetOutcome>) -> FleetActivity {
    match outcome {
        Some(FleetOutcome::Broken(reason)) => FleetActivity::Broken(reason.into()),
        Some(
            FleetOutcome::Ended(_) | FleetOutcome::Halted(_) | FleetOutcome::Unplanned(_) | FleetOutcome::SessionEnded,
        )
        | None => FleetActivity::Over,
    }
}

/// Drives the fleet to its end; pending while there is none.
async fn end_of(driven: Option<&mut DrivenFleet>) {
    match driven {
        Some(driven) => driven.driving.as_mut().await,
        None => std::future::pending().await,
    }
}
