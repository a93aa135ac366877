//! Deciding about one part of a call: rules first, deny over ask over allow, then the mode.

mod fetch;
mod file;
mod shell;

use file::Use;
use protocol::{PermissionMode, RuleEffect};

use crate::pattern::Match;
use crate::request::Part;
use crate::rule::Rule;
use crate::{Act, Ground, Policy, Source, Verdict, suggest};

/// How many bytes of a part people are shown.
const SHOWN: usize = 300;

/// What becomes of a part that no rule speaks of.
#[derive(Debug)]
struct Otherwise {
    effect: RuleEffect,
    ground: Ground,
}

impl Policy {
    /// The verdicts on everything that an act would do.
    pub(crate) fn judge(&self, tool: &str, act: &Act) -> Vec<Verdict> {
        match act {
            Act::Read(path) => vec![self.file(tool, path, Use::Read)],
            Act::Edit(path) => vec![self.file(tool, path, Use::Edit)],
            Act::Shell { command, cwd, seen } => self.shell(tool, command, cwd, *seen),
            Act::Fetch(address) => vec![self.fetch(tool, address)],
            Act::Agent(name) => vec![self.decide(tool, &Part::Agent(name), name.clone(), self.session())],
            Act::Session => vec![self.decide(tool, &Part::Other, tool.to_owned(), self.session())],
            Act::Other => vec![self.decide(tool, &Part::Other, tool.to_owned(), self.by_mode(&Part::Other))],
        }
    }

    fn decide(&self, tool: &str, part: &Part<'_>, named: String, otherwise: Otherwise) -> Verdict {
        let found = Found::new(self, tool, part);
        // Whoever plans wants nothing changed, whatever rules allow at other times.
        let firm = self.mode == PermissionMode::Plan && part.changes();
        let (effect, ground) = if firm { found.overrule(otherwise, self.mode) } else { found.weigh(otherwise) };
        let helps = match &ground {
            Ground::Mode(_) | Ground::Outside | Ground::Unclear(_) | Ground::Private => {
                effect != RuleEffect::Allow && !firm && found.first(RuleEffect::Ask, Match::Certain).is_none()
            }
            Ground::Rule(_)
            | Ground::Possible(_)
            | Ground::Overruled(..)
            | Ground::ReadOnly
            | Ground::Controls
            | Ground::Role
            | Ground::Hook(_) => false,
        };
        let rule = if helps { suggest::rule(self, tool, part) } else { None };
        Verdict { effect, ground, part: named, rule, others: Vec::new() }
    }

    fn by_mode(&self, part: &Part<'_>) -> Otherwise {
        let effect = match (self.mode, part) {
            (PermissionMode::AllowAll, _) | (_, Part::Look(..) | Part::Read(_) | Part::ReadUnknown) => {
                RuleEffect::Allow
            }
            (PermissionMode::AcceptEdits, Part::Edit(_)) => RuleEffect::Allow,
            (PermissionMode::Plan, Part::Other) => RuleEffect::Deny,
            (PermissionMode::Plan, part) if part.changes() => RuleEffect::Deny,
            (
                PermissionMode::Default | PermissionMode::AcceptEdits | PermissionMode::Plan,
                Part::Edit(_)
                | Part::EditUnknown
                | Part::Command(..)
                | Part::Unread
                | Part::Page(_)
                | Part::Agent(_)
                | Part::Other,
            ) => RuleEffect::Ask,
        };
        Otherwise { effect, ground: Ground::Mode(self.mode) }
    }

    /// A session's own state is its agent's to use.
    fn session(&self) -> Otherwise {
        Otherwise { effect: RuleEffect::Allow, ground: Ground::Mode(self.mode) }
    }
}

/// The rules that speak of a part.
struct Found<'a>(Vec<(Match, &'a Rule)>);

impl<'a> Found<'a> {
    fn new(policy: &'a Policy, tool: &str, part: &Part<'_>) -> Found<'a> {
        let place = policy.place();
        let rules = file::built_in().iter().chain(&policy.rules);
        let found = rules.map(|rule| (rule.matches(tool, part, &place), rule));
        // What only might touch git's own folder is nothing to ask about.
        let counts = |(how, rule): &(Match, &Rule)| {
            *how != Match::No && (*how, &rule.source) != (Match::Possible, &Source::BuiltIn)
        };
        Found(found.filter(counts).collect())
    }

    /// What the rules make of a part, all of them together.
    fn weigh(&self, otherwise: Otherwise) -> (RuleEffect, Ground) {
        let exact = self.first(RuleEffect::Allow, Match::Exact);
        let exactly = exact.is_some();
        let allowed = exact.or_else(|| self.first(RuleEffect::Allow, Match::Certain));
        let (effect, ground) = self.forbid(match allowed {
            Some(rule) => Otherwise { effect: RuleEffect::Allow, ground: Ground::Rule(rule) },
            None => otherwise,
        });
        let decided = match (&ground, effect) {
            (Ground::Rule(_), RuleEffect::Ask | RuleEffect::Deny) | (_, RuleEffect::Deny) => true,
            (Ground::Unclear(_), _) => effect == RuleEffect::Ask,
            (_, RuleEffect::Allow | RuleEffect::Ask) => exactly,
        };
        if decided {
            return (effect, ground);
        }
        let possible = self.first(RuleEffect::Deny, Match::Possible);
        let possible = possible.or_else(|| self.first(RuleEffect::Ask, Match::Possible));
        possible.map_or((effect, ground), |rule| (RuleEffect::Ask, Ground::Possible(rule)))
    }

    /// What becomes of a part in a mode that no allow rule lifts.
    fn overrule(&self, otherwise: Otherwise, mode: PermissionMode) -> (RuleEffect, Ground) {
        let allowed = self.first(RuleEffect::Allow, Match::Certain);
        match (self.forbid(otherwise), allowed) {
            ((RuleEffect::Deny, Ground::Mode(_)), Some(rule)) => (RuleEffect::Deny, Ground::Overruled(rule, mode)),
            (decided, _) => decided,
        }
    }

    /// What deny and ask rules that certainly match make of it. To ask is no weaker than what would be otherwise.
    fn forbid(&self, Otherwise { effect, ground }: Otherwise) -> (RuleEffect, Ground) {
        if let Some(rule) = self.first(RuleEffect::Deny, Match::Certain) {
            return (RuleEffect::Deny, Ground::Rule(rule));
        }
        let asked = self.first(RuleEffect::Ask, Match::Certain).filter(|_| effect != RuleEffect::Deny);
        asked.map_or((effect, ground), |rule| (RuleEffect::Ask, Ground::Rule(rule)))
    }

    /// The one to name: of the strongest source, and the first of that.
    fn first(&self, effect: RuleEffect, least: Match) -> Option<Box<Rule>> {
        let fits = |(how, rule): &&(Match, &Rule)| *how >= least && rule.effect == effect;
        self.0.iter().filter(fits).min_by_key(|(_, rule)| &rule.source).map(|(_, rule)| Box::new((*rule).clone()))
    }
}

/// What controls Bosun is out of reach.
fn controlled(part: String) -> Verdict {
    Verdict { effect: RuleEffect::Deny, ground: Ground::Controls, part, rule: None, others: Vec::new() }
}
