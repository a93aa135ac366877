//! What tools need from above: small traits that the runtime implements.

use std::fmt;
use std::fs::Metadata;
use std::path::Path;
use std::time::Duration;

use protocol::{
    CancelMode, Clip, Expectations, ItemId, ItemStatus, MailDelivery, ObjectiveReport, PlanAction, ReasoningEffort,
    TaskMode, WaitMode,
};
use serde_json::{Map, Value};

use crate::{BoxFuture, ToolError};

/// The SQL tables a model may use.
pub trait SqlExecutor: Send + Sync + fmt::Debug {
    /// Runs the statements and gives their rows as text.
    fn execute(&self, sql: String) -> BoxFuture<'_, Result<String, ToolError>>;
}

/// Commands that outlive the call that started them.
pub trait BackgroundCommands: Send + Sync + fmt::Debug {
    /// Starts a command and gives the name it goes by.
    fn start(&self, command: BackgroundCommand) -> BoxFuture<'_, Result<String, ToolError>>;

    /// Tells how a command is doing, at once or when it ends within the given time.
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
    No,
    /// At most this long.
    For(Duration),
}

/// How a background command is doing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackgroundStatus {
    /// Its state, such as `running` or `exited with code 1`.
    pub state: String,
    /// What it printed: the head and the tail.
    pub output: Clip,
}

/// One background command in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackgroundRow {
    /// The name it goes by.
    pub name: String,
    /// Its state.
    pub state: String,
    /// What it is for.
    pub description: String,
}

/// Where an agent says what it is doing.
pub trait IntentReporter: Send + Sync + fmt::Debug {
    /// Takes one line.
    fn report(&self, text: Clip) -> BoxFuture<'_, Result<(), ToolError>>;
}

/// What a call may open. It is asked at the moment of opening, with the path that then leads there, so that a link
/// made after the call was permitted leads nowhere.
pub trait FileAccessGuard: Send + Sync + fmt::Debug {
    /// Refuses what the call was not permitted; the path is absolute and without links.
    fn check(&self, path: &Path, how: FileAccess) -> Result<(), ToolError>;

    /// The same by the path alone, for whoever opens the file next and then asks [`FileAccessGuard::check_opened`] about it.
    fn check_name(&self, path: &Path, how: FileAccess) -> Result<(), ToolError> {
        self.check(path, how)
    }

    /// Refuses a file that the call was not permitted under any of its names. It is asked of the file that is open, so
    /// it does not matter what its path leads to meanwhile.
    fn check_opened(&self, _path: &Path, _file: &Metadata) -> Result<(), ToolError> {
        Ok(())
    }
}

/// What a file is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileAccess {
    /// To be read.
    Read,
    /// To be made, changed or removed.
    Edit,
}

/// Asks a person.
pub trait UserPrompter: Send + Sync + fmt::Debug {
    /// Asks, and waits for the answer. None when nobody answers.
    fn ask(&self, question: UserQuestion) -> BoxFuture<'_, Result<Option<String>, ToolError>>;
}

/// A question to a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserQuestion {
    /// The question.
    pub question: String,
    /// Answers to choose from; any words when empty.
    pub choices: Vec<String>,
}

/// Where a session's own agent says how its session goes on.
pub trait SessionControl: Send + Sync + fmt::Debug {
    /// Keeps the session's plan.
    fn write_plan(&self, text: String) -> BoxFuture<'_, Result<(), ToolError>>;

    /// Asks how the session goes on now that the plan is made; gives words for the model.
    fn exit_plan_mode(&self, order: PlanExitRequest) -> BoxFuture<'_, Result<String, ToolError>>;

    /// Reports on the objective; gives words for the model.
    fn complete(&self, completion: ObjectiveReport) -> BoxFuture<'_, Result<String, ToolError>>;
}

/// A plan that is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanExitRequest {
    /// The plan in brief.
    pub summary: String,
    /// What there is to choose from.
    pub actions: Vec<PlanAction>,
    /// What the model would choose.
    pub recommended: PlanAction,
}

/// The agents that an agent starts, and what it may do with them. Answers are words for the model; what an agent said
/// stands in them as data.
pub trait Subagents: Send + Sync + fmt::Debug {
    /// Starts an agent: gives its result, or at once how it is called when it works in the background.
    fn start(&self, order: StartAgentRequest) -> BoxFuture<'_, Result<String, ToolError>>;

    /// Tells how an agent is doing and what it said, at once or when it rests.
    fn read(&self, order: ReadAgentRequest) -> BoxFuture<'_, Result<String, ToolError>>;

    /// Sends a message, and gives a receipt for each reader.
    fn write(&self, order: MessageAgentsRequest) -> BoxFuture<'_, Result<String, ToolError>>;

    /// Lists the agents below this one.
    fn list(&self) -> BoxFuture<'_, Result<String, ToolError>>;

    /// Stops an agent and everything below it.
    fn stop(&self, agent: String, how: CancelMode) -> BoxFuture<'_, Result<String, ToolError>>;

    /// Waits for agents and background commands; all that are under way when none is named.
    fn wait(&self, order: WaitRequest) -> BoxFuture<'_, Result<String, ToolError>>;

    /// Runs a command again and again until it exits with code 0.
    fn wait_until(&self, order: WaitUntilRequest) -> BoxFuture<'_, Result<String, ToolError>>;

    /// Finds tools that the agent has and was not told of, and tells of them from now on.
    fn search_tools(&self, query: String) -> BoxFuture<'_, Result<String, ToolError>>;

    /// The text of a skill.
    fn load_skill(&self, name: String) -> BoxFuture<'_, Result<String, ToolError>>;
}

/// An agent to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartAgentRequest {
    /// One line on what it is for.
    pub description: String,
    /// What it is to do.
    pub prompt: String,
    /// Which definition performs it.
    pub agent_type: String,
    /// What to call it.
    pub name: String,
    /// The model to use.
    pub model: Option<String>,
    /// Where its result goes; as its definition says when absent.
    pub mode: Option<TaskMode>,
    /// How hard its model should think.
    pub effort: Option<ReasoningEffort>,
    /// What must hold when it says that it is done.
    pub expects: Option<Expectations>,
}

/// What is wanted of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadAgentRequest {
    /// Its id, the beginning of it, its name, or its path.
    pub agent: String,
    /// How long to wait until it rests.
    pub wait: WaitLimit,
    /// Only what it said after this turn.
    pub since_turn: Option<u32>,
}

/// A message to agents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageAgentsRequest {
    /// Who reads it.
    pub to: MessageRecipients,
    /// What it says.
    pub message: String,
    /// When it may be read.
    pub delivery: MailDelivery,
}

/// Who reads a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MessageRecipients {
    /// These agents.
    Named(Vec<String>),
    /// Every agent that the same parent started.
    Siblings,
    /// Every agent that this one started.
    Children,
}

/// What to wait for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitRequest {
    /// Agents and background commands; all that are under way when empty.
    pub on: Vec<String>,
    /// Which of them must end.
    pub mode: WaitMode,
    /// How long; for ever when absent.
    pub time: Option<Duration>,
}

/// A command to wait for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitUntilRequest {
    /// The shell command.
    pub command: String,
    /// How long to wait before it is run again.
    pub every: Duration,
    /// How long in all.
    pub time: Duration,
}

/// The list that an agent shares with others, and the tasks that its items are done by. Answers are words for the model;
/// what others wrote stands in them as data.
pub trait SharedListAccess: Send + Sync + fmt::Debug {
    /// Makes an item.
    fn create(&self, order: CreateItemRequest) -> BoxFuture<'_, Result<String, ToolError>>;

    /// Shows an item or a task, at once or when it has changed.
    fn get(&self, id: String, wait: WaitLimit) -> BoxFuture<'_, Result<String, ToolError>>;

    /// Lists the items.
    fn list(&self) -> BoxFuture<'_, Result<String, ToolError>>;

    /// Changes an item, unless others have since the agent last saw it.
    fn update(&self, item: ItemId, order: ItemEdit) -> BoxFuture<'_, Result<String, ToolError>>;

    /// What a task printed or said, at once or when it ends.
    fn output(&self, task: String, wait: WaitLimit) -> BoxFuture<'_, Result<String, ToolError>>;

    /// Stops a task.
    fn stop(&self, task: String) -> BoxFuture<'_, Result<String, ToolError>>;
}

/// An item to make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreateItemRequest {
    /// What is to be done, in one line.
    pub subject: String,
    /// What whoever does it must know.
    pub description: String,
    /// What somebody is doing while it is done.
    pub active_form: Option<String>,
    /// Whatever else is said of it.
    pub metadata: Map<String, Value>,
}

/// What becomes of an item; what is left out stays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemEdit {
    /// What is to be done, in one line.
    pub subject: Option<String>,
    /// What whoever does it must know.
    pub description: Option<String>,
    /// What somebody is doing while it is done.
    pub active_form: Option<String>,
    /// How far it is.
    pub status: Option<ItemStatus>,
    /// Who does it; nobody when empty.
    pub owner: Option<String>,
    /// More items that wait for it.
    pub add_blocks: Vec<ItemId>,
    /// More items that it waits for.
    pub add_blocked_by: Vec<ItemId>,
    /// Fields of the metadata; `null` removes one.
    pub metadata: Map<String, Value>,
}
