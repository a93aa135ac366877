//! The format of a plan as a JSON Schema, for editors. The reader does not use it, since its own messages are better.

#![expect(dead_code, reason = "the fields are there for the schema that is derived from them")]

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use serde_json::{Map, Value};

/// The JSON Schema of plan files.
pub const PLAN_SCHEMA: &str = include_str!("../../../../schemas/plan.schema.json");

/// Generates the JSON Schema of plan files, with which a test compares the file.
pub fn generate_plan_schema() -> Value {
    let settings = SchemaSettings::draft2020_12().with_transform(RecursiveTransform(model::without_null));
    settings.into_generator().into_root_schema_for::<PlanForm>().to_value()
}

/// A plan: the todos of a fleet, for `bosun fleet run`.
#[derive(JsonSchema)]
#[schemars(title = "Bosun plan", deny_unknown_fields)]
struct PlanForm {
    /// The goal of the plan.
    #[schemars(length(min = 1))]
    goal: Option<String>,
    /// Limits of the fleet.
    limits: Option<LimitsForm>,
    /// Whether each worker has its own checkout, whose work is merged at the end.
    isolation: Option<IsolationForm>,
    /// A shell command that must exit with code 0 after each merge.
    #[schemars(length(min = 1))]
    merge_check: Option<String>,
    /// Whether the main agent reviews the result and may revise the plan.
    validate: Option<bool>,
    /// Maximum number of such reviews.
    #[schemars(range(min = 1, max = 100))]
    rounds: Option<u32>,
    /// Defaults for todos.
    defaults: Option<DefaultsForm>,
    /// The work to be done.
    #[schemars(length(min = 1, max = 50_000))]
    todos: Vec<TodoForm>,
}

/// Limits of the fleet.
#[derive(JsonSchema)]
#[schemars(rename = "Limits", deny_unknown_fields)]
struct LimitsForm {
    /// Maximum number of todos worked on at once.
    #[schemars(range(min = 1, max = 4096))]
    parallel: Option<u32>,
    /// How often a todo is retried after a failure.
    #[schemars(range(min = 0, max = 100))]
    retries: Option<u32>,
    /// Maximum cost in US dollars.
    #[schemars(range(min = 0))]
    budget_usd: Option<f64>,
    /// Maximum duration, such as 30m; a number is in seconds.
    timeout: Option<TimeForm>,
}

/// A duration such as 30s, 10m or 2h, or a number of seconds.
#[derive(JsonSchema)]
#[schemars(rename = "Time", untagged)]
enum TimeForm {
    Text(#[schemars(regex(pattern = "^[0-9]+ ?(ms|s|m|h)?$"))] String),
    Seconds(#[schemars(range(min = 1))] u64),
}

/// Where workers work.
#[derive(JsonSchema)]
#[schemars(rename = "Isolation", rename_all = "lowercase")]
enum IsolationForm {
    /// Each in a checkout of its own.
    Worktree,
    /// All in the workspace.
    None,
}

/// Defaults for todos.
#[derive(JsonSchema)]
#[schemars(rename = "Defaults", deny_unknown_fields)]
struct DefaultsForm {
    /// The agent that works on them.
    #[schemars(length(min = 1, max = 200))]
    agent: Option<String>,
    /// The model that the agent uses.
    #[schemars(length(min = 1, max = 200))]
    model: Option<String>,
}

/// One todo.
#[derive(JsonSchema)]
#[schemars(rename = "Todo", deny_unknown_fields)]
struct TodoForm {
    /// Its id, unique in the plan.
    #[schemars(length(min = 1, max = 100))]
    id: String,
    /// The work to be done, in one line.
    #[schemars(length(min = 1, max = 500))]
    title: String,
    /// Details for the worker.
    #[schemars(length(min = 1))]
    description: Option<String>,
    /// The todos that must be done first.
    depends_on: Option<TextOrList>,
    /// The agent that works on it.
    #[schemars(length(min = 1, max = 200))]
    agent: Option<String>,
    /// The same as `agent`.
    #[schemars(length(min = 1, max = 200))]
    agent_type: Option<String>,
    /// The model that the agent uses.
    #[schemars(length(min = 1, max = 200))]
    model: Option<String>,
    /// Patterns of the files that it reads and changes: it is done again only if one of them changes.
    files: Option<TextOrList>,
    /// A shell command that must exit with code 0 when it is done.
    #[schemars(length(min = 1))]
    check: Option<String>,
    /// A JSON Schema that the worker's answer must satisfy.
    expects: Option<Map<String, Value>>,
}

/// A list of strings, or one string.
#[derive(JsonSchema)]
#[schemars(untagged)]
enum TextOrList {
    Many(Vec<String>),
    One(String),
}
