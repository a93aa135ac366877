//! The one function that decides.

use std::path::PathBuf;

use protocol::{PermissionMode, RuleEffect};

use crate::{Act, Ground, Request, Rule, Verdict};

/// What calls may do: a mode, rules, and what is out of reach in every mode.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Policy {
    /// What becomes of calls that no rule speaks of.
    pub mode: PermissionMode,
    /// Every rule, strongest source first.
    pub rules: Vec<Rule>,
    /// The folder that relative patterns begin in: the project's top.
    pub top: PathBuf,
    /// The folder of the user, for `~` in patterns.
    pub user: Option<PathBuf>,
    /// Folders and files that control Bosun: no call may read or change them.
    pub controls: Vec<PathBuf>,
}

impl Policy {
    /// Decides whether a call may run.
    pub fn check(&self, request: &Request) -> Verdict {
        let strictest = request.acts.iter().map(|act| self.check_act(&request.tool, act)).max_by_key(|v| v.effect);
        strictest.unwrap_or_else(|| self.by_mode(&request.tool, &Act::Other))
    }

    fn check_act(&self, tool: &str, act: &Act) -> Verdict {
        self.by_mode(tool, act)
    }

    fn by_mode(&self, tool: &str, act: &Act) -> Verdict {
        let effect = match (self.mode, act) {
            (PermissionMode::AllowAll, _) | (_, Act::Read(_) | Act::Session) => RuleEffect::Allow,
            (PermissionMode::AcceptEdits, Act::Edit(_)) => RuleEffect::Allow,
            (PermissionMode::Plan, Act::Edit(_) | Act::Shell { .. } | Act::Other) => RuleEffect::Deny,
            (_, Act::Edit(_) | Act::Shell { .. } | Act::Fetch(_) | Act::Other) => RuleEffect::Ask,
        };
        Verdict { effect, ground: Ground::Mode(self.mode), part: tool.to_owned(), rule: Some(tool.to_owned()) }
    }
}
