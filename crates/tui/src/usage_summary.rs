//! The total usage and cost of a session.

use std::collections::BTreeSet;

use client::TaskSpending;
use protocol::Usage;
use protocol::api::SessionView;
use serde::Serialize;

use crate::money::Money;
use crate::print;

/// The total usage and cost of a session.
#[derive(Debug)]
pub struct SessionUsageSummary {
    /// The session.
    pub view: SessionView,
    /// Its models.
    pub models: UsedModels,
    estimated: EstimatedTokens,
}

/// Tokens that no server reported.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct EstimatedTokens {
    /// Of answered turns whose server reports no usage.
    unreported: u64,
    /// Of requests without an answer.
    unanswered: u64,
}

/// The models that were used.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UsedModels {
    /// The requested names.
    asked: BTreeSet<String>,
    /// The names their providers reported.
    answered: BTreeSet<String>,
}

impl SessionUsageSummary {
    /// The usage of a session with these turns.
    pub fn new(view: SessionView, spendings: Vec<TaskSpending>) -> SessionUsageSummary {
        let estimated = EstimatedTokens {
            unreported: spendings.iter().map(TaskSpending::unreported_tokens).sum(),
            unanswered: spendings.iter().map(TaskSpending::unanswered_tokens).sum(),
        };
        let mut models = UsedModels::default();
        for spending in spendings {
            models.asked.insert(spending.requested_model);
            models.answered.extend(spending.reported_model);
        }
        SessionUsageSummary { view, models, estimated }
    }

    /// The number of turns.
    pub fn turns(&self) -> u64 {
        self.view.turns
    }

    /// The tokens.
    pub fn usage(&self) -> Usage {
        self.view.usage
    }

    /// The cost, if every model has a price.
    pub fn cost(&self) -> Money {
        Money::new(self.view.spent.micros, self.view.priced)
    }

    /// The totals in one line. Scripts and recordings cost nothing, so they have none unless there is a budget.
    pub fn summary_line(&self) -> Option<String> {
        let SessionView { model, budget, turns, usage, .. } = &self.view;
        let is_free = model.split_once('/').is_some_and(|(provider, _)| protocol::is_file_provider(provider));
        if is_free && budget.tokens.is_none() && budget.micros.is_none() {
            return None;
        }
        let model =
            if self.models.asked.is_empty() { protocol::model_display_name(model) } else { self.models.describe() };
        let cost = match self.cost() {
            Money::Known(0) if *turns > 0 => "none".to_owned(),
            cost => cost.to_string(),
        };
        let turns = print::pluralize(usize::try_from(*turns).unwrap_or(usize::MAX), "turn");
        let mut line = format!("{turns}; {}; cost: {cost}; model: {model}", describe_tokens(*usage, self.estimated));
        if self.estimated.unanswered > 0 {
            let unanswered = self.estimated.unanswered;
            line += &format!("; {unanswered} more tokens are counted for requests without an answer");
        }
        Some(print::sanitize(&line))
    }
}

/// The tokens of answered turns.
fn describe_tokens(usage: Usage, estimated: EstimatedTokens) -> String {
    const ESTIMATED: &str = "(estimated; the server reports none)";
    let Usage { input, output, cache_read, cache_write } = usage;
    let reported = format!("tokens: {input} in, {cache_read} from cache, {cache_write} to cache, {output} out");
    match (usage.total(), estimated.unreported) {
        (_, 0) => reported,
        (0, tokens) => format!("about {tokens} tokens {ESTIMATED}"),
        (_, tokens) => format!("{reported}, and about {tokens} more {ESTIMATED}"),
    }
}

impl UsedModels {
    fn describe(&self) -> String {
        let join = |names: Vec<&str>| names.join(", ");
        let asked = join(self.asked.iter().map(String::as_str).collect());
        let is_asked =
            |name: &str| self.asked.iter().any(|asked| asked.split_once('/').is_some_and(|(_, model)| model == name));
        let others: Vec<&str> = self
            .answered
            .iter()
            .map(String::as_str)
            .filter(|name| !is_asked(name) && !self.asked.contains(*name))
            .collect();
        if others.is_empty() { asked } else { format!("{asked} ({} answered)", join(others)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_that_the_server_does_not_report_are_called_estimated() {
        let described = |usage, unreported| describe_tokens(usage, EstimatedTokens { unreported, unanswered: 9 });
        let usage = Usage { input: 7, output: 2, ..Usage::default() };
        assert_eq!(described(usage, 0), "tokens: 7 in, 0 from cache, 0 to cache, 2 out");
        let estimated = described(Usage::default(), 6523);
        assert_eq!(estimated, "about 6523 tokens (estimated; the server reports none)");
        assert!(described(usage, 50).ends_with("2 out, and about 50 more (estimated; the server reports none)"));
    }

    #[test]
    fn different_answering_model_is_named() {
        let described = |asked: &[&str], answered: &[&str]| {
            let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
            UsedModels { asked: set(asked), answered: set(answered) }.describe()
        };
        assert_eq!(described(&["openai/gpt-5"], &["gpt-5"]), "openai/gpt-5");
        assert_eq!(described(&["openai/gpt-5"], &["gpt-5-2025-08-07"]), "openai/gpt-5 (gpt-5-2025-08-07 answered)");
        assert_eq!(described(&["script/a.yaml"], &["script/a.yaml"]), "script/a.yaml");
        assert_eq!(described(&["a/x", "b/y/z"], &["x", "y/z"]), "a/x, b/y/z");
    }
}
