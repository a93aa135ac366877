//! Starts a fleet: for a goal, or with a plan.

use protocol::SessionOptions;
use protocol::api::{BeginFleetParams, FleetParams, PlanDocument};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::super::arguments::{AgentToolError, checked_model, checked_text, wait_limit};
use super::super::provider::AgentServer;
use super::table::AgentTool;
use crate::mcp::{McpReply, McpRequest, TaskSupport, ToolEffect};

/// The tool.
pub(super) struct StartFleet;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct StartFleetArgs {
    /// What the fleet is to reach; its main agent makes the plan, unless there is one.
    #[serde(default)]
    goal: Option<String>,
    /// The plan, in the format of Bosun's plan files: `todos`, each with `id`, `title`, and as needed `description`,
    /// `depends_on` (ids), `check` (a shell command that must succeed), `agent` and `files`.
    #[serde(default)]
    plan: Option<Map<String, Value>>,
    /// The folder it works in, below the server's folder, which is the default.
    #[serde(default)]
    folder: Option<String>,
    /// The agent definition for the workers.
    #[serde(default)]
    agent: Option<String>,
    /// The model; the user's default when absent.
    #[serde(default)]
    model: Option<String>,
    /// How many todos may be in progress at once.
    #[serde(default)]
    parallel: Option<u32>,
    /// Whether each worker has its own checkout, merged into a branch of its own at the end.
    #[serde(default)]
    isolated: Option<bool>,
    /// How many seconds to wait for the end; the call returns at once when absent.
    #[serde(default)]
    wait_seconds: Option<u64>,
}

impl AgentTool for StartFleet {
    const NAME: &'static str = "start_fleet";
    const TITLE: &'static str = "Start a fleet";
    const DESCRIPTION: &'static str = "Starts a fleet: agents do todos in parallel, those of a plan, or those that a \
        main agent splits a goal into. It continues in the background; fleet_status shows how far it is.";
    const EFFECT: ToolEffect = ToolEffect::Changes;
    const TASKS: TaskSupport = TaskSupport::Optional;

    type Args = StartFleetArgs;

    async fn call(
        server: &AgentServer,
        args: StartFleetArgs,
        request: &McpRequest,
    ) -> Result<McpReply, AgentToolError> {
        let limit = wait_limit(args.wait_seconds);
        let session = match request.state() {
            // The client's user has decided, and the call goes on.
            Some(state) => server.settings.session(state).await?.0,
            None => {
                let view = server.background.begin_fleet(fleet_params(server, args)?).await?;
                server.adopt(view.id)?
            }
        };
        server.reply_of_run(&session, limit, request).await
    }
}

/// The fleet, with the options of the server as far as the client does not narrow them.
fn fleet_params(server: &AgentServer, args: StartFleetArgs) -> Result<BeginFleetParams, AgentToolError> {
    let options = server.settings.options.clone();
    let session = SessionOptions {
        cwd: Some(server.settings.working_folder(args.folder.as_deref())?),
        model: args.model.as_deref().map(checked_model).transpose()?.or(options.model),
        ..options
    };
    let fleet = FleetParams {
        prompt: args.goal.as_deref().map(checked_text).transpose()?,
        agent: args.agent,
        parallel: args.parallel,
        isolated: args.isolated,
        ..FleetParams::default()
    };
    if let Some(plan) = &args.plan {
        models_of_plan(plan).try_for_each(|model| checked_model(model).map(drop))?;
    }
    let plan = args.plan.map(|plan| PlanDocument { object: Some(plan), ..PlanDocument::default() });
    Ok(BeginFleetParams { session, fleet, plan })
}

/// The models that a plan names.
fn models_of_plan(plan: &Map<String, Value>) -> impl Iterator<Item = &str> {
    let todos = plan.get("todos").and_then(Value::as_array).into_iter().flatten();
    plan.get("defaults").into_iter().chain(todos).filter_map(|part| part["model"].as_str())
}
