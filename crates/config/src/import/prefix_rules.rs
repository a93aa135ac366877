//! Codex's command rules, written in Starlark: `prefix_rule(pattern = ["git", ["pull", "fetch"]], decision = "allow")`.
//! Only calls with literal values are understood; the others are reported.

use protocol::RuleEffect;

/// Maximum number of commands that one rule may expand to.
const MAX_COMMANDS: usize = 64;

/// One rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PrefixRule {
    pub(super) decision: RuleEffect,
    /// Command prefixes, quoted as in Bosun's rules.
    pub(super) commands: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum StarlarkToken {
    Text(String),
    Word(String),
    Sign(char),
}

/// The rules of a file, in order; for a rule that is not understood, its line.
pub(super) fn read(text: &str) -> Vec<Result<PrefixRule, usize>> {
    let tokens = tokens(text);
    let mut rules = Vec::new();
    let mut at = 0;
    while let Some((token, line)) = tokens.get(at) {
        at += 1;
        if *token != StarlarkToken::Word("prefix_rule".into()) {
            continue;
        }
        let end = closing(&tokens, at);
        let call = tokens.get(at..end).unwrap_or_default();
        rules.push(rule(call).ok_or(*line));
        at = end;
    }
    rules
}

/// The end of the call that begins here.
fn closing(tokens: &[(StarlarkToken, usize)], from: usize) -> usize {
    let mut open = 0_usize;
    for (n, (token, _)) in tokens.iter().enumerate().skip(from) {
        match token {
            StarlarkToken::Sign('(' | '[') => open += 1,
            StarlarkToken::Sign(')' | ']') => open = open.saturating_sub(1),
            StarlarkToken::Sign(_) | StarlarkToken::Text(_) | StarlarkToken::Word(_) => {}
        }
        if open == 0 {
            return n + 1;
        }
    }
    tokens.len()
}

fn rule(call: &[(StarlarkToken, usize)]) -> Option<PrefixRule> {
    let tokens: Vec<&StarlarkToken> = call.iter().map(|(token, _)| token).collect();
    let value = |name: &str| {
        let at = tokens
            .windows(2)
            .position(|pair| matches!(pair, [StarlarkToken::Word(word), StarlarkToken::Sign('=')] if word == name));
        at.map(|at| tokens.get(at + 2..).unwrap_or_default())
    };
    let decision = match value("decision") {
        None => RuleEffect::Allow,
        Some([StarlarkToken::Text(word), ..]) => match word.as_str() {
            "allow" => RuleEffect::Allow,
            "prompt" => RuleEffect::Ask,
            "forbidden" => RuleEffect::Deny,
            _other => return None,
        },
        Some(_) => return None,
    };
    Some(PrefixRule { decision, commands: commands(value("pattern")?)? })
}

/// Expands a pattern to all its commands.
fn commands(tokens: &[&StarlarkToken]) -> Option<Vec<String>> {
    let (StarlarkToken::Sign('['), mut rest) = tokens.split_first().map(|(first, rest)| (*first, rest))? else {
        return None;
    };
    let mut all: Vec<Vec<String>> = vec![Vec::new()];
    loop {
        let (first, after) = rest.split_first()?;
        rest = after;
        let choices = match first {
            StarlarkToken::Sign(']') => break,
            StarlarkToken::Sign(',') => continue,
            StarlarkToken::Text(text) => vec![text.clone()],
            StarlarkToken::Sign('[') => {
                let end = rest.iter().position(|token| **token == StarlarkToken::Sign(']'))?;
                let (inner, after) = rest.split_at(end);
                rest = after.get(1..)?;
                texts(inner)?
            }
            StarlarkToken::Sign(_) | StarlarkToken::Word(_) => return None,
        };
        let longer = |words: &Vec<String>| {
            choices.iter().map(|choice| words.iter().cloned().chain([choice.clone()]).collect()).collect::<Vec<_>>()
        };
        all = all.iter().flat_map(longer).collect();
        if all.len() > MAX_COMMANDS {
            return None;
        }
    }
    let is_empty = all.iter().any(Vec::is_empty);
    let typed = |words: Vec<String>| words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
    (!is_empty).then(|| all.into_iter().map(typed).collect())
}

fn texts(tokens: &[&StarlarkToken]) -> Option<Vec<String>> {
    let text = |token: &&&StarlarkToken| match token {
        StarlarkToken::Text(text) => Some(Some(text.clone())),
        StarlarkToken::Sign(',') => Some(None),
        StarlarkToken::Sign(_) | StarlarkToken::Word(_) => None,
    };
    let all: Option<Vec<Option<String>>> = tokens.iter().map(|token| text(&token)).collect();
    all.map(|all| all.into_iter().flatten().collect())
}

/// Quotes a word so that a rule matches it literally.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=+@%,:".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// The words, strings and signs of a file, each with its line, without comments.
fn tokens(text: &str) -> Vec<(StarlarkToken, usize)> {
    let mut tokens = Vec::new();
    let mut line = 1;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\n' => line += 1,
            '#' => while chars.next_if(|next| *next != '\n').is_some() {},
            '"' | '\'' => {
                let mut word = String::new();
                while let Some(next) = chars.next().filter(|next| *next != c && *next != '\n') {
                    word.push(if next == '\\' { chars.next().unwrap_or('\\') } else { next });
                }
                tokens.push((StarlarkToken::Text(word), line));
            }
            c if c.is_alphanumeric() || c == '_' => {
                let mut word = String::from(c);
                while let Some(next) = chars.next_if(|next| next.is_alphanumeric() || *next == '_') {
                    word.push(next);
                }
                tokens.push((StarlarkToken::Word(word), line));
            }
            c if c.is_whitespace() => {}
            c => tokens.push((StarlarkToken::Sign(c), line)),
        }
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(decision: RuleEffect, commands: &[&str]) -> Result<PrefixRule, usize> {
        Ok(PrefixRule { decision, commands: commands.iter().map(|text| (*text).to_owned()).collect() })
    }

    #[test]
    fn rules_are_read_with_their_choices_and_others_are_named_by_their_line() {
        let text = r#"# mine
prefix_rule(pattern=["git", "status"], decision="allow")
prefix_rule(
    pattern = ["gh", "pr", ["view", "list"]], # two
    decision = "prompt",
    match = ["gh pr view 7"],
)
prefix_rule(pattern = ["rm", "a b"], decision = "forbidden")
prefix_rule(pattern = ["ls"])
prefix_rule(pattern = NAMES, decision = "allow")
prefix_rule(pattern = ["ls"], decision = "sometimes")
prefix_rule(pattern = [], decision = "allow")
"#;
        let wanted = [
            one(RuleEffect::Allow, &["git status"]),
            one(RuleEffect::Ask, &["gh pr view", "gh pr list"]),
            one(RuleEffect::Deny, &["rm 'a b'"]),
            one(RuleEffect::Allow, &["ls"]),
            Err(10),
            Err(11),
            Err(12),
        ];
        assert_eq!(read(text), wanted);
        for hostile in ["prefix_rule(", "prefix_rule(pattern=[", "prefix_rule(pattern=['", "((((", "prefix_rule"] {
            assert!(read(hostile).iter().all(Result::is_err), "{hostile}");
        }
    }
}
