//! Runs the calls whose tools work with the session: its agents, lists and tables, its user, and the programs connected to
//! it.

use std::path::Path;
use std::sync::Arc;

use protocol::ToolCallRequest;
use tokio_util::sync::CancellationToken;
use tools::{FileAccess, FileAccessGuard, Heartbeat, SessionServices, Tool, ToolContext, ToolError, ToolOutput};

use crate::asks::UserAsker;
use crate::background_commands::AgentShellTasks;
use crate::call_waits::Caller;
use crate::hooks::HookedRequestMeta;
use crate::long_calls::AgentLongCalls;
use crate::mcp_resources::AgentMcpResources;
use crate::network_gate::PolicyNetworkGate;
use crate::prepared_agent::PreparedAgent;
use crate::session_context::SessionContext;
use crate::session_control::AgentSessionControl;
use crate::shared_lists::AgentItemList;
use crate::side_question::SessionModelAsker;
use crate::sql_tables::{AgentSqlSpace, IntentRecorder};
use crate::subagents::AgentSubagents;

/// Runs an admitted call of an agent. Dropping the future cancels the call.
pub(super) async fn run(
    context: &Arc<SessionContext>,
    agent: Arc<PreparedAgent>,
    caller: Caller,
    heartbeat: Heartbeat,
    call: &ToolCallRequest,
) -> Result<ToolOutput, ToolError> {
    let named = |tool: &&Arc<dyn Tool>| tool.spec().name == call.tool;
    let tool = agent.tool(&call.tool).or_else(|| context.catalog.tools_for_started_calls.iter().find(named).cloned());
    let tool = tool.ok_or_else(|| ToolError::refused(format!("there is no tool `{}` any more", call.tool)))?;
    let cancel = CancellationToken::new();
    let _guard = cancel.clone().drop_guard();
    let workplace = &context.workplace;
    let cx = ToolContext {
        identity: tools::CallIdentity { task: caller.run.task, call: caller.call.clone() },
        workspace: Arc::clone(&agent.task_workspace.workspace),
        access_guard: Arc::new(NoFiles),
        stamps: Arc::clone(&workplace.memories.of(caller.run.task).stamps),
        file_changes: None,
        guardian: workplace.guardian.clone(),
        env: Arc::clone(&agent.task_workspace.env),
        cancel,
        heartbeat,
        limits: workplace.facts.tools,
        session: Some(services(context, &agent, &caller)),
        fetcher: workplace.fetcher.clone(),
        address_gate: Arc::new(PolicyNetworkGate(Arc::clone(workplace))),
    };
    tool.run(&call.input, &cx).await
}

fn services(context: &Arc<SessionContext>, agent: &Arc<PreparedAgent>, caller: &Caller) -> SessionServices {
    let subagents =
        || AgentSubagents { context: Arc::clone(context), agent: Arc::clone(agent), caller: caller.clone() };
    SessionServices {
        sql: Arc::new(AgentSqlSpace { context: Arc::clone(context), caller: caller.clone() }),
        background: Arc::new(AgentShellTasks { context: Arc::clone(context), caller: caller.clone() }),
        subagents: Arc::new(subagents()),
        shared_list: Arc::new(AgentItemList { subagents: subagents() }),
        intent: Arc::new(IntentRecorder(caller.clone())),
        session_control: Arc::new(AgentSessionControl { context: Arc::clone(context), caller: caller.clone() }),
        user_prompter: Arc::new(UserAsker { context: Arc::clone(context), caller: caller.clone() }),
        long_calls: Arc::new(AgentLongCalls { context: Arc::clone(context), caller: caller.clone() }),
        model: Arc::new(SessionModelAsker { context: Arc::clone(context), supervisor: caller.supervisor.clone() }),
        resources: Arc::new(AgentMcpResources { context: Arc::clone(context), agent: Arc::clone(agent) }),
        request_meta: Arc::new(HookedRequestMeta { context: Arc::clone(context), caller: caller.clone() }),
    }
}

/// Opens no file: calls that run at the session were not judged for any.
#[derive(Debug)]
struct NoFiles;

impl FileAccessGuard for NoFiles {
    fn check(&self, path: &Path, _access: FileAccess) -> Result<(), ToolError> {
        Err(ToolError::refused(format!("{} is not permitted for this call: it opens no files", path.display())))
    }
}
