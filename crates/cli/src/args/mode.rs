//! Arguments for the session mode, and for sharing the session after the run.

use std::path::PathBuf;

use protocol::{PlanAction, SessionMode};

/// Modes of a run.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct ModeArgs {
    /// Makes a plan and changes nothing, until the plan is approved
    #[arg(long, conflicts_with = "autopilot")]
    pub(crate) plan: bool,
    /// What to do if you do not decide on the plan: interactive, autopilot, autopilot_fleet, or exit_only, which prints
    /// the plan and exits
    #[arg(long, value_name = "ACTION", value_parser = parse_plan_action)]
    pub(crate) plan_exit: Option<PlanAction>,
    /// Works until the agent reports that the objective is met or blocked
    #[arg(long)]
    pub(crate) autopilot: bool,
    /// How often an agent on autopilot is told to continue before it stops (5, or `limits.continues` in config.toml)
    #[arg(long, value_name = "N")]
    pub(crate) max_continues: Option<u32>,
    /// Writes the session to this .md or .html file when the run ends, even if it failed
    #[arg(long, value_name = "FILE")]
    pub(crate) share: Option<PathBuf>,
}

impl ModeArgs {
    /// The session mode given by the flags.
    pub(crate) fn session_mode(&self) -> Option<SessionMode> {
        match (self.plan, self.autopilot) {
            (true, _) => Some(SessionMode::Plan),
            (false, true) => Some(SessionMode::Autopilot),
            (false, false) => None,
        }
    }

    /// These arguments without `--plan` and `--autopilot`, for a session that keeps its mode.
    pub(crate) fn without_session_mode(&self) -> ModeArgs {
        ModeArgs { plan: false, autopilot: false, ..self.clone() }
    }
}

fn parse_plan_action(name: &str) -> Result<PlanAction, String> {
    let known = || PlanAction::ALL.map(PlanAction::as_str).join(", ");
    PlanAction::from_name(name).ok_or_else(|| format!("expected one of: {}", known()))
}
