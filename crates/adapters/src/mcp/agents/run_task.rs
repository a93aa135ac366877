//! A session as a task of the protocol: its id is the session's, so that a client can follow it through any server of the
//! same home, also after a restart.

use std::time::Duration;

use client::{ClientError, LatestFleet, SessionHandle};
use protocol::api::{AskView, FleetStatus};
use rpc::ErrorObject;

use super::answers;
use super::arguments::{self, AgentToolError};
use super::fleet_report::{FleetReport, fleet_text};
use super::report::{AgentStatus, RunFacts, agent_text};
use crate::mcp::{ProvidedTask, ProvidedTaskState};

/// How often clients should ask for the state of a task.
const POLL: Duration = Duration::from_secs(1);

/// Who sees what a task asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TaskQuestions {
    /// The client, which may decide.
    Client,
    /// Only the user, at another place.
    User,
}

/// What a session's file says of a task.
struct TaskFacts {
    run: RunFacts,
    asks: Vec<AskView>,
    fleet: Option<FleetStatus>,
}

/// The state of a session as a task.
pub(super) async fn read(session: &SessionHandle, questions: TaskQuestions) -> Result<ProvidedTask, AgentToolError> {
    let facts = session.read(read_facts).await?;
    let state = state(&facts, questions, facts.run.will_resume(session.home()))?;
    let TaskFacts { run, .. } = facts;
    Ok(ProvidedTask {
        id: session.id().to_string(),
        state,
        message: Some(message(&run)),
        created_at: run.view.created_at,
        updated_at: run.view.updated_at,
        ttl: None,
        poll: POLL,
    })
}

fn read_facts(session: &SessionHandle) -> Result<TaskFacts, ClientError> {
    let run = RunFacts::read(session)?;
    let fleet = match run.fleet {
        Some(LatestFleet::Ended(_)) => session.fleet_status()?,
        Some(LatestFleet::Unfinished) | None => None,
    };
    Ok(TaskFacts { asks: session.open_asks()?, run, fleet })
}

fn state(facts: &TaskFacts, questions: TaskQuestions, will_resume: bool) -> Result<ProvidedTaskState, AgentToolError> {
    let TaskFacts { run, asks, fleet } = facts;
    if !asks.is_empty() && questions == TaskQuestions::Client && !run.status.is_at_rest() {
        return Ok(ProvidedTaskState::InputRequired(answers::forms(asks)));
    }
    if !run.status.is_at_rest() || will_resume {
        return Ok(ProvidedTaskState::Working);
    }
    match run.status {
        AgentStatus::Interrupted => Ok(ProvidedTaskState::Failed(ErrorObject::internal(
            "the agent was interrupted, and nothing resumes it by itself; message_agent does",
        ))),
        AgentStatus::Cancelled => Ok(ProvidedTaskState::Cancelled),
        AgentStatus::Working
        | AgentStatus::NeedsDecision
        | AgentStatus::Parked
        | AgentStatus::Completed
        | AgentStatus::Failed
        | AgentStatus::TimedOut
        | AgentStatus::BudgetExhausted => {
            let mut result = match fleet {
                Some(fleet) => {
                    let report = FleetReport::new(fleet);
                    arguments::structured(&fleet_text(&report), &report)?
                }
                None => arguments::structured(&agent_text(&run.report), &run.report)?,
            };
            if run.status != AgentStatus::Completed {
                result.insert("isError".into(), true.into());
            }
            Ok(ProvidedTaskState::Completed(result))
        }
    }
}

/// How far a run is, for people.
fn message(run: &RunFacts) -> String {
    let turns = run.report.turns;
    let status = run.status.as_str();
    match run.report.open_asks {
        0 => format!("{status}: {turns} turns"),
        asks => format!("{status}: {turns} turns; {asks} wait for a decision of the user, see `bosun approvals`"),
    }
}
