//! The share of every request that agent descriptions take.

use std::fmt;

use protocol::AgentSpec;

/// How many of the largest descriptions the warning names.
const MAX_AGENTS_NAMED: usize = 5;

/// Approximate number of characters in a token.
const CHARS_PER_TOKEN: usize = 4;

/// Agent descriptions that together exceed the recommended length.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DescriptionOverflow {
    /// Total length, in characters.
    pub total: usize,
    /// Recommended maximum, in characters.
    pub threshold: usize,
    /// The agents with the largest descriptions, and the length of each.
    pub largest: Vec<(String, usize)>,
}

impl DescriptionOverflow {
    /// Measures the descriptions that a model sees; returns `None` if they are within the threshold.
    pub fn measure<'a>(
        agents: impl IntoIterator<Item = &'a AgentSpec>,
        threshold: usize,
    ) -> Option<DescriptionOverflow> {
        let invocable = agents.into_iter().filter(|agent| agent.model_invocable);
        let mut largest: Vec<(String, usize)> =
            invocable.map(|agent| (agent.name.clone(), agent.description.chars().count())).collect();
        let total = largest.iter().map(|(_, size)| size).sum();
        largest.sort_by(|(one, a), (other, b)| b.cmp(a).then_with(|| one.cmp(other)));
        largest.truncate(MAX_AGENTS_NAMED);
        (total > threshold).then_some(DescriptionOverflow { total, threshold, largest })
    }
}

impl fmt::Display for DescriptionOverflow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tokens = |characters: usize| characters.div_ceil(CHARS_PER_TOKEN);
        let largest: Vec<String> =
            self.largest.iter().map(|(name, size)| format!("{name} ({})", tokens(*size))).collect();
        write!(
            f,
            "agent descriptions take about {} tokens of every request, more than the recommended {}; the largest: {}",
            tokens(self.total),
            tokens(self.threshold),
            largest.join(", ")
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overflow_is_measured_and_names_the_largest() {
        let agent = |name: &str, length: usize, model_invocable| AgentSpec {
            name: name.into(),
            description: "é".repeat(length),
            model_invocable,
            ..AgentSpec::default()
        };
        let agents = [agent("small", 40, true), agent("big", 400, true), agent("hidden", 9_000, false)];
        assert_eq!(DescriptionOverflow::measure(&agents, 440), None);
        let overflow = DescriptionOverflow::measure(&agents, 400).unwrap();
        assert_eq!((overflow.total, overflow.largest[0].0.as_str()), (440, "big"));
        assert_eq!(
            overflow.to_string(),
            "agent descriptions take about 110 tokens of every request, more than the recommended 100; the largest: \
             big (100), small (10)"
        );
    }
}
