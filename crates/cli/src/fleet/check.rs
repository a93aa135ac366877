//! `bosun fleet check`: what is wrong with a plan; or, when nothing is, its shape and what would be done again.

use std::collections::BTreeMap;

use config::{File, Plan, PlanShape, Problem};
use protocol::TodoId;
use runtime::{NamedFiles, Recalled, SharedFiles};
use serde::Serialize;

use super::judge::Judge;
use super::reuse::Scene;
use crate::args::FleetCheckArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::print;
use crate::setup::{Setup, folder};

/// Most ids that one line names.
const NAMED: usize = 10;

/// A plan, as JSON.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Written<'a> {
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
    problems: [Problem; 0],
}

/// What is wrong with a plan, as JSON.
#[derive(Serialize)]
struct Wrong<'a> {
    problems: &'a [Problem],
}

pub(super) async fn check(args: &FleetCheckArgs) -> Result<Exit, Failure> {
    let plan = match Plan::read(&args.plan) {
        Ok(plan) => plan,
        Err(problems) => return Ok(tell(&problems, args.json)),
    };
    let mut setup = Setup::read()?;
    let cwd = folder(args.directory.as_deref())?;
    setup.ask_catalog(Some(&cwd)).await;
    let typed = File { model: args.model.clone(), ..args.permit.file()? };
    let staffing = setup.staffing(&args.permit, &args.definitions, typed, &cwd)?;
    let model = staffing.model.as_deref();
    let problems = plan.check(&Judge { catalog: &staffing.catalog, models: &*staffing.models, model });
    if !problems.is_empty() {
        return Ok(tell(&problems, args.json));
    }
    let foreseen = match model {
        Some(model) => Some(Scene::new(&setup.home, &cwd, &staffing, model).foresee(&plan).await?),
        None => None,
    };
    let (shape, checked) = (plan.shape(), checked(&plan));
    let conflicts = SharedFiles::find(&plan.todos.iter().map(NamedFiles::from).collect::<Vec<_>>());
    if args.json {
        print::json(&written(&plan, &shape, checked, foreseen.as_ref(), &conflicts));
    } else {
        show(&plan, &shape, &checked, foreseen.as_ref());
        conflicts.iter().take(NAMED).for_each(|shared| line(format!("may conflict: {}", shared.words())));
        if let Some(more @ 1..) = conflicts.len().checked_sub(NAMED) {
            line(format!("may conflict: {more} more groups of todos"));
        }
    }
    Ok(Exit::Success)
}

fn tell(problems: &[Problem], json: bool) -> Exit {
    if json {
        print::json(&Wrong { problems });
    } else {
        for problem in problems {
            print::answer(print::plain(&format!("error: {problem}")).replace(['\n', '\t'], " "));
        }
    }
    Exit::Usage
}

fn checked(plan: &Plan) -> Vec<&TodoId> {
    let checked = plan.todos.iter().filter(|todo| todo.check.is_some() || todo.expects.is_some());
    checked.map(|todo| &todo.id).collect()
}

fn written<'a>(
    plan: &Plan,
    shape: &'a PlanShape,
    checked: Vec<&'a TodoId>,
    foreseen: Option<&'a BTreeMap<TodoId, Recalled>>,
    conflicts: &'a [SharedFiles],
) -> Written<'a> {
    Written {
        todos: plan.todos.len(),
        layers: &shape.layers,
        longest: &shape.longest,
        widest: shape.widest(),
        checked,
        reused: foreseen.map(reused),
        again: foreseen.map(|foreseen| again(foreseen).collect()),
        conflicts,
        problems: [],
    }
}

fn reused(foreseen: &BTreeMap<TodoId, Recalled>) -> Vec<&TodoId> {
    let is_reused = |recalled: &Recalled| matches!(recalled, Recalled::Reused { .. });
    foreseen.iter().filter(|(_, recalled)| is_reused(recalled)).map(|(todo, _)| todo).collect()
}

fn again(foreseen: &BTreeMap<TodoId, Recalled>) -> impl Iterator<Item = (&TodoId, String)> {
    foreseen.iter().filter_map(|(todo, recalled)| match recalled {
        Recalled::Again(why) => Some((todo, why.to_string())),
        Recalled::Reused { .. } => None,
    })
}

fn show(plan: &Plan, shape: &PlanShape, checked: &[&TodoId], foreseen: Option<&BTreeMap<TodoId, Recalled>>) {
    let (todos, layers) = (print::count(plan.todos.len(), "todo"), print::count(shape.layers.len(), "layer"));
    line(format!("{todos} in {layers}, at most {} at once", shape.widest()));
    line(format!("longest path: {} ({})", named(shape.longest.iter(), " → "), shape.longest.len()));
    match checked {
        [] => line("no todo has a check: whatever its worker says counts".into()),
        checked => line(format!("checked: {} ({})", named(checked.iter().copied(), ", "), checked.len())),
    }
    let Some(foreseen) = foreseen else {
        line("what was done before is known once a model is chosen: give --model".into());
        return;
    };
    let reused = reused(foreseen);
    line(format!("reused: {} of {}", reused.len(), plan.todos.len()));
    // Where nothing was done before, everybody knows why it is done.
    if !reused.is_empty() {
        let mut whys: BTreeMap<String, Vec<&TodoId>> = BTreeMap::new();
        again(foreseen).for_each(|(todo, why)| whys.entry(why).or_default().push(todo));
        for (why, todos) in whys {
            line(format!("done again: {} ({why})", named(todos.into_iter(), ", ")));
        }
    }
}

fn named<'a>(todos: impl ExactSizeIterator<Item = &'a TodoId>, between: &str) -> String {
    let more = todos.len().saturating_sub(NAMED);
    let mut names: Vec<String> = todos.take(NAMED).map(ToString::to_string).collect();
    if more > 0 {
        names.push(format!("{more} more"));
    }
    names.join(between)
}

fn line(text: String) {
    print::answer(print::plain(&text));
}
