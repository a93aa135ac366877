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
    pub(crate) fn judge(&self, tool: &str, act: &RequestedAct) -> Vec<Verdict> {
        match act {
            RequestedAct::Read(path) => vec![self.file(tool, path, FileUse::Read)],
            RequestedAct::Edit(path) => vec![self.file(tool, path, FileUse::Edit)],
            RequestedAct::Shell { command, cwd, facts } => self.shell(tool, command, cwd, *facts),
            RequestedAct::Fetch(address) => vec![self.fetch(tool, address)],
            RequestedAct::Agent(name) => {
                vec![self.decide(tool, &RequestPart::Agent(name), name.clone(), self.session())]
            }
            RequestedAct::Session => vec![self.decide(tool, &RequestPart::Other, tool.to_owned(), self.session())],
            RequestedAct::Other => {
                vec![self.decide(tool, &RequestPart::Other, tool.to_owned(), self.by_mode(&RequestPart::Other))]
            }
        }
    }

    fn decide(&self, tool: &str, part: &RequestPart<'_>, shown: String, default: DefaultDecision) -> Verdict {
        let found = MatchingRules::new(self, tool, part);
        // Plan mode changes nothing, even if rules allow it in other modes.
        let overrides = self.mode == PermissionMode::Plan && part.may_change();
        let (effect, basis) = if overrides { found.overrule(default, self.mode) } else { found.weigh(default) };
        let suggests = match &basis {
            VerdictBasis::Mode(_) | VerdictBasis::Outside | VerdictBasis::Unclear(_) | VerdictBasis::Private => {
                effect != RuleEffect::Allow && !overrides && found.first(RuleEffect::Ask, RuleMatch::Certain).is_none()
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
        Verdict { effect, basis, part: shown, rule, others: Vec::new() }
    }

    fn by_mode(&self, part: &RequestPart<'_>) -> DefaultDecision {
        let effect = match (self.mode, part) {
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

    /// An agent may use its session's own state.
    fn session(&self) -> DefaultDecision {
        DefaultDecision { effect: RuleEffect::Allow, basis: VerdictBasis::Mode(self.mode) }
    }
}

/// The rules that match a part.
struct MatchingRules<'a>(Vec<(RuleMatch, &'a Rule)>);

impl<'a> MatchingRules<'a> {
    fn new(policy: &'a Policy, tool: &str, part: &RequestPart<'_>) -> MatchingRules<'a> {
        let place = policy.pattern_base();
        let rules = file::built_in().iter().chain(&policy.rules);
        let found = rules.map(|rule| (rule.matches(tool, part, &place), rule));
        // A built-in rule that only might match is not a reason to ask.
        let counts = |(how, rule): &(RuleMatch, &Rule)| {
            *how != RuleMatch::No && (*how, &rule.source) != (RuleMatch::Possible, &RuleSource::BuiltIn)
        };
        MatchingRules(found.filter(counts).collect())
    }

    /// Combines all matching rules with the default.
    fn weigh(&self, default: DefaultDecision) -> (RuleEffect, VerdictBasis) {
        let exact = self.first(RuleEffect::Allow, RuleMatch::Exact);
        let exactly = exact.is_some();
        let allowed = exact.or_else(|| self.first(RuleEffect::Allow, RuleMatch::Certain));
        let (effect, basis) = self.forbid(match allowed {
            Some(rule) => DefaultDecision { effect: RuleEffect::Allow, basis: VerdictBasis::Rule(rule) },
            None => default,
        });
        let decided = match (&basis, effect) {
            (VerdictBasis::Rule(_), RuleEffect::Ask | RuleEffect::Deny) | (_, RuleEffect::Deny) => true,
            (VerdictBasis::Unclear(_), _) => effect == RuleEffect::Ask,
            (_, RuleEffect::Allow | RuleEffect::Ask) => exactly,
        };
        if decided {
            return (effect, basis);
        }
        let possible = self.first(RuleEffect::Deny, RuleMatch::Possible);
        let possible = possible.or_else(|| self.first(RuleEffect::Ask, RuleMatch::Possible));
        possible.map_or((effect, basis), |rule| (RuleEffect::Ask, VerdictBasis::Possible(rule)))
    }

    /// Decides in a mode that no allow rule can override.
    fn overrule(&self, default: DefaultDecision, mode: PermissionMode) -> (RuleEffect, VerdictBasis) {
        let allowed = self.first(RuleEffect::Allow, RuleMatch::Certain);
        match (self.forbid(default), allowed) {
            ((RuleEffect::Deny, VerdictBasis::Mode(_)), Some(rule)) => {
                (RuleEffect::Deny, VerdictBasis::Overruled(rule, mode))
            }
            (decided, _) => decided,
        }
    }

    /// Applies deny and ask rules that certainly match. An ask rule never weakens a denial.
    fn forbid(&self, DefaultDecision { effect, basis }: DefaultDecision) -> (RuleEffect, VerdictBasis) {
        if let Some(rule) = self.first(RuleEffect::Deny, RuleMatch::Certain) {
            return (RuleEffect::Deny, VerdictBasis::Rule(rule));
        }
        let asked = self.first(RuleEffect::Ask, RuleMatch::Certain).filter(|_| effect != RuleEffect::Deny);
        asked.map_or((effect, basis), |rule| (RuleEffect::Ask, VerdictBasis::Rule(rule)))
    }

    /// The first matching rule from the strongest source.
    fn first(&self, effect: RuleEffect, least: RuleMatch) -> Option<Box<Rule>> {
        let fits = |(how, rule): &&(RuleMatch, &Rule)| *how >= least && rule.effect == effect;
        self.0.iter().filter(fits).min_by_key(|(_, rule)| &rule.source).map(|(_, rule)| Box::new((*rule).clone()))
    }
}

/// Denies access to a control.
fn deny_control(part: String) -> Verdict {
    Verdict { effect: RuleEffect::Deny, basis: VerdictBasis::Controls, part, rule: None, others: Vec::new() }
}
