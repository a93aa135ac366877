//! Decides about one part of a call: first rules, with deny over ask over allow, then the mode.

mod fetch;
mod file;
mod shell;

use file::FileUse;
use protocol::{PermissionMode, RuleEffect};

use crate::pattern::RuleMatch;
use crate::request::RequestPart;
use crate::rule::Rule;
use crate::{Policy, RequestedAct, RuleSource, Verdict, VerdictBasis, suggest};

/// Maximum length of a part shown to people, in bytes.
const MAX_SHOWN_BYTES: usize = 300;

/// The decision about a part that no rule matches.
#[derive(Debug)]
struct DefaultDecision {
    effect: RuleEffect,
    basis: VerdictBasis,
}

impl Policy {
    /// Returns the verdicts on everything that an act would do.
    pub(crate) fn judge_act(&self, tool: &str, act: &RequestedAct) -> Vec<Verdict> {
        match act {
            RequestedAct::Read(path) => vec![self.judge_file(tool, path, FileUse::Read)],
            RequestedAct::Edit(path) => vec![self.judge_file(tool, path, FileUse::Edit)],
            RequestedAct::Shell { command, cwd, facts } => self.judge_shell(tool, command, cwd, *facts),
            RequestedAct::Fetch(address) => vec![self.judge_fetch(tool, address)],
            RequestedAct::Agent(name) => {
                vec![self.decide(tool, &RequestPart::Agent(name), name.clone(), self.session_default())]
            }
            RequestedAct::Session => {
                vec![self.decide(tool, &RequestPart::Other, tool.to_owned(), self.session_default())]
            }
            RequestedAct::Other => {
                vec![self.decide(tool, &RequestPart::Other, tool.to_owned(), self.default_by_mode(&RequestPart::Other))]
            }
        }
    }

    fn decide(&self, tool: &str, part: &RequestPart<'_>, shown: String, default: DefaultDecision) -> Verdict {
        let matching = MatchingRules::new(self, tool, part);
        // In plan mode nothing may change, even if rules allow it in other modes.
        let mode_overrides = self.mode == PermissionMode::Plan && part.may_change();
        let (effect, basis) = if mode_overrides {
            matching.combine_ignoring_allow(default, self.mode)
        } else {
            matching.combine_with(default)
        };
        let suggests = match &basis {
            VerdictBasis::Mode(_) | VerdictBasis::Outside | VerdictBasis::Unclear(_) | VerdictBasis::Private => {
                effect != RuleEffect::Allow
                    && !mode_overrides
                    && matching.strongest(RuleEffect::Ask, RuleMatch::Certain).is_none()
            }
            VerdictBasis::Rule(_)
            | VerdictBasis::Possible(_)
            | VerdictBasis::Overruled(..)
            | VerdictBasis::ReadOnly
            | VerdictBasis::Controls
            | VerdictBasis::AgentRole
            | VerdictBasis::Hook(_) => false,
        };
        let rule = if suggests { suggest::suggest_rule(self, tool, part) } else { None };
        Verdict { effect, basis, part: shown, suggested_rule: rule, others: Vec::new() }
    }

    fn default_by_mode(&self, part: &RequestPart<'_>) -> DefaultDecision {
        let effect = match (self.mode, part) {
            (
                PermissionMode::Default | PermissionMode::AcceptEdits | PermissionMode::Plan,
                RequestPart::ReadOnlyCommand(..) | RequestPart::Read(_) | RequestPart::ReadUnknown,
            ) if self.asks_reads => RuleEffect::Ask,
            (PermissionMode::AllowAll, _)
            | (_, RequestPart::ReadOnlyCommand(..) | RequestPart::Read(_) | RequestPart::ReadUnknown) => {
                RuleEffect::Allow
            }
            (PermissionMode::AcceptEdits, RequestPart::Edit(_)) => RuleEffect::Allow,
            (PermissionMode::Plan, RequestPart::Other) => RuleEffect::Deny,
            (PermissionMode::Plan, part) if part.may_change() => RuleEffect::Deny,
            (
                PermissionMode::Default | PermissionMode::AcceptEdits | PermissionMode::Plan,
                RequestPart::Edit(_)
                | RequestPart::EditUnknown
                | RequestPart::Command(..)
                | RequestPart::Unparsed
                | RequestPart::Fetch(_)
                | RequestPart::Agent(_)
                | RequestPart::Other,
            ) => RuleEffect::Ask,
        };
        DefaultDecision { effect, basis: VerdictBasis::Mode(self.mode) }
    }

    /// The default for the session's own state, which an agent may use.
    fn session_default(&self) -> DefaultDecision {
        DefaultDecision { effect: RuleEffect::Allow, basis: VerdictBasis::Mode(self.mode) }
    }
}

/// The rules that match a part.
struct MatchingRules<'a>(Vec<(RuleMatch, &'a Rule)>);

impl<'a> MatchingRules<'a> {
    fn new(policy: &'a Policy, tool: &str, part: &RequestPart<'_>) -> MatchingRules<'a> {
        let base = policy.pattern_base();
        let rules = file::built_in_rules().iter().chain(&policy.rules);
        let matches = rules.map(|rule| (rule.matches(tool, part, &base), rule));
        // A built-in rule that only might match is not a reason to ask.
        let counts = |(rule_match, rule): &(RuleMatch, &Rule)| {
            *rule_match != RuleMatch::No && (*rule_match, &rule.source) != (RuleMatch::Possible, &RuleSource::BuiltIn)
        };
        MatchingRules(matches.filter(counts).collect())
    }

    /// Combines all matching rules with the default.
    fn combine_with(&self, default: DefaultDecision) -> (RuleEffect, VerdictBasis) {
        let exact = self.strongest(RuleEffect::Allow, RuleMatch::Exact);
        let is_exact = exact.is_some();
        let allow_rule = exact.or_else(|| self.strongest(RuleEffect::Allow, RuleMatch::Certain));
        let (effect, basis) = self.apply_deny_and_ask(match allow_rule {
            Some(rule) => DefaultDecision { effect: RuleEffect::Allow, basis: VerdictBasis::Rule(rule) },
            None => default,
        });
        let is_final = match (&basis, effect) {
            (VerdictBasis::Rule(_), RuleEffect::Ask | RuleEffect::Deny) | (_, RuleEffect::Deny) => true,
            (VerdictBasis::Unclear(_), _) => effect == RuleEffect::Ask,
            (_, RuleEffect::Allow | RuleEffect::Ask) => is_exact,
        };
        if is_final {
            return (effect, basis);
        }
        let possible = self.strongest(RuleEffect::Deny, RuleMatch::Possible);
        let possible = possible.or_else(|| self.strongest(RuleEffect::Ask, RuleMatch::Possible));
        possible.map_or((effect, basis), |rule| (RuleEffect::Ask, VerdictBasis::Possible(rule)))
    }

    /// Decides in a mode that no allow rule can override.
    fn combine_ignoring_allow(&self, default: DefaultDecision, mode: PermissionMode) -> (RuleEffect, VerdictBasis) {
        let allow_rule = self.strongest(RuleEffect::Allow, RuleMatch::Certain);
        match (self.apply_deny_and_ask(default), allow_rule) {
            ((RuleEffect::Deny, VerdictBasis::Mode(_)), Some(rule)) => {
                (RuleEffect::Deny, VerdictBasis::Overruled(rule, mode))
            }
            (decided, _) => decided,
        }
    }

    /// Applies deny and ask rules that certainly match. An ask rule never weakens a denial.
    fn apply_deny_and_ask(&self, DefaultDecision { effect, basis }: DefaultDecision) -> (RuleEffect, VerdictBasis) {
        if let Some(rule) = self.strongest(RuleEffect::Deny, RuleMatch::Certain) {
            return (RuleEffect::Deny, VerdictBasis::Rule(rule));
        }
        let ask_rule = self.strongest(RuleEffect::Ask, RuleMatch::Certain).filter(|_| effect != RuleEffect::Deny);
        ask_rule.map_or((effect, basis), |rule| (RuleEffect::Ask, VerdictBasis::Rule(rule)))
    }

    /// The first rule from the strongest source that has this effect and matches at least this well.
    fn strongest(&self, effect: RuleEffect, at_least: RuleMatch) -> Option<Box<Rule>> {
        let fits = |(rule_match, rule): &&(RuleMatch, &Rule)| *rule_match >= at_least && rule.effect == effect;
        self.0.iter().filter(fits).min_by_key(|(_, rule)| &rule.source).map(|(_, rule)| Box::new((*rule).clone()))
    }
}

/// Denies access to a control.
fn deny_control(part: String) -> Verdict {
    Verdict { effect: RuleEffect::Deny, basis: VerdictBasis::Controls, part, suggested_rule: None, others: Vec::new() }
}
