//! Reads a plan from a file.

use std::path::{Path, PathBuf};
use std::time::Duration;

use protocol::{Todo, parse_usd};
use serde::Deserialize;
use serde_json::Value;

use super::keys::{PlanKeys, PlanProblems};
use super::lengths::{MAX_COMMAND_BYTES, MAX_DESCRIPTION_BYTES, MAX_PLAN_BYTES, MAX_TODOS, MAX_WORD_BYTES};
use super::shape::{PlanGraph, PlanShape};
use super::todo::{TodoDefaults, TodoPositions};
use super::{links, todo};
use crate::catalog::{
    DefinitionProblem, DocumentNode, FilePosition, JsonNode, NodeValue, YamlNode, describe_yaml_error,
};
use crate::parse_time;

/// The keys of a plan, of its limits and of its defaults.
pub(super) const PLAN_KEYS: [&str; 8] =
    ["goal", "limits", "isolation", "merge_check", "validate", "rounds", "defaults", "todos"];
pub(super) const LIMIT_KEYS: [&str; 4] = ["parallel", "retries", "budget_usd", "timeout"];
pub(super) const DEFAULT_KEYS: [&str; 2] = ["agent", "model"];

/// Maximum number of todos at once, retries of a todo, and validation rounds.
const MAX_PARALLEL: u32 = 4_096;
const MAX_RETRIES: u32 = 100;
const MAX_ROUNDS: u32 = 100;

/// Default number of validation rounds.
const DEFAULT_ROUNDS: u32 = 3;

/// A plan: the todos of a fleet and its configuration.
#[derive(Debug, Clone, PartialEq)]
pub struct FleetPlan {
    /// Its file.
    pub file: PathBuf,
    /// Its goal.
    pub goal: Option<String>,
    /// Its limits.
    pub limits: PlanLimits,
    /// Whether each worker has its own checkout, if stated.
    pub isolated: Option<bool>,
    /// A shell command that must exit with code 0 after each merge.
    pub merge_check: Option<String>,
    /// How often the main agent reviews the result and may revise the plan.
    pub rounds: u32,
    /// The todos, in file order, with defaults filled in.
    pub todos: Vec<Todo>,
    /// The positions of each todo's parts.
    pub(super) positions: Vec<TodoPositions>,
}

/// The limits of a plan. A limit that it does not set comes from the settings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PlanLimits {
    /// Maximum number of todos worked on at once.
    pub parallel: Option<u32>,
    /// How often a todo is retried after a failure.
    pub retries: Option<u32>,
    /// Maximum cost in millionths of a US dollar.
    pub budget_usd: Option<u64>,
    /// Maximum duration.
    pub timeout: Option<Duration>,
}

impl FleetPlan {
    /// Reads a plan; returns all its problems on failure.
    pub fn read(file: &Path) -> Result<FleetPlan, Vec<DefinitionProblem>> {
        FleetPlan::parse(file, &FleetPlan::read_text(file).map_err(|problem| vec![problem])?)
    }

    /// Reads the text of a plan, without looking at it.
    pub fn read_text(file: &Path) -> Result<String, DefinitionProblem> {
        let refuse = |message: String, remedy: &str| Err(DefinitionProblem::error(file, message, remedy));
        match host::read_plain(file, MAX_PLAN_BYTES) {
            Ok(Some(bytes)) => {
                String::from_utf8(bytes).or_else(|_binary| refuse("it is not UTF-8 text".into(), "save it as UTF-8"))
            }
            Ok(None) => refuse("it does not exist".into(), "name a plan file"),
            Err(error) => refuse(error.to_string(), "name a plan that can be read"),
        }
    }

    /// Parses a plan from YAML or JSON; problems name `file`.
    pub fn parse(file: &Path, text: &str) -> Result<FleetPlan, Vec<DefinitionProblem>> {
        let mut report = PlanProblems::new(file);
        let node = parse_document(text, &mut report);
        report.finish(node)
    }

    /// Parses a plan that is a JSON value already; its problems have no positions.
    pub fn from_json(file: &Path, value: Value) -> Result<FleetPlan, Vec<DefinitionProblem>> {
        let mut report = PlanProblems::new(file);
        let node = match JsonNode::deserialize(value) {
            Ok(JsonNode(node)) => Some(node),
            Err(error) => {
                report.error(None, error.to_string(), "correct the plan");
                None
            }
        };
        report.finish(node)
    }

    /// The plan's dependency structure.
    pub fn shape(&self) -> PlanShape {
        let none = PlanShape { layers: Vec::new(), longest: Vec::new() };
        PlanGraph::new(&self.todos).shape(&self.todos).unwrap_or(none)
    }
}

impl PlanProblems {
    /// The plan, unless it has problems.
    fn finish(mut self, node: Option<DocumentNode>) -> Result<FleetPlan, Vec<DefinitionProblem>> {
        match node.map(|node| read_plan(node, &mut self)) {
            Some(plan) if self.problems.is_empty() => Ok(plan),
            Some(_) | None => Err(self.problems),
        }
    }
}

fn parse_document(text: &str, report: &mut PlanProblems) -> Option<DocumentNode> {
    if text.len() as u64 > MAX_PLAN_BYTES {
        report.error(None, format!("it is larger than {MAX_PLAN_BYTES} bytes"), "split it into several plans");
        return None;
    }
    match serde_saphyr::from_str_with_options::<YamlNode>(text, yaml_limits()) {
        Ok(YamlNode(node)) => Some(node),
        Err(error) => {
            let at = error.location().map(|at| FilePosition { line: at.line(), column: at.column() });
            let line = at.and_then(|at| text.lines().nth(at.line.saturating_sub(1) as usize));
            let (message, remedy) = describe_yaml_error(&error, "plan", line);
            report.error(at, message, remedy);
            None
        }
    }
}

fn read_plan(node: DocumentNode, report: &mut PlanProblems) -> FleetPlan {
    let file = report.file.clone();
    let mut keys = PlanKeys::new("", node, report);
    let goal = keys.text("goal", MAX_DESCRIPTION_BYTES).map(|goal| goal.value.trim().to_owned());
    let limits = keys.take("limits");
    let isolated = isolation(&mut keys);
    let merge_check = keys.text("merge_check", MAX_COMMAND_BYTES).map(|check| check.value.trim().to_owned());
    let validate = keys.flag("validate").unwrap_or(false);
    let rounds = keys.count("rounds", 1..=MAX_ROUNDS).unwrap_or(DEFAULT_ROUNDS);
    let defaults = keys.take("defaults");
    let todos = todos(&mut keys);
    keys.finish(&PLAN_KEYS);
    let limits = limits.map(|node| read_limits(node, report)).unwrap_or_default();
    let defaults = defaults.map(|node| read_defaults(node, report)).unwrap_or_default();
    let read = todos.into_iter().zip(1..).filter_map(|(node, number)| todo::read(number, node, &defaults, report));
    let (todos, places): (Vec<Todo>, Vec<TodoPositions>) = read.unzip();
    links::check(&todos, &places, report);
    let rounds = if validate { rounds } else { 0 };
    FleetPlan { file, goal, limits, isolated, merge_check, rounds, todos, positions: places }
}

fn isolation(keys: &mut PlanKeys<'_>) -> Option<bool> {
    let isolation = keys.text("isolation", MAX_WORD_BYTES)?;
    match isolation.value.as_str() {
        "worktree" => Some(true),
        "none" => Some(false),
        other => {
            keys.error(isolation.at, format!("`isolation` is `{other}`"), "write `worktree` or `none`");
            None
        }
    }
}

fn todos(keys: &mut PlanKeys<'_>) -> Vec<DocumentNode> {
    let at = keys.at();
    let before = keys.report.problems.len();
    let Some(node) = keys.take("todos") else {
        if keys.report.problems.len() == before {
            keys.error(at, "it has no `todos`", "add a list of todos, each with `id` and `title`");
        }
        return Vec::new();
    };
    match node.value {
        NodeValue::List(list) if list.is_empty() => {
            keys.error(node.at, "`todos` is empty", "add at least one, with `id` and `title`");
            Vec::new()
        }
        NodeValue::List(list) if list.len() > MAX_TODOS => {
            let message = format!("there are {} todos; the limit is {MAX_TODOS}", list.len());
            keys.error(node.at, message, "split the plan");
            Vec::new()
        }
        NodeValue::List(list) => list,
        other => {
            keys.error(node.at, format!("`todos` is {}", other.kind()), "write a list, each with `id` and `title`");
            Vec::new()
        }
    }
}

fn read_limits(node: DocumentNode, report: &mut PlanProblems) -> PlanLimits {
    let mut keys = PlanKeys::new("limits: ", node, report);
    let limits = PlanLimits {
        parallel: keys.count("parallel", 1..=MAX_PARALLEL),
        retries: keys.count("retries", 0..=MAX_RETRIES),
        budget_usd: keys.parse("budget_usd", parse_usd),
        timeout: keys.parse("timeout", parse_nonzero_time),
    };
    keys.finish(&LIMIT_KEYS);
    limits
}

fn parse_nonzero_time(text: &str) -> Result<Duration, String> {
    match parse_time(text)? {
        Duration::ZERO => Err("the time must be more than 0".into()),
        time => Ok(time),
    }
}

fn read_defaults(node: DocumentNode, report: &mut PlanProblems) -> TodoDefaults {
    let mut keys = PlanKeys::new("defaults: ", node, report);
    let defaults =
        TodoDefaults { agent: keys.text("agent", MAX_WORD_BYTES), model: keys.text("model", MAX_WORD_BYTES) };
    keys.finish(&DEFAULT_KEYS);
    defaults
}

fn yaml_limits() -> serde_saphyr::Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: 64,
            max_nodes: 4_000_000,
            max_events: 8_000_000,
            max_aliases: 50_000,
            max_anchors: 10_000,
            max_recorded_anchor_events: 1_000_000,
            max_recorded_anchor_bytes: 16 << 20,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: 2_000_000,
            max_replay_stack_depth: 8,
        },
        strict_booleans: true,
        with_snippet: false,
    }
}
