//! Deciding about one part of a call: rules first, deny over ask over allow, then the mode.

mod fetch;
mod file;
mod shell;

use file::FileUse;
use protocol::{PermissionMode, RuleEffect};

use crate::pattern::RuleMatch;
use crate::request::RequestPart;
use crate::rule::Rule;
use crate::{Policy, RequestedAct, RuleSource, Verdict, VerdictBasis, suggest};

/// How many bytes of a part people are shown.
const MAX_SHOWN_BYTES: usize = 300;

/// What becomes of a part that no rule speaks of.
#[derive(Debug)]
struct DefaultDecision {
    effect: RuleEffect,
    basis: VerdictBasis,
}

impl Policy {
    /// The verdicts on everything that an act would do.
    pub(crate) fn judge(&self, tool: &str, act: &RequestedAct) -> Vec<Verdict> {
        match act {
            RequestedAct::Read(path) => vec![self.file(tool, path, FileUse::Read)],
            RequestedAct::Edit(path) => vec![self.file(tool, path, FileUse::Edit)],
            RequestedAct::Shell { command, cwd, facts: seen } => self.shell(tool, command, cwd, *seen),
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

    fn decide(&self, tool: &str, part: &RequestPart<'_>, named: String, otherwise: DefaultDecision) -> Verdict {
        let found = MatchingRules::new(self, tool, part);
        // Whoever plans wants nothing changed, whatever rules allow at other times.
        let firm = self.mode == PermissionMode::Plan && part.may_change();
        let (effect, ground) = if firm { found.overrule(otherwise, self.mode) } else { found.weigh(otherwise) };
        let helps = match &ground {
            VerdictBasis::Mode(_) | VerdictBasis::Outside | VerdictBasis::Unclear(_) | VerdictBasis::Private => {
                effect != RuleEffect::Allow && !firm && found.first(RuleEffect::Ask, RuleMatch::Certain).is_none()
            }
            VerdictBasis::Rule(_)
            | VerdictBasis::Possible(_)
            | VerdictBasis::Overruled(..)
            | VerdictBasis::ReadOnly
            | VerdictBasis::Controls
            | VerdictBasis::AgentRole
            | VerdictBasis::Hook(_) => false,
        };
        let rule = if helps { suggest::suggest_rule(self, tool, part) } else { None };
        Verdict { effect, basis: ground, part: named, rule, others: Vec::new() }
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

    /// A session's own state is its agent's to use.
    fn session(&self) -> DefaultDecision {
        DefaultDecision { effect: RuleEffect::Allow, basis: VerdictBasis::Mode(self.mode) }
    }
}

/// The rules that speak of a part.
struct MatchingRules<'a>(Vec<(RuleMatch, &'a Rule)>);

impl<'a> MatchingRules<'a> {
    fn new(policy: &'a Policy, tool: &str, part: &RequestPart<'_>) -> MatchingRules<'a> {
        let place = policy.pattern_base();
        let rules = file::built_in().iter().chain(&policy.rules);
        let found = rules.map(|rule| (rule.matches(tool, part, &place), rule));
        // What only might touch git's own folder is nothing to ask about.
        let counts = |(how, rule): &(RuleMatch, &Rule)| {
            *how != RuleMatch::No && (*how, &rule.source) != (RuleMatch::Possible, &RuleSource::BuiltIn)
        };
        MatchingRules(found.filter(counts).collect())
    }

    /// What the rules make of a part, all of them together.
    fn weigh(&self, otherwise: DefaultDecision) -> (RuleEffect, VerdictBasis) {
        let exact = self.first(RuleEffect::Allow, RuleMatch::Exact);
        let exactly = exact.is_some();
        let allowed = exact.or_else(|| self.first(RuleEffect::Allow, RuleMatch::Certain));
        let (effect, ground) = self.forbid(match allowed {
            Some(rule) => DefaultDecision { effect: RuleEffect::Allow, basis: VerdictBasis::Rule(rule) },
            None => otherwise,
        });
        let decided = match (&ground, effect) {
            (VerdictBasis::Rule(_), RuleEffect::Ask | RuleEffect::Deny) | (_, RuleEffect::Deny) => true,
            (VerdictBasis::Unclear(_), _) => effect == RuleEffect::Ask,
            (_, RuleEffect::Allow | RuleEffect::Ask) => exactly,
        };
        if decided {
            return (effect, ground);
        }
        let possible = self.first(RuleEffect::Deny, RuleMatch::Possible);
        let possible = possible.or_else(|| self.first(RuleEffect::Ask, RuleMatch::Possible));
        possible.map_or((effect, ground), |rule| (RuleEffect::Ask, VerdictBasis::Possible(rule)))
    }

    /// What becomes of a part in a mode that no allow rule lifts.
    fn overrule(&self, otherwise: DefaultDecision, mode: PermissionMode) -> (RuleEffect, VerdictBasis) {
        let allowed = self.first(RuleEffect::Allow, RuleMatch::Certain);
        match (self.forbid(otherwise), allowed) {
            ((RuleEffect::Deny, VerdictBasis::Mode(_)), Some(rule)) => {
                (RuleEffect::Deny, VerdictBasis::Overruled(rule, mode))
            }
            (decided, _) => decided,
        }
    }

    /// What deny and ask rules that certainly match make of it. To ask is no weaker than what would be otherwise.
    fn forbid(&self, DefaultDecision { effect, basis: ground }: DefaultDecision) -> (RuleEffect, VerdictBasis) {
        if let Some(rule) = self.first(RuleEffect::Deny, RuleMatch::Certain) {
            return (RuleEffect::Deny, VerdictBasis::Rule(rule));
        }
        let asked = self.first(RuleEffect::Ask, RuleMatch::Certain).filter(|_| effect != RuleEffect::Deny);
        asked.map_or((effect, ground), |rule| (RuleEffect::Ask, VerdictBasis::Rule(rule)))
    }

    /// The one to name: of the strongest source, and the first of that.
    fn first(&self, effect: RuleEffect, least: RuleMatch) -> Option<Box<Rule>> {
        let fits = |(how, rule): &&(RuleMatch, &Rule)| *how >= least && rule.effect == effect;
        self.0.iter().filter(fits).min_by_key(|(_, rule)| &rule.source).map(|(_, rule)| Box::new((*rule).clone()))
    }
}

/// What controls Bosun is out of reach.
fn deny_control(part: String) -> Verdict {
    Verdict { effect: RuleEffect::Deny, basis: VerdictBasis::Controls, part, rule: None, others: Vec::new() }
}
