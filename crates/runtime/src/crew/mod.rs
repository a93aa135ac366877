//! What an agent does with the agents it starts: the runtime's side of `task` and the tools that go with it.

mod choose;
mod find;
mod load;
mod read;
mod start;
mod until;
mod wait;
mod words;
mod write;

use std::sync::Arc;

use kernel::Input;
use protocol::{Cancel, CancelBy, TaskId};
use tools::{AgentOrder, BoxFuture, ReadOrder, ToolError, UntilOrder, WaitOrder, WriteOrder};

use crate::agent::Desk;
use crate::outfit::Outfit;
use crate::supervisor::Rejected;
use crate::waits::Caller;

pub(crate) use words::{ended, message};

/// The crew of the agent that makes a call.
#[derive(Debug)]
pub(crate) struct Crew {
    pub(crate) desk: Arc<Desk>,
    pub(crate) outfit: Arc<Outfit>,
    pub(crate) caller: Caller,
}

impl tools::Crew for Crew {
    fn start(&self, order: AgentOrder) -> BoxFuture<'_, Result<String, ToolError>> {
        Box::pin(self.start_agent(order))
    }

    fn read(&self, order: ReadOrder) -> BoxFuture<'_, Result<String, ToolError>> {
        Box::pin(self.read_agent(order))
    }

    fn write(&self, order: WriteOrder) -> BoxFuture<'_, Result<String, ToolError>> {
        Box::pin(self.write_agents(order))
    }

    fn list(&self) -> BoxFuture<'_, Result<String, ToolError>> {
        Box::pin(self.list_agents())
    }

    fn stop(&self, agent: String, how: Cancel) -> BoxFuture<'_, Result<String, ToolError>> {
        Box::pin(self.stop_agent(agent, how))
    }

    fn wait(&self, order: WaitOrder) -> BoxFuture<'_, Result<String, ToolError>> {
        Box::pin(self.wait_for(order))
    }

    fn until(&self, order: UntilOrder) -> BoxFuture<'_, Result<String, ToolError>> {
        Box::pin(self.until_it_succeeds(order))
    }

    fn load(&self, query: String) -> BoxFuture<'_, Result<String, ToolError>> {
        Box::pin(self.load_tools(query))
    }

    fn skill(&self, name: String) -> BoxFuture<'_, Result<String, ToolError>> {
        Box::pin(self.load_skill(name))
    }
}

impl Crew {
    /// The agent that makes the call.
    fn own(&self) -> TaskId {
        self.caller.run.task
    }

    fn is_root(&self) -> bool {
        self.desk.roster.known(self.own(), |known| known.depth) == Some(0)
    }

    async fn stop_agent(&self, agent: String, how: Cancel) -> Result<String, ToolError> {
        let task = self.find_below(&agent)?;
        let cancel = Input::Cancel { task, by: CancelBy::Agent, how };
        self.caller.supervisor.submit(cancel).await.map_err(refused)?;
        let state = self.state(task).await?;
        let path = self.desk.roster.path(task);
        Ok(match how {
            Cancel::Abort => format!("{path} is stopped: {state}"),
            Cancel::WrapUp => {
                format!("{path} is asked to stop and says what it has in one last answer; now it is {state}")
            }
        })
    }

    /// A task's state in one word.
    async fn state(&self, task: TaskId) -> Result<&'static str, ToolError> {
        let look = move |kernel: &kernel::Kernel| kernel.task(task).map(|task| task.phase.state().word());
        Ok(self.caller.supervisor.look(look).await.map_err(ToolError::broken)?.unwrap_or("gone"))
    }
}

/// What the kernel refuses, the model can act on.
fn refused(rejected: Rejected) -> ToolError {
    match rejected {
        Rejected::Refused(refusal) => ToolError::refused(refusal.to_string()),
        rejected @ (Rejected::Rule(_) | Rejected::Hook(_) | Rejected::Paused(_) | Rejected::Gone) => {
            ToolError::broken(rejected)
        }
    }
}
