//! `bosun fleet check`: what is wrong with a plan; or, when nothing is, its shape and what would be done again.

use std::collections::BTreeMap;

use config::{DefinitionProblem, FleetPlan, PlanShape, SettingsFile};
use protocol::TodoId;
use runtime::{CacheLookup, SharedFiles, TodoFiles};
use serde::Serialize;

use super::plan_validator::LocalPlanValidator;
use super::reuse::ReusePredictor;
use crate::args::FleetCheckArgs;
use crate::error::CliError;
use crate::exit::CommandExit;
use crate::print;
use crate::setup::{Setup, folder};

/// Most ids that one line names.
const MAX_NAMED: usize = 10;

/// A plan, as JSON.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PlanCheckOutput<'a> {
    todos: usize,
    layers: &'a [Vec<TodoId>],
    longest: &'a [TodoId],
    widest: usize,
    /// Those whose work is checked by a command or a schema.
    checked: Vec<&'a TodoId>,
    /// Those that would not be done again; absent while no model is chosen.
    reused: Option<Vec<&'a TodoId>>,
    /// Why the others would be.
    again: Option<BTreeMap<&'a TodoId, String>>,
    /// Todos that name the same files and do not wait for each other.
    conflicts: &'a [SharedFiles],
    problems: [DefinitionProblem; 0],
}

/// What is wrong with a plan, as JSON.
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
    let cwd = folder(args.directory.as_deref())?;
    setup.fetch_remote_catalog(Some(&cwd)).await;
    let typed = SettingsFile { model: args.model.clone(), ..args.permissions.flag_settings()? };
    let staffing = setup.folder_agents(&args.permissions, &args.definitions, typed, &cwd)?;
    let model = staffing.model.as_deref();
    let problems = plan.check(&LocalPlanValidator { catalog: &staffing.catalog, models: &*staffing.models, model });
    if !problems.is_empty() {
        return Ok(print_problems(&problems, args.json));
    }
    let foreseen = match model {
        Some(model) => Some(ReusePredictor::new(&setup.home, &cwd, &staffing, model).predict(&plan).await?),
        None => None,
    };
    let (shape, checked) = (plan.shape(), checked(&plan));
    let conflicts = SharedFiles::find(&plan.todos.iter().map(TodoFiles::from).collect::<Vec<_>>());
    if args.json {
        print::json(&check_output(&plan, &shape, checked, foreseen.as_ref(), &conflicts));
    } else {
        print_plan(&plan, &shape, &checked, foreseen.as_ref());
        conflicts.iter().take(MAX_NAMED).for_each(|shared| print_line(format!("may conflict: {}", shared.describe())));
        if let Some(more @ 1..) = conflicts.len().checked_sub(MAX_NAMED) {
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

fn checked(plan: &FleetPlan) -> Vec<&TodoId> {
    let checked = plan.todos.iter().filter(|todo| todo.check.is_some() || todo.expects.is_some());
    checked.map(|todo| &todo.id).collect()
}

fn check_output<'a>(
    plan: &FleetPlan,
    shape: &'a PlanShape,
    checked: Vec<&'a TodoId>,
    foreseen: Option<&'a BTreeMap<TodoId, CacheLookup>>,
    conflicts: &'a [SharedFiles],
) -> PlanCheckOutput<'a> {
    PlanCheckOutput {
        todos: plan.todos.len(),
        layers: &shape.layers,
        longest: &shape.longest,
        widest: shape.widest(),
        checked,
        reused: foreseen.map(reused),
        again: foreseen.map(|foreseen| redo_reasons(foreseen).collect()),
        conflicts,
        problems: [],
    }
}

fn reused(foreseen: &BTreeMap<TodoId, CacheLookup>) -> Vec<&TodoId> {
    let is_reused = |recalled: &CacheLookup| matches!(recalled, CacheLookup::Hit { .. });
    foreseen.iter().filter(|(_, recalled)| is_reused(recalled)).map(|(todo, _)| todo).collect()
}

fn redo_reasons(foreseen: &BTreeMap<TodoId, CacheLookup>) -> impl Iterator<Item = (&TodoId, String)> {
    foreseen.iter().filter_map(|(todo, recalled)| match recalled {
        CacheLookup::Miss(why) => Some((todo, why.to_string())),
        CacheLookup::Hit { .. } => None,
    })
}

fn print_plan(
    plan: &FleetPlan,
    shape: &PlanShape,
    checked: &[&TodoId],
    foreseen: Option<&BTreeMap<TodoId, CacheLookup>>,
) {
    let (todos, layers) = (print::pluralize(plan.todos.len(), "todo"), print::pluralize(shape.layers.len(), "layer"));
    print_line(format!("{todos} in {layers}, at most {} at once", shape.widest()));
    print_line(format!("longest path: {} ({})", join_ids(shape.longest.iter(), " → "), shape.longest.len()));
    match checked {
        [] => print_line("no todo has a check: whatever its worker says counts".into()),
        checked => print_line(format!("checked: {} ({})", join_ids(checked.iter().copied(), ", "), checked.len())),
    }
    let Some(foreseen) = foreseen else {
        print_line("what was done before is known once a model is chosen: give --model".into());
        return;
    };
    let reused = reused(foreseen);
    print_line(format!("reused: {} of {}", reused.len(), plan.todos.len()));
    // Where nothing was done before, everybody knows why it is done.
    if !reused.is_empty() {
        let mut whys: BTreeMap<String, Vec<&TodoId>> = BTreeMap::new();
        redo_reasons(foreseen).for_each(|(todo, why)| whys.entry(why).or_default().push(todo));
        for (why, todos) in whys {
            print_line(format!("done again: {} ({why})", join_ids(todos.into_iter(), ", ")));
        }
    }
}

fn join_ids<'a>(todos: impl ExactSizeIterator<Item = &'a TodoId>, between: &str) -> String {
    let more = todos.len().saturating_sub(MAX_NAMED);
    let mut names: Vec<String> = todos.take(MAX_NAMED).map(ToString::to_string).collect();
    if more > 0 {
        names.push(format!("{more} more"));
    }
    names.join(between)
}

fn print_line(text: String) {
    print::output(print::sanitize(&text));
}
