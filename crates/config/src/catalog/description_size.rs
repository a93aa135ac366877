//! How much of every request the descriptions of agents take.

use std::fmt;

use protocol::AgentSpec;

/// How many of the largest descriptions are named.
const MAX_NAMED: usize = 5;

/// Characters that are about one token.
const PER_TOKEN: usize = 4;

/// Descriptions that together are longer than they should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DescriptionOverflow {
    /// Characters of all descriptions.
    pub total: usize,
    /// Characters that they should not exceed.
    pub threshold: usize,
    /// The largest, with their characters.
    pub largest: Vec<(String, usize)>,
}

impl DescriptionOverflow {
    /// Weighs what a model is told of the agents that it may start; none when that is not too much.
    pub fn of<'a>(agents: impl IntoIterator<Item = &'a AgentSpec>, threshold: usize) -> Option<DescriptionOverflow> {
        let told = agents.into_iter().filter(|agent| agent.model_invocable);
        let mut largest: Vec<(String, usize)> =
            told.map(|agent| (agent.name.clone(), agent.description.chars().count())).collect();
        let total = largest.iter().map(|(_, size)| size).sum();
        largest.sort_by(|(one, a), (other, b)| b.cmp(a).then_with(|| one.cmp(other)));
        largest.truncate(MAX_NAMED);
        (total > threshold).then_some(DescriptionOverflow { total, threshold, largest })
    }
}

impl fmt::Display for DescriptionOverflow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tokens = |characters: usize| characters.div_ceil(PER_TOKEN);
        let largest: Vec<String> =
            self.largest.iter().map(|(name, size)| format!("{name} ({})", tokens(*size))).collect();
        write!(
            f,
            "descriptions of agents take about {} tokens of every request, and should take {} at most; the largest: {}",
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
    fn long_descriptions_are_weighed_and_the_largest_named() {
        let agent = |name: &str, length: usize, model_invocable| AgentSpec {
            name: name.into(),
            description: "é".repeat(length),
            model_invocable,
            ..AgentSpec::default()
        };
        let agents = [agent("small", 40, true), agent("big", 400, true), agent("hidden", 9_000, false)];
        assert_eq!(DescriptionOverflow::of(&agents, 440), None);
        let pressure = DescriptionOverflow::of(&agents, 400).unwrap();
        assert_eq!((pressure.total, pressure.largest[0].0.as_str()), (440, "big"));
        assert_eq!(
            pressure.to_string(),
            "descriptions of agents take about 110 tokens of every request, and should take 100 at most; the largest: \
             big (100), small (10)"
        );
    }
}
