//! The form of a plan as a JSON Schema, for editors. Reading does not go through it: it says more of what is wrong.

#![expect(dead_code, reason = "the fields are there for the schema that is derived from them")]

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use serde_json::{Map, Value};

/// The JSON Schema of plan files.
pub fn plan_schema() -> Value {
    let settings = SchemaSettings::draft2020_12().with_transform(RecursiveTransform(model::without_null));
    settings.into_generator().into_root_schema_for::<PlanForm>().to_value()
}

/// A plan: the todos of a fleet, for `bosun fleet run`.
#[derive(JsonSchema)]
#[schemars(title = "Bosun plan", deny_unknown_fields)]
struct PlanForm {
    /// What it is all for.
    #[schemars(length(min = 1))]
    goal: Option<String>,
    /// What it may take.
    limits: Option<LimitsForm>,
    /// Whether each worker has a checkout of its own, whose work is merged at the end.
    isolation: Option<IsolationForm>,
    /// A shell command that must exit with code 0 after each merge.
    #[schemars(length(min = 1))]
    merge_check: Option<String>,
    /// Whether the main agent looks at the result and may plan anew.
    validate: Option<bool>,
    /// How often it may.
    #[schemars(range(min = 1, max = 100))]
    rounds: Option<u32>,
    /// What todos have that do not say otherwise.
    defaults: Option<DefaultsForm>,
    /// What is to be done.
    #[schemars(length(min = 1, max = 50_000))]
    todos: Vec<TodoForm>,
}

/// What a plan may take.
#[derive(JsonSchema)]
#[schemars(rename = "Limits", deny_unknown_fields)]
struct LimitsForm {
    /// Most todos that are worked on at once.
    #[schemars(range(min = 1, max = 4096))]
    parallel: Option<u32>,
    /// How often a todo is tried again after a failure.
    #[schemars(range(min = 0, max = 100))]
    retries: Option<u32>,
    /// Most US dollars that all of it may cost.
    #[schemars(range(min = 0))]
    budget_usd: Option<f64>,
    /// How long all of it may take, such as 30m; a number is one of seconds.
    timeout: Option<TimeForm>,
}

/// A time such as 30s, 10m or 2h, or a number of seconds.
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

/// What todos have that do not say otherwise.
#[derive(JsonSchema)]
#[schemars(rename = "Defaults", deny_unknown_fields)]
struct DefaultsForm {
    /// The agent that does them.
    #[schemars(length(min = 1, max = 200))]
    agent: Option<String>,
    /// The model that it is run with.
    #[schemars(length(min = 1, max = 200))]
    model: Option<String>,
}

/// One todo.
#[derive(JsonSchema)]
#[schemars(rename = "Todo", deny_unknown_fields)]
struct TodoForm {
    /// Its id, which no other todo has.
    #[schemars(length(min = 1, max = 100))]
    id: String,
    /// What is to be done, in one line.
    #[schemars(length(min = 1, max = 500))]
    title: String,
    /// What whoever does it must know.
    #[schemars(length(min = 1))]
    description: Option<String>,
    /// The todos that must be done first.
    depends_on: Option<TextOrList>,
    /// The agent that does it.
    #[schemars(length(min = 1, max = 200))]
    agent: Option<String>,
    /// The same as `agent`.
    #[schemars(length(min = 1, max = 200))]
    agent_type: Option<String>,
    /// The model that it is run with.
    #[schemars(length(min = 1, max = 200))]
    model: Option<String>,
    /// Patterns of the files that it reads and changes: it is done again only when one of these changed.
    files: Option<TextOrList>,
    /// A shell command that must exit with code 0 when it is done.
    #[schemars(length(min = 1))]
    check: Option<String>,
    /// A JSON Schema that the worker's answer must satisfy.
    expects: Option<Map<String, Value>>,
}

/// A list of texts, or one.
#[derive(JsonSchema)]
#[schemars(untagged)]
enum TextOrList {
    Many(Vec<String>),
    One(String),
}
