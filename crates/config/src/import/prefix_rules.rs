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
    Symbol(char),
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
        let end = call_end(&tokens, at);
        let call = tokens.get(at..end).unwrap_or_default();
        rules.push(parse_rule(call).ok_or(*line));
        at = end;
    }
    rules
}

/// The end of the call that begins here.
fn call_end(tokens: &[(StarlarkToken, usize)], from: usize) -> usize {
    let mut open = 0_usize;
    for (n, (token, _)) in tokens.iter().enumerate().skip(from) {
        match token {
            StarlarkToken::Symbol('(' | '[') => open += 1,
            StarlarkToken::Symbol(')' | ']') => open = open.saturating_sub(1),
            StarlarkToken::Symbol(_) | StarlarkToken::Text(_) | StarlarkToken::Word(_) => {}
        }
        if open == 0 {
            return n + 1;
        }
    }
    tokens.len()
}

fn parse_rule(call: &[(StarlarkToken, usize)]) -> Option<PrefixRule> {
    let tokens: Vec<&StarlarkToken> = call.iter().map(|(token, _)| token).collect();
    let value = |name: &str| {
        let at = tokens
            .windows(2)
            .position(|pair| matches!(pair, [StarlarkToken::Word(word), StarlarkToken::Symbol('=')] if word == name));
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
    Some(PrefixRule { decision, commands: expand_commands(value("pattern")?)? })
}

/// Expands a pattern to all its commands.
fn expand_commands(tokens: &[&StarlarkToken]) -> Option<Vec<String>> {
    let (StarlarkToken::Symbol('['), mut rest) = tokens.split_first().map(|(first, rest)| (*first, rest))? else {
        return None;
    };
    let mut all: Vec<Vec<String>> = vec![Vec::new()];
    loop {
        let (first, after) = rest.split_first()?;
        rest = after;
        let choices = match first {
            StarlarkToken::Symbol(']') => break,
            StarlarkToken::Symbol(',') => continue,
            StarlarkToken::Text(text) => vec![text.clone()],
            StarlarkToken::Symbol('[') => {
                let end = rest.iter().position(|token| **token == StarlarkToken::Symbol(']'))?;
                let (inner, after) = rest.split_at(end);
                rest = after.get(1..)?;
                list_of_texts(inner)?
            }
            StarlarkToken::Symbol(_) | StarlarkToken::Word(_) => return None,
        };
        let extended = |words: &Vec<String>| {
            choices.iter().map(|choice| words.iter().cloned().chain([choice.clone()]).collect()).collect::<Vec<_>>()
        };
        all = all.iter().flat_map(extended).collect();
        if all.len() > MAX_COMMANDS {
            return None;
        }
    }
    let is_empty = all.iter().any(Vec::is_empty);
    let to_command = |words: Vec<String>| words.iter().map(|word| quote_word(word)).collect::<Vec<_>>().join(" ");
    (!is_empty).then(|| all.into_iter().map(to_command).collect())
}

fn list_of_texts(tokens: &[&StarlarkToken]) -> Option<Vec<String>> {
    let text = |token: &&&StarlarkToken| match token {
        StarlarkToken::Text(text) => Some(Some(text.clone())),
        StarlarkToken::Symbol(',') => Some(None),
        StarlarkToken::Symbol(_) | StarlarkToken::Word(_) => None,
    };
    let all: Option<Vec<Option<String>>> = tokens.iter().map(|token| text(&token)).collect();
    all.map(|all| all.into_iter().flatten().collect())
}

/// Quotes a word so that a rule matches it literally.
fn quote_word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=+@%,:".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// The words, strings and symbols of a file, each with its line, without comments.
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
            c => tokens.push((StarlarkToken::Symbol(c), line)),
        }
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expected_rule(decision: RuleEffect, commands: &[&str]) -> Result<PrefixRule, usize> {
        Ok(PrefixRule { decision, commands: commands.iter().map(|text| (*text).to_owned()).collect() })
    }

    #[test]
    fn rules_are_expanded_and_others_reported_by_line() {
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
            expected_rule(RuleEffect::Allow, &["git status"]),
            expected_rule(RuleEffect::Ask, &["gh pr view", "gh pr list"]),
            expected_rule(RuleEffect::Deny, &["rm 'a b'"]),
            expected_rule(RuleEffect::Allow, &["ls"]),
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
