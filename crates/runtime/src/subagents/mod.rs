//! What an agent does with the agents it starts: the runtime's side of `task` and the tools that go with it.

mod choose;
mod find;
mod load;
mod read;
mod result_text;
mod start;
mod until;
mod wait;
mod write;

use std::sync::Arc;

use kernel::KernelInput;
use protocol::{CancelBy, CancelMode, TaskId};
use tools::{
    BoxFuture, MessageAgentsRequest, ReadAgentRequest, StartAgentRequest, ToolError, WaitRequest, WaitUntilRequest,
};

use crate::agent::SessionContext;
use crate::call_waits::Caller;
use crate::prepared_agent::PreparedAgent;
use crate::supervisor::InputRejection;

pub(crate) use result_text::{activation_result, message_text};

/// The subagents of the agent that makes a call.
#[derive(Debug)]
pub(crate) struct AgentSubagents {
    pub(crate) context: Arc<SessionContext>,
    pub(crate) agent: Arc<PreparedAgent>,
    pub(crate) caller: Caller,
}

impl tools::Subagents for AgentSubagents {
    fn start(&self, order: StartAgentRequest) -> BoxFuture<'_, Result<String, ToolError>> {
        Box::pin(self.start_agent(order))
    }

    fn read(&self, order: ReadAgentRequest) -> BoxFuture<'_, Result<String, ToolError>> {
        Box::pin(self.read_agent(order))
    }

    fn write(&self, order: MessageAgentsRequest) -> BoxFuture<'_, Result<String, ToolError>> {
        Box::pin(self.write_agents(order))
    }

    fn list(&self) -> BoxFuture<'_, Result<String, ToolError>> {
        Box::pin(self.list_agents())
    }

    fn stop(&self, agent: String, how: CancelMode) -> BoxFuture<'_, Result<String, ToolError>> {
        Box::pin(self.stop_agent(agent, how))
    }

    fn wait(&self, order: WaitRequest) -> BoxFuture<'_, Result<String, ToolError>> {
        Box::pin(self.wait_for(order))
    }

    fn wait_until(&self, order: WaitUntilRequest) -> BoxFuture<'_, Result<String, ToolError>> {
        Box::pin(self.until_it_succeeds(order))
    }

    fn search_tools(&self, query: String) -> BoxFuture<'_, Result<String, ToolError>> {
        Box::pin(self.load_tools(query))
    }

    fn load_skill(&self, name: String) -> BoxFuture<'_, Result<String, ToolError>> {
        Box::pin(self.load_skill(name))
    }
}

impl AgentSubagents {
    /// The agent that makes the call.
    fn caller_task(&self) -> TaskId {
        self.caller.run.task
    }

    fn is_root(&self) -> bool {
        self.context.roster.with_task(self.caller_task(), |known| known.depth) == Some(0)
    }

    async fn stop_agent(&self, agent: String, how: CancelMode) -> Result<String, ToolError> {
        let task = self.find_below(&agent)?;
        let cancel = KernelInput::Cancel { task, by: CancelBy::Agent, how };
        self.caller.supervisor.submit(cancel).await.map_err(tool_error)?;
        let state = self.state(task).await?;
        let path = self.context.roster.path(task);
        Ok(match how {
            CancelMode::Abort => format!("{path} is stopped: {state}"),
            CancelMode::WrapUp => {
                format!("{path} is asked to stop and says what it has in one last answer; now it is {state}")
            }
        })
    }

    /// A task's state in one word.
    async fn state(&self, task: TaskId) -> Result<&'static str, ToolError> {
        let look = move |kernel: &kernel::Kernel| kernel.task(task).map(|task| task.phase.state().as_str());
        Ok(self.caller.supervisor.query(look).await.map_err(ToolError::broken)?.unwrap_or("gone"))
    }
}

/// What the kernel refuses, the model can act on.
fn tool_error(rejected: InputRejection) -> ToolError {
    match rejected {
        InputRejection::Refused(refusal) => ToolError::refused(refusal.to_string()),
        rejected @ (InputRejection::Rule(_)
        | InputRejection::Hook(_)
        | InputRejection::Paused(_)
        | InputRejection::SessionEnded) => ToolError::broken(rejected),
    }
}
