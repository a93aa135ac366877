//! The runtime's implementation of the `task` tool and of the other tools for subagents.

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

use crate::call_waits::Caller;
use crate::prepared_agent::PreparedAgent;
use crate::session_context::SessionContext;
use crate::supervisor::InputRejection;

pub use choose::{AgentChoiceError, ExpensiveModel, ModelUseError};
pub use start::StartAgentError;

pub(crate) use result_text::{activation_result, message_text};

/// The subagents of the agent that makes a call.
#[derive(Debug)]
pub(crate) struct AgentSubagents {
    pub(crate) context: Arc<SessionContext>,
    pub(crate) agent: Arc<PreparedAgent>,
    pub(crate) caller: Caller,
}

impl tools::Subagents for AgentSubagents {
    fn start(&self, request: StartAgentRequest) -> BoxFuture<'_, Result<String, ToolError>> {
        Box::pin(self.start_agent(request))
    }

    fn read(&self, request: ReadAgentRequest) -> BoxFuture<'_, Result<String, ToolError>> {
        Box::pin(self.read_agent(request))
    }

    fn message(&self, request: MessageAgentsRequest) -> BoxFuture<'_, Result<String, ToolError>> {
        Box::pin(self.message_agents(request))
    }

    fn list(&self) -> BoxFuture<'_, Result<String, ToolError>> {
        Box::pin(self.list_agents())
    }

    fn stop(&self, agent: String, how: CancelMode) -> BoxFuture<'_, Result<String, ToolError>> {
        Box::pin(self.stop_agent(agent, how))
    }

    fn wait(&self, request: WaitRequest) -> BoxFuture<'_, Result<String, ToolError>> {
        Box::pin(self.wait_for(request))
    }

    fn wait_until(&self, request: WaitUntilRequest) -> BoxFuture<'_, Result<String, ToolError>> {
        Box::pin(self.wait_until_success(request))
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

    async fn stop_agent(&self, agent: String, how: CancelMode) -> Result<String, ToolError> {
        let task = self.find_below(&agent)?;
        let cancel = KernelInput::Cancel { task, by: CancelBy::Agent, how };
        self.caller.supervisor.submit(cancel).await.map_err(tool_error)?;
        let state = self.state(task).await?;
        let path = self.context.log.roster.path(task);
        Ok(match how {
            CancelMode::Abort => format!("{path} is stopped: {state}"),
            CancelMode::WrapUp => {
                format!("{path} was asked to stop and reports in one last answer; its state is {state}")
            }
        })
    }

    /// A task's state in one word.
    async fn state(&self, task: TaskId) -> Result<&'static str, ToolError> {
        let query = move |kernel: &kernel::Kernel| kernel.task(task).map(|task| task.phase.state().as_str());
        Ok(self.caller.supervisor.query(query).await.map_err(ToolError::failed)?.unwrap_or("gone"))
    }
}

/// Converts a rejection to a tool error. Only the kernel's refusals are for the model to act on.
pub(crate) fn tool_error(rejected: InputRejection) -> ToolError {
    match rejected {
        InputRejection::Refused(refusal) => ToolError::refused(refusal.to_string()),
        rejected @ (InputRejection::Rule(_)
        | InputRejection::Hook(_)
        | InputRejection::Remote { .. }
        | InputRejection::Paused(_)
        | InputRejection::SessionEnded) => ToolError::failed(rejected),
    }
}
