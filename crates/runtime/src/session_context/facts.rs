//! The plain values of a session.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use host::{Clock, Home, Ids};
use protocol::{Budget, PlanAction, ReasoningEffort, SessionId};

use crate::agent::Deadline;
use crate::settings::{SessionFeatures, SessionSettings};

/// Values that stay the same while this process owns the session. Every part may read them.
#[derive(Debug)]
pub(crate) struct SessionFacts {
    pub(crate) session: SessionId,
    /// The folder in which sessions are stored.
    pub(crate) home: Home,
    /// The folder that the session works in.
    pub(crate) cwd: PathBuf,
    /// Further folders that file tools may access.
    pub(crate) added_folders: Vec<PathBuf>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) ids: Arc<dyn Ids>,
    pub(crate) features: SessionFeatures,
    /// The limits on agents.
    pub(crate) limits: kernel::SessionLimits,
    /// The budget of the root and all tasks below it.
    pub(crate) budget: Budget,
    /// The daily budget of all sessions in the home, in millionths of a US dollar.
    pub(crate) day_budget: Option<u64>,
    /// The limits on tool calls.
    pub(crate) tools: tools::ToolLimits,
    /// The effort of agents whose definition names none.
    pub(crate) effort: Option<ReasoningEffort>,
    /// The time until which the session's agents may work in this process.
    pub(crate) deadline: Deadline,
    /// After which time a call of an MCP server's tool moves to the background.
    pub(crate) call_background_after: Duration,
    /// Whether the user can be asked; if not, agents do not get the `ask_user` tool.
    pub(crate) can_ask_user: bool,
    /// How long an ask waits for the user before it is denied; for ever when absent.
    pub(crate) ask_wait: Option<Duration>,
    /// The action for a plan that the user does not decide on in time.
    pub(crate) default_plan_action: PlanAction,
}

impl SessionFacts {
    pub(crate) fn new(settings: &SessionSettings, session: SessionId) -> SessionFacts {
        SessionFacts {
            session,
            home: settings.home.clone(),
            cwd: settings.cwd.clone(),
            added_folders: settings.added_folders.clone(),
            clock: Arc::clone(&settings.clock),
            ids: Arc::clone(&settings.ids),
            features: settings.features,
            limits: settings.limits.clone(),
            budget: settings.budget,
            day_budget: settings.day_budget,
            tools: settings.tools,
            effort: settings.effort,
            deadline: Deadline::after(settings.timeout),
            call_background_after: settings.call_background_after,
            can_ask_user: settings.ask_user && settings.ask_wait != Some(Duration::ZERO),
            ask_wait: settings.ask_wait,
            default_plan_action: settings.default_plan_action,
        }
    }
}
