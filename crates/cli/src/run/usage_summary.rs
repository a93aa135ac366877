//! The total usage and cost of a session.

use std::collections::BTreeSet;

use protocol::api::SessionView;
use protocol::{Cost, Timestamp, Usage};
use serde::Serialize;
use store::{SessionReader, StoreError};

use crate::money::Money;
use crate::{print, setup};

/// The total usage and cost of a session.
#[derive(Debug)]
pub(crate) struct SessionUsageSummary {
    pub(super) view: SessionView,
    pub(super) models: UsedModels,
    /// The cost counted for requests without an answer.
    unanswered_cost: Cost,
}

/// The models that were used.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct UsedModels {
    /// The requested names.
    asked: BTreeSet<String>,
    /// The names their providers reported.
    answered: BTreeSet<String>,
}

impl SessionUsageSummary {
    pub(crate) fn read(reader: &SessionReader) -> Result<SessionUsageSummary, StoreError> {
        let (view, spendings) = (reader.session_view()?, reader.spendings(Timestamp(0))?);
        let unanswered_cost = spendings.iter().fold(Cost::ZERO, |sum, spending| sum.plus(spending.lost));
        let mut models = UsedModels::default();
        for spending in spendings {
            models.asked.insert(spending.requested_model);
            models.answered.extend(spending.reported_model);
        }
        Ok(SessionUsageSummary { view, models, unanswered_cost })
    }

    pub(crate) fn turns(&self) -> u64 {
        self.view.turns
    }

    pub(crate) fn usage(&self) -> Usage {
        self.view.usage
    }

    pub(crate) fn cost(&self) -> Money {
        Money::new(self.view.spent.micros, self.view.priced)
    }

    /// The totals in one line. Scripts and recordings cost nothing, so they have none unless there is a budget.
    pub(crate) fn summary_line(&self) -> Option<String> {
        let SessionView { model, budget, turns, usage, .. } = &self.view;
        let is_free = model.split_once('/').is_some_and(|(provider, _)| setup::is_file_provider(provider));
        if is_free && budget.tokens.is_none() && budget.micros.is_none() {
            return None;
        }
        let mut line = format!(
            "{turns} {}; tokens: {} in, {} from cache, {} to cache, {} out; cost: {}; model: {}",
            if *turns == 1 { "turn" } else { "turns" },
            usage.input,
            usage.cache_read,
            usage.cache_write,
            usage.output,
            self.cost(),
            if self.models.asked.is_empty() { model.clone() } else { self.models.describe() }
        );
        if self.unanswered_cost.tokens > 0 {
            line +=
                &format!("; {} more tokens are counted for requests without an answer", self.unanswered_cost.tokens);
        }
        Some(print::sanitize(&line))
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
