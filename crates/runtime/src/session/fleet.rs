//! Starts and resumes a fleet in the session.

use std::sync::Arc;

use kernel::{KernelInput, TodoTransition};
use protocol::api::TodoEdit;
use protocol::{BlockReason, Event, FleetConfig, TodoId};

use super::Session;
use crate::fleet::{FinishedTodos, FleetDriver, FleetError, FleetHandle, FleetRequest, FleetServices, check_plan};

impl Session {
    /// Starts a fleet, which works until no todo is left that it can do.
    pub async fn start_fleet(
        &mut self,
        request: FleetRequest,
        services: FleetServices,
    ) -> Result<FleetHandle, FleetError> {
        let FleetRequest { config: mut terms, todos } = request;
        if !todos.is_empty() {
            check_plan(&self.context, self.root, &terms, &todos).await?;
            terms.plan.get_or_insert_default();
            self.edit_todos(todos.into_iter().map(|todo| TodoEdit::Add(todo.into())).collect()).await?;
        }
        self.submit(KernelInput::BeginFleet(terms)).await?;
        self.drive_fleet(services)
    }

    /// Resumes the session's latest fleet. An ended fleet starts again with its configuration and blocked todos.
    pub async fn resume_fleet(&mut self, services: FleetServices) -> Result<FleetHandle, FleetError> {
        let has_fleet = |kernel: &kernel::Kernel| kernel.graph().fleet().is_some();
        if !self.supervision.supervisor.query(has_fleet).await? {
            let config = self.fleet_config()?.ok_or(FleetError::NoFleet)?;
            self.submit(KernelInput::BeginFleet(config)).await?;
            let finished = FinishedTodos::read(&self.context.log.reader()?, self.root)?;
            for todo in self.blocked_todos().await? {
                // Work that could not be merged is merged again, but not done again.
                let to = if finished.contains(&todo) { TodoTransition::Reuse(None) } else { TodoTransition::Reopen };
                self.submit(KernelInput::SetTodoState { todo, to }).await?;
            }
        }
        self.drive_fleet(services)
    }

    /// The configuration of the session's latest fleet; nothing if there was none.
    pub fn fleet_config(&self) -> Result<Option<FleetConfig>, FleetError> {
        let began = |event: Event| match event {
            Event::FleetBegan(config) => Some(config),
            _other => None,
        };
        let log = self.context.log.reader()?.task_events(self.root)?;
        Ok(log.into_iter().rev().find_map(|envelope| began(envelope.entry.event)))
    }

    /// The todos that are blocked for a reason of their own, not because of a dependency.
    async fn blocked_todos(&self) -> Result<Vec<TodoId>, FleetError> {
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
        Ok(self.supervision.supervisor.query(blocked).await?)
    }

    fn drive_fleet(&mut self, services: FleetServices) -> Result<FleetHandle, FleetError> {
        let (ending, fleet) = FleetHandle::new();
        let (context, supervisor) = (Arc::clone(&self.context), self.supervision.supervisor.clone());
        let driver = FleetDriver::new(context, supervisor, self.root, self.first_seq, services, self.closing.clone())?;
        self.background_tasks.spawn(driver.drive(ending));
        Ok(fleet)
    }
}
