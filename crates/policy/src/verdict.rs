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
    /// A rule that would allow this part and its like; none where it is allowed, and where no rule may.
    pub rule: Option<String>,
}

/// What decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ground {
    /// A rule.
    Rule(Box<Rule>),
    /// A deny or ask rule that may be meant; only running the command would tell.
    Possible(Box<Rule>),
    /// No rule: the mode.
    Mode(PermissionMode),
    /// No rule, and it lies outside the workspace.
    Outside,
    /// The command cannot be read, or may do more than it shows; the words say why.
    Unclear(String),
    /// It would reach what controls the agent itself.
    Controls,
    /// A machine that is not public, which no rule names.
    Private,
    /// The agent does not have the tool.
    Role,
    /// A hook wants a person to decide; the words say why.
    Hook(String),
}

impl Ground {
    /// Its kind in one word, for programs.
    pub fn word(&self) -> &'static str {
        match self {
            Ground::Rule(_) => "rule",
            Ground::Possible(_) => "possible",
            Ground::Mode(_) => "mode",
            Ground::Outside => "outside",
            Ground::Unclear(_) => "unclear",
            Ground::Controls => "controls",
            Ground::Private => "private",
            Ground::Role => "role",
            Ground::Hook(_) => "hook",
        }
    }

    /// The rule that decided, if one did.
    pub fn rule(&self) -> Option<&Rule> {
        match self {
            Ground::Rule(rule) | Ground::Possible(rule) => Some(rule),
            Ground::Mode(_)
            | Ground::Outside
            | Ground::Unclear(_)
            | Ground::Controls
            | Ground::Private
            | Ground::Role
            | Ground::Hook(_) => None,
        }
    }
}

impl Verdict {
    /// Why, in one line for people.
    pub fn reason(&self) -> String {
        let part = &self.part;
        match &self.ground {
            Ground::Rule(rule) => format!("`{part}`: {rule}"),
            Ground::Possible(rule) => format!("`{part}` may be what this is about: {rule}"),
            Ground::Mode(mode) => format!("no rule speaks of `{part}`, and the mode is {mode}"),
            Ground::Outside if self.effect == RuleEffect::Deny => format!("`{part}` lies outside the workspace"),
            Ground::Outside => format!("no rule speaks of `{part}`, and it lies outside the workspace"),
            Ground::Unclear(why) => format!("`{part}`: {why}"),
            Ground::Controls => format!("`{part}` reaches what controls Bosun itself, and no agent may"),
            Ground::Private => {
                format!("`{part}` is on this machine or its network, or is no public address, and no rule names it")
            }
            Ground::Hook(why) => format!("a hook wants a person to decide about `{part}`: {why}"),
            Ground::Role => format!("this agent does not have the tool `{part}`"),
        }
    }
}
