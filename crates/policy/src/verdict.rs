//! The answer to a request, and its reason.

use protocol::{PermissionMode, RuleEffect};

use crate::Rule;

/// Whether a call may run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// Whether it is allowed, denied, or needs the user's decision.
    pub effect: RuleEffect,
    /// The basis of the decision.
    pub basis: VerdictBasis,
    /// The part of the call that decided, for display: a command of a pipeline, a path, a host.
    pub part: String,
    /// A rule that would allow this part and similar ones; `None` if it is allowed, or no rule can allow it.
    pub suggested_rule: Option<String>,
    /// The other parts of the call with the same effect, without duplicates; empty for a part.
    pub others: Vec<Verdict>,
}

/// The basis of a decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VerdictBasis {
    /// A rule.
    Rule(Box<Rule>),
    /// A deny or ask rule that may match; whether it does is only known when the command runs.
    Possible(Box<Rule>),
    /// The mode, since no rule matches.
    Mode(PermissionMode),
    /// The mode, which overrules this allow rule.
    Overruled(Box<Rule>, PermissionMode),
    /// A command that only reads files of the workspace.
    ReadOnly,
    /// No rule matches, and it is outside the workspace.
    Outside,
    /// The command cannot be parsed, or may do more than it shows; with the reason.
    Unclear(String),
    /// It would reach files that control Bosun.
    Controls,
    /// A machine that is not public and that no rule names.
    Private,
    /// The agent does not have the tool.
    AgentRole,
    /// A hook asks for the user's decision; with the reason.
    Hook(String),
}

impl VerdictBasis {
    /// Its kind, for programs.
    pub fn as_str(&self) -> &'static str {
        match self {
            VerdictBasis::Rule(_) => "rule",
            VerdictBasis::Possible(_) => "possible",
            VerdictBasis::Mode(_) | VerdictBasis::Overruled(..) => "mode",
            VerdictBasis::ReadOnly => "readOnly",
            VerdictBasis::Outside => "outside",
            VerdictBasis::Unclear(_) => "unclear",
            VerdictBasis::Controls => "controls",
            VerdictBasis::Private => "private",
            VerdictBasis::AgentRole => "role",
            VerdictBasis::Hook(_) => "hook",
        }
    }

    /// The rule that decided, if one did.
    pub fn rule(&self) -> Option<&Rule> {
        match self {
            VerdictBasis::Rule(rule) | VerdictBasis::Possible(rule) | VerdictBasis::Overruled(rule, _) => Some(rule),
            VerdictBasis::Mode(_)
            | VerdictBasis::ReadOnly
            | VerdictBasis::Outside
            | VerdictBasis::Unclear(_)
            | VerdictBasis::Controls
            | VerdictBasis::Private
            | VerdictBasis::AgentRole
            | VerdictBasis::Hook(_) => None,
        }
    }
}

impl Verdict {
    /// The reason in one line for people, with every part that needs a decision or is denied.
    pub fn reason(&self) -> String {
        if self.effect == RuleEffect::Allow || self.others.is_empty() {
            return self.own_reason();
        }
        let all = || std::iter::once(self).chain(&self.others);
        match &self.basis {
            VerdictBasis::Mode(mode) if self.others.iter().all(|other| other.basis == self.basis) => {
                let parts: Vec<String> = all().map(|part| format!("`{}`", part.part)).collect();
                format!("no permission rule matches {} (mode: {mode})", parts.join(", "))
            }
            _mixed => all().map(Verdict::own_reason).collect::<Vec<_>>().join("; "),
        }
    }

    /// The rules that together would allow the call and similar ones; empty if no rule can allow one of its parts.
    pub fn suggested_rules(&self) -> Vec<String> {
        let rules: Option<Vec<String>> =
            std::iter::once(self).chain(&self.others).map(|part| part.suggested_rule.clone()).collect();
        let mut all = Vec::new();
        for rule in rules.unwrap_or_default() {
            if !all.contains(&rule) {
                all.push(rule);
            }
        }
        all
    }

    /// The reason for this part alone.
    fn own_reason(&self) -> String {
        let part = &self.part;
        match &self.basis {
            VerdictBasis::Rule(rule) => format!("`{part}`: {rule}"),
            VerdictBasis::Possible(rule) => format!("`{part}` may match this rule: {rule}"),
            VerdictBasis::Mode(mode) => format!("no permission rule matches `{part}` (mode: {mode})"),
            VerdictBasis::Overruled(rule, mode) => {
                format!("`{part}`: mode {mode} forbids it and overrules {rule}")
            }
            VerdictBasis::ReadOnly => format!("`{part}` only reads, and stays in the workspace"),
            VerdictBasis::Outside if self.effect == RuleEffect::Deny => format!("`{part}` is outside the workspace"),
            VerdictBasis::Outside => format!("no permission rule matches `{part}`, which is outside the workspace"),
            VerdictBasis::Unclear(why) => format!("`{part}`: {why}"),
            VerdictBasis::Controls => format!("`{part}` reaches what controls Bosun itself, which no agent may do"),
            VerdictBasis::Private => {
                format!("`{part}` is on this machine or its network, or is not a public address, and no rule names it")
            }
            VerdictBasis::Hook(why) => format!("a hook asks for your decision about `{part}`: {why}"),
            VerdictBasis::AgentRole => format!("this agent does not have the tool `{part}`"),
        }
    }
}
