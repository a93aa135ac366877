//! Prepares a session that begins with a fleet: the request and its plan become the options of the session and the
//! request to the session's fleet.

use std::path::{Path, PathBuf};

use protocol::api::{BeginFleetParams, FleetParams, PlanDocument};
use protocol::{Hinted, Seconds, SessionMode, SessionOptions, Usd};
use serde_json::Value;

use super::FleetPlan;
use crate::catalog::DefinitionProblem;

/// What problems and the goal call a plan that is in no file.
const UNNAMED_PLAN: &str = "the plan";

/// A session that begins with a fleet.
#[derive(Debug, Clone, PartialEq)]
pub struct PreparedFleet {
    /// The options of the session.
    pub session: SessionOptions,
    /// The request to its fleet.
    pub fleet: FleetParams,
}

/// Why no session begins with a fleet.
#[derive(Debug, thiserror::Error)]
pub enum PrepareFleetError {
    /// The plan has problems.
    #[error("{} has {}\n{}", .file.display(), count_problems(.problems), format_lines(.problems))]
    Plan {
        /// Its file.
        file: PathBuf,
        /// The problems, with their positions.
        problems: Vec<DefinitionProblem>,
    },
    /// The plan is neither a text nor an object, or both.
    #[error("a plan is either a `text` or an `object`")]
    PlanForm,
    /// There are two plans.
    #[error("there are two plans: a plan document and a list of todos")]
    TwoPlans,
    /// It has an option of a session that does not begin with a fleet.
    #[error("`{option}` does not apply to a session that begins with a fleet")]
    SessionOption {
        /// The option.
        option: &'static str,
    },
    /// There is nothing to do.
    #[error("the fleet has neither a prompt nor a plan")]
    NoGoal,
    /// It has an option for workers with their own checkouts, but its workers share the folder.
    #[error("`{option}` needs workers with their own checkouts, but these share the folder")]
    SharedFolder {
        /// The option.
        option: &'static str,
    },
}

impl Hinted for PrepareFleetError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            PrepareFleetError::Plan { file, .. } if file.exists() => format!("bosun fleet check {}", file.display()),
            PrepareFleetError::Plan { .. } => "`bosun fleet schema` prints the format of plans".into(),
            PrepareFleetError::PlanForm | PrepareFleetError::TwoPlans => "leave one of them out".into(),
            PrepareFleetError::SessionOption { .. } => {
                "leave it out: a fleet plans and continues by itself, and its own `prompt` is its goal".into()
            }
            PrepareFleetError::NoGoal => "give it one of them".into(),
            PrepareFleetError::SharedFolder { .. } => "set `isolated`, or leave it out".into(),
        })
    }
}

/// Prepares a session that begins with a fleet. What the request says overrides the plan.
pub fn prepare_fleet(params: BeginFleetParams) -> Result<PreparedFleet, PrepareFleetError> {
    let BeginFleetParams { session, fleet, plan } = params;
    reject_session_options(&session)?;
    let prepared = match plan {
        None => {
            reject_shared_folder(&fleet, fleet.isolated.unwrap_or(false))?;
            PreparedFleet { session, fleet }
        }
        Some(_) if !fleet.todos.is_empty() => return Err(PrepareFleetError::TwoPlans),
        Some(document) => planned_fleet(session, fleet, document)?,
    };
    if prepared.fleet.todos.is_empty() && prepared.fleet.prompt.as_deref().is_none_or(|prompt| prompt.trim().is_empty())
    {
        return Err(PrepareFleetError::NoGoal);
    }
    Ok(prepared)
}

fn planned_fleet(
    session: SessionOptions,
    fleet: FleetParams,
    document: PlanDocument,
) -> Result<PreparedFleet, PrepareFleetError> {
    let file = document.file.clone();
    let plan = read_document(document)?;
    let isolated = fleet.isolated.or(plan.isolated);
    reject_shared_folder(&fleet, isolated.unwrap_or(false))?;
    let limits = plan.limits;
    let session = SessionOptions {
        max_budget_usd: session.max_budget_usd.or(limits.budget_usd.map(Usd)),
        timeout_seconds: session.timeout_seconds.or(limits.timeout.map(Seconds)),
        ..session
    };
    // The fleet may be resumed from another folder.
    let plan_file = file.map(|file| Path::new(&file).canonicalize().map_or(file, |path| path.display().to_string()));
    let fleet = FleetParams {
        prompt: fleet.prompt.or(plan.goal).or_else(|| Some(plan.file.display().to_string())),
        todos: plan.todos.into_iter().map(Into::into).collect(),
        // A plan without a file is a plan too: its commands are not the user's.
        plan_file: Some(plan_file.unwrap_or_default()),
        parallel: fleet.parallel.or(limits.parallel),
        retries: fleet.retries.or(limits.retries),
        rounds: fleet.rounds.or(Some(plan.rounds)),
        isolated,
        check: fleet.check.or(plan.merge_check),
        ..fleet
    };
    Ok(PreparedFleet { session, fleet })
}

fn reject_session_options(session: &SessionOptions) -> Result<(), PrepareFleetError> {
    let is_working_mode = matches!(session.mode, Some(SessionMode::Plan | SessionMode::Autopilot));
    let given = [
        (session.prompt.is_some(), "prompt"),
        (is_working_mode, "mode"),
        (session.plan_exit.is_some(), "planExit"),
        (session.max_continues.is_some(), "maxContinues"),
    ];
    match given.into_iter().find(|(given, _)| *given) {
        Some((_, option)) => Err(PrepareFleetError::SessionOption { option }),
        None => Ok(()),
    }
}

fn read_document(PlanDocument { text, object, file }: PlanDocument) -> Result<FleetPlan, PrepareFleetError> {
    let file = PathBuf::from(file.unwrap_or_else(|| UNNAMED_PLAN.into()));
    let plan = match (text, object) {
        (Some(text), None) => FleetPlan::parse(&file, &text),
        (None, Some(object)) => FleetPlan::from_json(&file, Value::Object(object)),
        (None, None) | (Some(_), Some(_)) => return Err(PrepareFleetError::PlanForm),
    };
    plan.map_err(|problems| PrepareFleetError::Plan { file, problems })
}

fn reject_shared_folder(fleet: &FleetParams, isolated: bool) -> Result<(), PrepareFleetError> {
    let given = [(fleet.dirty, "dirty"), (fleet.merge, "merge"), (fleet.check.is_some(), "check")];
    match given.into_iter().find(|(given, _)| *given && !isolated) {
        Some((_, option)) => Err(PrepareFleetError::SharedFolder { option }),
        None => Ok(()),
    }
}

fn count_problems(problems: &[DefinitionProblem]) -> String {
    match problems.len() {
        1 => "1 problem".into(),
        several => format!("{several} problems"),
    }
}

fn format_lines(problems: &[DefinitionProblem]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}
