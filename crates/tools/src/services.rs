//! What tools need from the runtime: small traits that it implements.

use std::fmt;
use std::fs::Metadata;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use host::{Guardian, Workspace};
use protocol::{
    CancelMode, Clip, Expectations, ItemId, ItemStatus, MailDelivery, ObjectiveReport, PlanAction, ReasoningEffort,
    TaskMode, WaitMode,
};
use serde_json::{Map, Value};

use crate::{BoxFuture, LongCalls, McpServerControl, RemoteTasks, Tool, ToolDescriptor, ToolError};

/// What the tools of one call may ask of the session, which may run in another process than the call.
#[derive(Debug, Clone)]
pub struct SessionServices {
    /// The model's SQL tables.
    pub sql: Arc<dyn SqlExecutor>,
    /// Commands that keep running while the agent works.
    pub background: Arc<dyn BackgroundCommands>,
    /// The agents that this agent starts.
    pub subagents: Arc<dyn Subagents>,
    /// The list that it shares with other agents.
    pub shared_list: Arc<dyn SharedListAccess>,
    /// Reports what the agent is doing.
    pub intent: Arc<dyn IntentReporter>,
    /// The root's control over its session.
    pub session_control: Arc<dyn SessionControl>,
    /// Asks the user.
    pub user_prompter: Arc<dyn UserPrompter>,
    /// Continues the call as a task of the session.
    pub long_calls: Arc<dyn LongCalls>,
    /// Asks the session's model.
    pub model: Arc<dyn ModelAsker>,
    /// The resources of MCP servers.
    pub resources: Arc<dyn McpResources>,
    /// What MCP servers get with calls besides their arguments.
    pub request_meta: Arc<dyn RequestMetaSource>,
}

/// Decides what an MCP server gets with a call besides its arguments.
pub trait RequestMetaSource: Send + Sync + fmt::Debug {
    /// What a server gets with a call of its tool; fails if it must not be called.
    fn meta_for<'a>(
        &'a self,
        server: &'a str,
        tool: &'a str,
        arguments: &'a Value,
    ) -> BoxFuture<'a, Result<RequestMeta, ToolError>>;
}

/// What an MCP server gets with a call besides its arguments.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum RequestMeta {
    /// What the protocol needs.
    #[default]
    Standard,
    /// This, with what the protocol needs.
    With(Map<String, Value>),
    /// Nothing.
    Nothing,
}

/// The SQL tables a model may use.
pub trait SqlExecutor: Send + Sync + fmt::Debug {
    /// Runs the statements and returns their rows as text.
    fn execute(&self, sql: String) -> BoxFuture<'_, Result<String, ToolError>>;
}

/// Commands that outlive the call that started them.
pub trait BackgroundCommands: Send + Sync + fmt::Debug {
    /// Starts a command and returns its name.
    fn start(&self, command: BackgroundCommand) -> BoxFuture<'_, Result<String, ToolError>>;

    /// Returns the status of a command, at once or when it ends within the given time.
    fn read(&self, name: String, wait: WaitLimit) -> BoxFuture<'_, Result<BackgroundStatus, ToolError>>;

    /// Stops a command with everything it started.
    fn stop(&self, name: String) -> BoxFuture<'_, Result<BackgroundStatus, ToolError>>;

    /// Lists the commands, oldest first.
    fn list(&self) -> BoxFuture<'_, Result<Vec<BackgroundRow>, ToolError>>;
}

/// A command to run in the background.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackgroundCommand {
    /// The shell command.
    pub command: String,
    /// One line on what it is for.
    pub description: String,
}

/// How long a reader waits for a command's end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitLimit {
    /// Not at all.
    NoWait,
    /// At most this long.
    For(Duration),
}

/// The status of a background command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackgroundStatus {
    /// Its state, such as `running` or `exited with code 1`.
    pub state: String,
    /// Its output: the head and the tail.
    pub output: Clip,
}

/// One background command in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackgroundRow {
    /// Its name.
    pub name: String,
    /// Its state.
    pub state: String,
    /// What it is for.
    pub description: String,
}

/// Reports what an agent is doing.
pub trait IntentReporter: Send + Sync + fmt::Debug {
    /// Reports one line of text.
    fn report(&self, text: Clip) -> BoxFuture<'_, Result<(), ToolError>>;
}

/// Decides what a call may open. It is asked at the moment of opening, with the resolved path, so a link made after the
/// call was permitted cannot redirect it.
pub trait FileAccessGuard: Send + Sync + fmt::Debug {
    /// The call's workspace, if it is larger than its agent's: it may use files that it names outside that.
    fn workspace(&self) -> Option<Arc<Workspace>> {
        None
    }

    /// Refuses what the call is not permitted to use; the path is absolute and without links.
    fn check(&self, path: &Path, access: FileAccess) -> Result<(), ToolError>;

    /// Checks the path only; the caller then opens the file and calls [`FileAccessGuard::check_opened`].
    fn check_name(&self, path: &Path, access: FileAccess) -> Result<(), ToolError> {
        self.check(path, access)
    }

    /// Refuses a file that the call is not permitted to use under any of its names. It examines the open file, so it
    /// does not matter if the path meanwhile leads elsewhere.
    fn check_opened(&self, _path: &Path, _file: &Metadata) -> Result<(), ToolError> {
        Ok(())
    }
}

/// The purpose of opening a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileAccess {
    /// To read it.
    Read,
    /// To create, change or remove it.
    Edit,
}

/// Asks the user.
pub trait UserPrompter: Send + Sync + fmt::Debug {
    /// Asks and waits for the answer; none when the user does not answer.
    fn ask(&self, question: UserQuestion) -> BoxFuture<'_, Result<Option<String>, ToolError>>;
}

/// Asks the session's model a question outside of any conversation.
pub trait ModelAsker: Send + Sync + fmt::Debug {
    /// Asks, and waits for the answer.
    fn ask(&self, question: ModelQuestion) -> BoxFuture<'_, Result<ModelReply, ToolError>>;
}

/// A question to the session's model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelQuestion {
    /// What it is for: its name in the task tree and in the costs.
    pub purpose: &'static str,
    /// The system prompt.
    pub system: String,
    /// The question.
    pub prompt: String,
    /// Maximum tokens of the answer.
    pub max_output: u32,
}

/// The answer of the session's model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelReply {
    /// The model.
    pub model: String,
    /// Its answer.
    pub text: String,
}

/// The resources of MCP servers that an agent may use. The returned strings are text for the model.
pub trait McpResources: Send + Sync + fmt::Debug {
    /// Lists the resources of a server, or of all.
    fn list(&self, server: Option<String>) -> BoxFuture<'_, Result<String, ToolError>>;

    /// Reads a resource.
    fn read(&self, server: String, uri: String) -> BoxFuture<'_, Result<String, ToolError>>;
}

/// Tools that are known only once a program outside has answered, such as those of MCP servers.
pub trait ToolCatalog: Send + Sync + fmt::Debug {
    /// The catalogue as agents of a definition see it, which may have sources of their own.
    fn for_agent(self: Arc<Self>, definition: &str) -> Arc<dyn ToolCatalog>;

    /// What provides the tools. A model is told in the first request of an activation.
    fn sources(&self) -> Vec<String>;

    /// The tool with this name, if it may exist. Nothing is started.
    fn tool(&self, name: &str) -> Option<Arc<dyn Tool>>;

    /// The tools of the sources that the query names, or else of all. Sources that do not run are started.
    fn list<'a>(&'a self, query: &'a str, guardian: &'a Guardian) -> BoxFuture<'a, CatalogListing>;

    /// The tasks that the sources do themselves, if any do.
    fn remote_tasks(&self) -> Option<&dyn RemoteTasks>;

    /// Lists the resources of a source, as text for a model.
    fn resources<'a>(&'a self, source: &'a str, _guardian: &'a Guardian) -> BoxFuture<'a, Result<String, ToolError>> {
        Box::pin(async move { Err(ToolError::refused(format!("`{source}` has no resources"))) })
    }

    /// Reads a resource of a source, as text for a model.
    fn read_resource<'a>(
        &'a self,
        source: &'a str,
        _uri: &'a str,
        _guardian: &'a Guardian,
    ) -> BoxFuture<'a, Result<String, ToolError>> {
        Box::pin(async move { Err(ToolError::refused(format!("`{source}` has no resources"))) })
    }

    /// The prompt with this name, such as `mcp__docs__review`, with arguments as a user types them.
    fn prompt<'a>(
        &'a self,
        name: &'a str,
        _arguments: &'a str,
        _guardian: &'a Guardian,
    ) -> BoxFuture<'a, Result<OutsidePrompt, ToolError>> {
        Box::pin(async move { Err(ToolError::refused(format!("there is no prompt `{name}`"))) })
    }

    /// The prompts of the sources that run. Nothing is started, and a source that is slow to answer is left out.
    fn known_prompts(&self) -> BoxFuture<'_, Vec<OutsidePromptUsage>> {
        Box::pin(std::future::ready(Vec::new()))
    }

    /// Tells the sources that the session is over.
    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    /// The control of its servers, if there is any here.
    fn control(&self) -> Option<&dyn McpServerControl> {
        None
    }
}

/// The tools of a catalogue.
#[derive(Debug, Clone, Default)]
pub struct CatalogListing {
    /// The tools.
    pub tools: Vec<ToolDescriptor>,
    /// Why some sources are not available.
    pub problems: Vec<String>,
}

/// A prompt of a program outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutsidePrompt {
    /// What provides it.
    pub source: String,
    /// Its messages as text.
    pub text: String,
}

/// How a user runs a prompt of a program outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutsidePromptUsage {
    /// The command with its arguments, such as `/mcp__docs__review FILE`.
    pub usage: String,
    /// What its program says about it.
    pub description: String,
}

/// A question to the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserQuestion {
    /// The question.
    pub question: String,
    /// Answers to choose from; free text when empty.
    pub choices: Vec<String>,
}

/// The root's control over its session.
pub trait SessionControl: Send + Sync + fmt::Debug {
    /// Stores the session's plan.
    fn write_plan(&self, text: String) -> BoxFuture<'_, Result<(), ToolError>>;

    /// Asks the user how to continue with the finished plan; returns text for the model.
    fn exit_plan_mode(&self, request: PlanExitRequest) -> BoxFuture<'_, Result<String, ToolError>>;

    /// Reports on the objective; returns text for the model.
    fn complete(&self, completion: ObjectiveReport) -> BoxFuture<'_, Result<String, ToolError>>;
}

/// A finished plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanExitRequest {
    /// The plan in brief.
    pub summary: String,
    /// The choices.
    pub actions: Vec<PlanAction>,
    /// The choice that the model recommends.
    pub recommended: PlanAction,
}

/// The agents that an agent starts, and its operations on them. The returned strings are text for the model; text of an
/// agent is quoted in them as data.
pub trait Subagents: Send + Sync + fmt::Debug {
    /// Starts an agent; returns its result, or at once its name when it works in the background.
    fn start(&self, request: StartAgentRequest) -> BoxFuture<'_, Result<String, ToolError>>;

    /// Returns an agent's status and messages, at once or when it is idle.
    fn read(&self, request: ReadAgentRequest) -> BoxFuture<'_, Result<String, ToolError>>;

    /// Sends a message and returns a receipt for each recipient.
    fn message(&self, request: MessageAgentsRequest) -> BoxFuture<'_, Result<String, ToolError>>;

    /// Lists the agents below this one.
    fn list(&self) -> BoxFuture<'_, Result<String, ToolError>>;

    /// Stops an agent and everything below it.
    fn stop(&self, agent: String, mode: CancelMode) -> BoxFuture<'_, Result<String, ToolError>>;

    /// Waits for agents and background commands; all running ones when none is named.
    fn wait(&self, request: WaitRequest) -> BoxFuture<'_, Result<String, ToolError>>;

    /// Runs a command repeatedly until it exits with code 0.
    fn wait_until(&self, request: WaitUntilRequest) -> BoxFuture<'_, Result<String, ToolError>>;

    /// Finds tools that the agent has but that are not in its requests, and adds them from then on.
    fn search_tools(&self, query: String) -> BoxFuture<'_, Result<String, ToolError>>;

    /// The text of a skill.
    fn load_skill(&self, name: String) -> BoxFuture<'_, Result<String, ToolError>>;
}

/// An agent to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartAgentRequest {
    /// One line on what it is for.
    pub description: String,
    /// Its task.
    pub prompt: String,
    /// The definition to use.
    pub agent_type: String,
    /// Its name.
    pub name: String,
    /// The model to use.
    pub model: Option<String>,
    /// Whether its parent waits for it; the definition decides when absent.
    pub mode: Option<TaskMode>,
    /// The reasoning effort of its model.
    pub effort: Option<ReasoningEffort>,
    /// Conditions that must hold when it reports that it is done.
    pub expects: Option<Expectations>,
}

/// A request for an agent's status and messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadAgentRequest {
    /// Its id, the beginning of it, its name, or its path.
    pub agent: String,
    /// How long to wait until it is idle.
    pub wait: WaitLimit,
    /// Only its messages after this turn.
    pub since_turn: Option<u32>,
}

/// A message to agents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageAgentsRequest {
    /// The recipients.
    pub to: MessageRecipients,
    /// The text.
    pub message: String,
    /// When it is delivered.
    pub delivery: MailDelivery,
}

/// The recipients of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MessageRecipients {
    /// These agents.
    Named(Vec<String>),
    /// Every agent started by the same parent.
    Siblings,
    /// Every agent started by this one.
    Children,
}

/// What to wait for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitRequest {
    /// Agents and background commands; all running ones when empty.
    pub targets: Vec<String>,
    /// Whether to wait for any or all of them.
    pub mode: WaitMode,
    /// How long; without limit when absent.
    pub timeout: Option<Duration>,
}

/// A command to run until it succeeds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitUntilRequest {
    /// The shell command.
    pub command: String,
    /// The time between two runs.
    pub interval: Duration,
    /// The time limit.
    pub timeout: Duration,
}

/// The list that an agent shares with other agents, and the tasks that work on its items. The returned strings are text
/// for the model; text by other authors is quoted in them as data.
pub trait SharedListAccess: Send + Sync + fmt::Debug {
    /// Creates an item.
    fn create(&self, request: CreateItemRequest) -> BoxFuture<'_, Result<String, ToolError>>;

    /// Shows an item or a task, at once or after its next change.
    fn get(&self, id: String, wait: WaitLimit) -> BoxFuture<'_, Result<String, ToolError>>;

    /// Lists the items.
    fn list(&self) -> BoxFuture<'_, Result<String, ToolError>>;

    /// Changes an item, unless another author changed it since the agent last saw it.
    fn update(&self, item: ItemId, request: ItemEdit) -> BoxFuture<'_, Result<String, ToolError>>;

    /// A task's output, at once or when it ends.
    fn output(&self, task: String, wait: WaitLimit) -> BoxFuture<'_, Result<String, ToolError>>;

    /// Stops a task.
    fn stop(&self, task: String) -> BoxFuture<'_, Result<String, ToolError>>;
}

/// An item to create.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreateItemRequest {
    /// The work to do, in one line.
    pub subject: String,
    /// What its owner must know.
    pub description: String,
    /// The work in progress as a phrase, such as `Running tests`.
    pub active_form: Option<String>,
    /// Additional fields.
    pub metadata: Map<String, Value>,
}

/// Changes to an item; absent fields stay as they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemEdit {
    /// The work to do, in one line.
    pub subject: Option<String>,
    /// What its owner must know.
    pub description: Option<String>,
    /// The work in progress as a phrase, such as `Running tests`.
    pub active_form: Option<String>,
    /// Its status.
    pub status: Option<ItemStatus>,
    /// Its owner; none when empty.
    pub owner: Option<String>,
    /// More items that wait for it.
    pub add_blocks: Vec<ItemId>,
    /// More items that it waits for.
    pub add_blocked_by: Vec<ItemId>,
    /// Fields of the metadata; `null` removes one.
    pub metadata: Map<String, Value>,
}
