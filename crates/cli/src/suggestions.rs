//! Suggestions for misspelt providers and commands.

use strsim::levenshtein as distance;

use crate::args;

/// The providers that do not take a file.
const PROVIDERS: [&str; 7] = ["anthropic", "openai", "openai-chat", "ollama", "llamacpp", "llama-server", "lmstudio"];

/// The maximum edit distance.
const MAX_DISTANCE: usize = 2;

/// A suggestion for a provider that does not exist, if there is one.
pub(crate) fn suggest_model(provider: &str) -> Option<String> {
    // A model name without its provider is the most common mistake.
    let maker = [("claude-", "anthropic"), ("gpt-", "openai")].into_iter().find(|(name, _)| provider.starts_with(name));
    if let Some((_, maker)) = maker {
        return Some(format!("name the model with its provider: --model {maker}/{provider}"));
    }
    let lower = provider.to_lowercase();
    let nearest = PROVIDERS.into_iter().map(|known| (distance(known, &lower), known)).min()?;
    (nearest.0 <= MAX_DISTANCE).then(|| format!("did you mean {}/…? `bosun models` lists its models", nearest.1))
}

/// The command that a misspelt word is probably meant to be.
pub(crate) fn suggest_command(word: &str) -> Option<String> {
    nearest_command(word, args::subcommand_names())
}

/// The `bosun fleet` command that a misspelt word is probably meant to be.
pub(crate) fn suggest_fleet_command(word: &str) -> Option<String> {
    nearest_command(word, args::fleet_subcommand_names())
}

fn nearest_command(word: &str, commands: Vec<String>) -> Option<String> {
    const MAX_LENGTH: usize = 24;
    if word.len() > MAX_LENGTH || word.contains(char::is_whitespace) {
        return None;
    }
    let nearest = commands.into_iter().map(|known| (distance(&known, word), known)).min()?;
    (1..=MAX_DISTANCE).contains(&nearest.0).then_some(nearest.1).filter(|command| command.len() > 2 * nearest.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_count_letters() {
        let pairs = [("", "abc", 3), ("ollama", "olama", 1), ("openai", "opneai", 2), ("kitten", "sitting", 3)];
        assert!(pairs.into_iter().all(|(one, other, steps)| distance(one, other) == steps));
    }

    #[test]
    fn only_similar_names_are_suggested() {
        assert!(suggest_model("antropic").unwrap().contains("did you mean anthropic/"));
        assert!(suggest_model("Ollama").unwrap().contains("ollama/"));
        assert!(suggest_model("gpt-5.5").unwrap().contains("--model openai/gpt-5.5"));
        assert!(suggest_model("claude-opus-5").unwrap().contains("--model anthropic/claude-opus-5"));
        assert_eq!(suggest_command("sesions").as_deref(), Some("sessions"));
        assert_eq!(suggest_command("doctr").as_deref(), Some("doctor"));
        assert_eq!(suggest_command("fix it"), None);
        assert_eq!(suggest_command("explainations"), None);
        assert_eq!(suggest_command("hi"), None);
        assert_eq!(suggest_fleet_command("stauts").as_deref(), Some("status"));
        assert_eq!(suggest_fleet_command("resum").as_deref(), Some("resume"));
        assert_eq!(suggest_fleet_command("parser"), None);
        assert_eq!(suggest_model("mistral"), None);
        assert_eq!(suggest_model(&"x".repeat(1_000_000)), None);
    }
}
