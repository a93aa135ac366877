//! Hooks that are ready to be asked.

use std::collections::BTreeSet;

use protocol::{HookEvent, HookSpec};
use regex::Regex;

use crate::{HookAgent, HookEventData};

/// A hook whose matcher is ready.
#[derive(Debug, Clone)]
pub struct Hook {
    /// The hook as it was written.
    pub spec: HookSpec,
    matcher: HookMatcher,
}

#[derive(Debug, Clone)]
enum HookMatcher {
    All,
    Names(Regex),
}

/// Hooks in the order they run.
#[derive(Debug, Clone, Default)]
pub struct HookSet {
    hooks: Vec<Hook>,
    events: BTreeSet<HookEvent>,
}

impl HookSet {
    /// Makes hooks ready. A matcher that is not a pattern, which reading a file would have refused, matches everything:
    /// better a hook too often than a guard that sleeps.
    pub fn new(specs: impl IntoIterator<Item = HookSpec>) -> HookSet {
        let ready = |spec: HookSpec| {
            let pattern = spec.matcher.as_deref().map(compile);
            let matcher = match pattern {
                Some(Ok(Some(pattern))) => HookMatcher::Names(pattern),
                None | Some(Ok(None) | Err(_)) => HookMatcher::All,
            };
            Hook { spec, matcher }
        };
        let hooks: Vec<Hook> = specs.into_iter().map(ready).collect();
        let events = hooks.iter().map(|hook| hook.spec.event).collect();
        HookSet { hooks, events }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.hooks.is_empty()
    }

    /// Whether any hook is told of such an event.
    pub fn has_event(&self, event: HookEvent) -> bool {
        self.events.contains(&event)
    }

    /// Those that are told of an occasion.
    pub fn matching(&self, event: HookEvent, occasion: &HookEventData, agent: &HookAgent<'_>) -> Vec<&Hook> {
        if !self.has_event(event) {
            return Vec::new();
        }
        let names = occasion.matcher_names(*agent);
        self.hooks.iter().filter(|hook| hook.spec.event == event && hook.matches(&names)).collect()
    }
}

impl Hook {
    fn matches(&self, names: &[&str]) -> bool {
        match &self.matcher {
            HookMatcher::All => true,
            // Where there is nothing to match, there is nothing to leave out.
            HookMatcher::Names(_) if names.is_empty() => true,
            HookMatcher::Names(pattern) => names.iter().any(|name| pattern.is_match(name)),
        }
    }
}

/// A matcher as a pattern of whole names; none when it matches everything.
pub(crate) fn compile(matcher: &str) -> Result<Option<Regex>, regex::Error> {
    match matcher.trim() {
        "" | "*" => Ok(None),
        pattern => Regex::new(&format!("^(?:{pattern})$")).map(Some),
    }
}
