//! A fleet works in the session.

use std::sync::Arc;

use kernel::{Input, TodoMove};
use protocol::api::TodoEdit;
use protocol::{Blocked, Event, FleetTerms, TodoId};

use super::Session;
use crate::fleet::{Aids, Driver, Finished, Fleet, FleetError, FleetOrder, check};

impl Session {
    /// Begins a fleet, which works until it has done what it can.
    pub async fn start_fleet(&mut self, order: FleetOrder, aids: Aids) -> Result<Fleet, FleetError> {
        let FleetOrder { mut terms, todos } = order;
        if !todos.is_empty() {
            check(&self.desk, self.root, &terms, &todos).await?;
            terms.plan.get_or_insert_default();
            self.edit_todos(todos.into_iter().map(|todo| TodoEdit::Add(todo.into())).collect()).await?;
        }
        self.submit(Input::BeginFleet(terms)).await?;
        self.drive_fleet(aids)
    }

    /// Goes on with the session's latest fleet. One that was ended begins again on its terms, with what it could not do.
    pub async fn resume_fleet(&mut self, aids: Aids) -> Result<Fleet, FleetError> {
        let at_work = |kernel: &kernel::Kernel| kernel.graph().fleet().is_some();
        if !self.supervision.supervisor.look(at_work).await? {
            let terms = self.fleet_terms()?.ok_or(FleetError::None)?;
            self.submit(Input::BeginFleet(terms)).await?;
            let finished = Finished::read(&self.desk.reader()?, self.root)?;
            for todo in self.blocked_todos().await? {
                // Work that could not be merged is tried to be merged once more, and is not done once more.
                let to = if finished.has(&todo) { TodoMove::Reuse(None) } else { TodoMove::Reopen };
                self.submit(Input::MoveTodo { todo, to }).await?;
            }
        }
        self.drive_fleet(aids)
    }

    /// How the session's latest fleet works or worked; nothing if there was none.
    pub fn fleet_terms(&self) -> Result<Option<FleetTerms>, FleetError> {
        let began = |event: Event| match event {
            Event::FleetBegan(terms) => Some(terms),
            _other => None,
        };
        let log = self.desk.reader()?.task_events(self.root)?;
        Ok(log.into_iter().rev().find_map(|envelope| began(envelope.entry.event)))
    }

    async fn blocked_todos(&self) -> Result<Vec<TodoId>, FleetError> {
        let blocked = |kernel: &kernel::Kernel| {
            let of_itself = |node: &kernel::Node| match &node.standing {
                kernel::Standing::Blocked(Blocked::Itself { .. } | Blocked::Cycle { .. }) => true,
                kernel::Standing::Blocked(Blocked::Upstream { .. })
                | kernel::Standing::Pending
                | kernel::Standing::Said
                | kernel::Standing::Claimed { .. }
                | kernel::Standing::Done => false,
            };
            kernel.graph().nodes().filter(|(_, node)| of_itself(node)).map(|(id, _)| id.clone()).collect()
        };
        Ok(self.supervision.supervisor.look(blocked).await?)
    }

    fn drive_fleet(&mut self, aids: Aids) -> Result<Fleet, FleetError> {
        let (ending, fleet) = Fleet::new();
        let (desk, supervisor) = (Arc::clone(&self.desk), self.supervision.supervisor.clone());
        let driver = Driver::new(desk, supervisor, self.root, self.first_seq, aids, self.closing.clone())?;
        self.attendants.spawn(driver.drive(ending));
        Ok(fleet)
    }
}
