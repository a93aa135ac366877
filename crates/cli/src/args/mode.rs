//! What can be said about how far the session's own agent goes by itself, and what is left of the run.

use std::path::PathBuf;

use protocol::{PlanAction, SessionMode};

/// Modes of a run.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct ModeArgs {
    /// Makes a plan and changes nothing, until the plan is approved
    #[arg(long, conflicts_with = "autopilot")]
    pub(crate) plan: bool,
    /// How it goes on when nobody decides on the plan: interactive, autopilot, autopilot_fleet, or exit_only, which
    /// prints the plan and ends
    #[arg(long, value_name = "ACTION", value_parser = action)]
    pub(crate) plan_exit: Option<PlanAction>,
    /// Works until the agent reports that the objective is met, or that something is in the way
    #[arg(long)]
    pub(crate) autopilot: bool,
    /// How often an agent on autopilot is told to go on before it stops (5, or `limits.continues` in config.toml)
    #[arg(long, value_name = "N")]
    pub(crate) max_continues: Option<u32>,
    /// Writes the session to this .md or .html file when the run is over, however it ended
    #[arg(long, value_name = "FILE")]
    pub(crate) share: Option<PathBuf>,
}

impl ModeArgs {
    /// The mode that was typed.
    pub(crate) fn session_mode(&self) -> Option<SessionMode> {
        match (self.plan, self.autopilot) {
            (true, _) => Some(SessionMode::Plan),
            (false, true) => Some(SessionMode::Autopilot),
            (false, false) => None,
        }
    }

    /// The same for a session that goes on as it is.
    pub(crate) fn without_session_mode(&self) -> ModeArgs {
        ModeArgs { plan: false, autopilot: false, ..self.clone() }
    }
}

fn action(word: &str) -> Result<PlanAction, String> {
    let known = || PlanAction::ALL.map(PlanAction::as_str).join(", ");
    PlanAction::from_name(word).ok_or_else(|| format!("there are only: {}", known()))
}
