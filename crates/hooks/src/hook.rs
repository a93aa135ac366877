//! Hooks that are ready to run.

use std::collections::BTreeSet;

use protocol::{HookEvent, HookSpec};
use regex::Regex;

use crate::{HookAgent, HookEventData};

/// A hook with its compiled matcher.
#[derive(Debug, Clone)]
pub struct Hook {
    /// The hook as written.
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
    /// Compiles hooks. An invalid matcher, which the file reader would have refused, matches everything: better a hook
    /// that runs too often than a guard that sleeps.
    pub fn new(specs: impl IntoIterator<Item = HookSpec>) -> HookSet {
        let to_hook = |spec: HookSpec| {
            let pattern = spec.matcher.as_deref().map(compile_matcher);
            let matcher = match pattern {
                Some(Ok(Some(pattern))) => HookMatcher::Names(pattern),
                None | Some(Ok(None) | Err(_)) => HookMatcher::All,
            };
            Hook { spec, matcher }
        };
        let hooks: Vec<Hook> = specs.into_iter().map(to_hook).collect();
        let events = hooks.iter().map(|hook| hook.spec.event).collect();
        HookSet { hooks, events }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.hooks.is_empty()
    }

    /// Whether any hook subscribes to such an event.
    pub fn has_event(&self, event: HookEvent) -> bool {
        self.events.contains(&event)
    }

    /// The hooks that run on an event.
    pub fn matching(&self, event: HookEvent, data: &HookEventData, agent: &HookAgent<'_>) -> Vec<&Hook> {
        if !self.has_event(event) {
            return Vec::new();
        }
        let names = data.matcher_names(*agent);
        self.hooks.iter().filter(|hook| hook.spec.event == event && hook.matches(&names)).collect()
    }
}

impl Hook {
    fn matches(&self, names: &[&str]) -> bool {
        match &self.matcher {
            HookMatcher::All => true,
            // With nothing to match, every hook runs.
            HookMatcher::Names(_) if names.is_empty() => true,
            HookMatcher::Names(pattern) => names.iter().any(|name| pattern.is_match(name)),
        }
    }
}

/// Compiles a matcher to a pattern of whole names; `None` if it matches everything.
pub(crate) fn compile_matcher(matcher: &str) -> Result<Option<Regex>, regex::Error> {
    match matcher.trim() {
        "" | "*" => Ok(None),
        pattern => Regex::new(&format!("^(?:{pattern})$")).map(Some),
    }
}
