//! `bosun fleet check`: lists the problems of a plan, or its structure and the todos whose results would be reused.

use std::collections::BTreeMap;

use client::{SharedFiles, TodoFiles};
use config::{DefinitionProblem, FleetPlan, PlanShape};
use fleet::CacheLookup;
use protocol::TodoId;
use serde::Serialize;
use tui::print;

use super::plan_validator::LocalPlanValidator;
use super::reuse::ReusePredictor;
use crate::args::FleetCheckArgs;
use crate::error::CliError;
use crate::exit::CommandExit;
use crate::setup::{Setup, working_folder};

/// The maximum number of ids named on one line.
const MAX_NAMED_TODOS: usize = 10;

/// A valid plan as JSON.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PlanCheckOutput<'a> {
    todos: usize,
    layers: &'a [Vec<TodoId>],
    longest: &'a [TodoId],
    widest: usize,
    /// Todos whose work is checked by a command or a schema.
    checked: Vec<&'a TodoId>,
    /// Todos whose results would be reused; absent while no model is chosen.
    reused: Option<Vec<&'a TodoId>>,
    /// Why each of the other todos would be done again.
    again: Option<BTreeMap<&'a TodoId, String>>,
    /// Todos that name the same files and do not depend on each other.
    conflicts: &'a [SharedFiles],
    problems: [DefinitionProblem; 0],
}

/// The problems of a plan as JSON.
#[derive(Serialize)]
struct PlanProblemsOutput<'a> {
    problems: &'a [DefinitionProblem],
}

pub(super) async fn check(args: &FleetCheckArgs) -> Result<CommandExit, CliError> {
    let plan = match FleetPlan::read(&args.plan) {
        Ok(plan) => plan,
        Err(problems) => return Ok(print_problems(&problems, args.json)),
    };
    let mut setup = Setup::read()?;
    let cwd = working_folder(args.directory.as_deref())?;
    setup.fetch_remote_catalog(Some(&cwd)).await;
    let agents = setup.sources().folder_agents(&args.session_options(), &cwd)?;
    let model = agents.model.as_deref();
    let problems = plan.check(&LocalPlanValidator { catalog: &agents.catalog, models: &*agents.models, model });
    if !problems.is_empty() {
        return Ok(print_problems(&problems, args.json));
    }
    let lookups = match model {
        Some(model) => Some(ReusePredictor::new(&setup.home, &cwd, &agents, model).predict(&plan).await?),
        None => None,
    };
    let (shape, checked) = (plan.shape(), checked_todos(&plan));
    let conflicts = SharedFiles::find(&plan.todos.iter().map(TodoFiles::from).collect::<Vec<_>>());
    if args.json {
        print::json(&check_output(&plan, &shape, checked, lookups.as_ref(), &conflicts));
    } else {
        print_plan(&plan, &shape, &checked, lookups.as_ref());
        conflicts
            .iter()
            .take(MAX_NAMED_TODOS)
            .for_each(|shared| print_line(format!("may conflict: {}", shared.describe())));
        if let Some(more @ 1..) = conflicts.len().checked_sub(MAX_NAMED_TODOS) {
            print_line(format!("may conflict: {more} more groups of todos"));
        }
    }
    Ok(CommandExit::Success)
}

fn print_problems(problems: &[DefinitionProblem], json: bool) -> CommandExit {
    if json {
        print::json(&PlanProblemsOutput { problems });
    } else {
        for problem in problems {
            print::output(print::sanitize(&format!("error: {problem}")).replace(['\n', '\t'], " "));
        }
    }
    CommandExit::Usage
}

fn checked_todos(plan: &FleetPlan) -> Vec<&TodoId> {
    let checked = plan.todos.iter().filter(|todo| todo.check.is_some() || todo.expects.is_some());
    checked.map(|todo| &todo.id).collect()
}

fn check_output<'a>(
    plan: &FleetPlan,
    shape: &'a PlanShape,
    checked: Vec<&'a TodoId>,
    lookups: Option<&'a BTreeMap<TodoId, CacheLookup>>,
    conflicts: &'a [SharedFiles],
) -> PlanCheckOutput<'a> {
    PlanCheckOutput {
        todos: plan.todos.len(),
        layers: &shape.layers,
        longest: &shape.longest,
        widest: shape.widest(),
        checked,
        reused: lookups.map(reused_todos),
        again: lookups.map(|lookups| redo_reasons(lookups).collect()),
        conflicts,
        problems: [],
    }
}

fn reused_todos(lookups: &BTreeMap<TodoId, CacheLookup>) -> Vec<&TodoId> {
    let is_reused = |lookup: &CacheLookup| matches!(lookup, CacheLookup::Hit { .. });
    lookups.iter().filter(|(_, lookup)| is_reused(lookup)).map(|(todo, _)| todo).collect()
}

fn redo_reasons(lookups: &BTreeMap<TodoId, CacheLookup>) -> impl Iterator<Item = (&TodoId, String)> {
    lookups.iter().filter_map(|(todo, lookup)| match lookup {
        CacheLookup::Miss(reason) => Some((todo, reason.to_string())),
        CacheLookup::Hit { .. } => None,
    })
}

fn print_plan(
    plan: &FleetPlan,
    shape: &PlanShape,
    checked: &[&TodoId],
    lookups: Option<&BTreeMap<TodoId, CacheLookup>>,
) {
    let (todos, layers) = (print::pluralize(plan.todos.len(), "todo"), print::pluralize(shape.layers.len(), "layer"));
    print_line(format!("{todos} in {layers}, at most {} at once", shape.widest()));
    print_line(format!("longest path: {} ({})", join_ids(shape.longest.iter(), " → "), shape.longest.len()));
    match checked {
        [] => print_line("no todo has a check: each worker's own report counts".into()),
        checked => print_line(format!("with a check: {} ({})", join_ids(checked.iter().copied(), ", "), checked.len())),
    }
    let Some(lookups) = lookups else {
        print_line("cannot tell which results would be reused without a model: give --model".into());
        return;
    };
    let reused = reused_todos(lookups);
    print_line(format!("reused: {} of {}", reused.len(), plan.todos.len()));
    // Without any reuse, every reason would be the same.
    if !reused.is_empty() {
        let mut reasons: BTreeMap<String, Vec<&TodoId>> = BTreeMap::new();
        redo_reasons(lookups).for_each(|(todo, reason)| reasons.entry(reason).or_default().push(todo));
        for (reason, todos) in reasons {
            print_line(format!("done again: {} ({reason})", join_ids(todos.into_iter(), ", ")));
        }
    }
}

fn join_ids<'a>(todos: impl ExactSizeIterator<Item = &'a TodoId>, separator: &str) -> String {
    let more = todos.len().saturating_sub(MAX_NAMED_TODOS);
    let mut names: Vec<String> = todos.take(MAX_NAMED_TODOS).map(ToString::to_string).collect();
    if more > 0 {
        names.push(format!("{more} more"));
    }
    names.join(separator)
}

fn print_line(text: String) {
    print::output(print::sanitize(&text));
}
