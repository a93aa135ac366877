//! What a person probably meant who named a provider or a command that does not exist.

use strsim::levenshtein as distance;

use crate::args;

/// The providers that need no file.
const PROVIDERS: [&str; 7] = ["anthropic", "openai", "openai-chat", "ollama", "llamacpp", "llama-server", "lmstudio"];

/// How many letters may be wrong.
const WRONG: usize = 2;

/// What to write instead, if that can be guessed.
pub(crate) fn model(provider: &str) -> Option<String> {
    // A model's name alone is the commonest mistake of all.
    let maker = [("claude-", "anthropic"), ("gpt-", "openai")].into_iter().find(|(name, _)| provider.starts_with(name));
    if let Some((_, maker)) = maker {
        return Some(format!("a model is named with its provider: --model {maker}/{provider}"));
    }
    let lower = provider.to_lowercase();
    let near = PROVIDERS.into_iter().map(|known| (distance(known, &lower), known)).min()?;
    (near.0 <= WRONG).then(|| format!("did you mean {}/…? `bosun models` lists what it serves", near.1))
}

/// The command that a single word is probably meant to be, though it is not spelt so.
pub(crate) fn command(word: &str) -> Option<String> {
    const LONGEST: usize = 24;
    if word.len() > LONGEST || word.contains(char::is_whitespace) {
        return None;
    }
    let near = args::commands().into_iter().map(|known| (distance(&known, word), known)).min()?;
    (1..=WRONG).contains(&near.0).then_some(near.1).filter(|command| command.len() > 2 * near.0)
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
    fn what_is_near_is_suggested_and_what_is_not_is_left_alone() {
        assert!(model("antropic").unwrap().contains("did you mean anthropic/"));
        assert!(model("Ollama").unwrap().contains("ollama/"));
        assert!(model("gpt-5.5").unwrap().contains("--model openai/gpt-5.5"));
        assert!(model("claude-opus-5").unwrap().contains("--model anthropic/claude-opus-5"));
        assert_eq!(command("sesions").as_deref(), Some("sessions"));
        assert_eq!(command("doctr").as_deref(), Some("doctor"));
        assert_eq!(command("fix it"), None);
        assert_eq!(command("explainations"), None);
        assert_eq!(command("hi"), None);
        assert_eq!(model("mistral"), None);
        assert_eq!(model(&"x".repeat(1_000_000)), None);
    }
}
