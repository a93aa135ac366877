//! The answer to a request, and why.

use protocol::{PermissionMode, RuleEffect};

use crate::Rule;

/// Whether a call may run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// May it, may it not, or must a person say so.
    pub effect: RuleEffect,
    /// What decided.
    pub ground: Ground,
    /// The part of the call that decided, as people read it: a command of a pipeline, a path, a host.
    pub part: String,
    /// A rule that would allow this call and its like; none where no rule may.
    pub rule: Option<String>,
}

/// What decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ground {
    /// A rule.
    Rule(Rule),
    /// No rule: the mode.
    Mode(PermissionMode),
    /// The command cannot be read, or may do more than it shows; the words say why.
    Unclear(String),
    /// It would reach what controls the agent itself.
    Controls,
}

impl Verdict {
    /// Why, in one line for people.
    pub fn reason(&self) -> String {
        match &self.ground {
            Ground::Rule(rule) => {
                format!("{} {} ({})", rule.effect.word(), rule.text, rule.source)
            }
            Ground::Mode(mode) => format!("no rule speaks of `{}`, and the mode is {mode}", self.part),
            Ground::Unclear(why) => format!("`{}`: {why}", self.part),
            Ground::Controls => format!("`{}` controls Bosun itself, and no agent may reach it", self.part),
        }
    }
}
