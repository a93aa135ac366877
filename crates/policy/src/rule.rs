//! One rule: its pattern, effect and source.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use protocol::RuleEffect;

use crate::pattern::{self, PatternBase, RuleMatch, RulePattern};
use crate::request::RequestPart;

/// Maximum length of a rule, in bytes.
const MAX_RULE_BYTES: usize = 4096;

/// A rule.
#[derive(Debug, Clone)]
pub struct Rule {
    /// Its effect on the calls it matches.
    pub effect: RuleEffect,
    /// The rule, such as `shell(git *)`, with Bosun's name of the tool.
    pub text: String,
    /// Its source.
    pub source: RuleSource,
    pattern: Arc<RulePattern>,
}

/// Whether a rule permits or forbids. In doubt, the former does not match and the latter does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RulePolarity {
    Permits,
    Forbids,
}

/// The source of a rule, strongest first. Of two rules with the same effect, the stronger one is reported.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RuleSource {
    /// Bosun itself.
    BuiltIn,
    /// A managed settings file.
    Managed(PathBuf),
    /// The command line, or a file that it named.
    Flag,
    /// The user, while the session ran.
    Session,
    /// The user's file for this project.
    Local(PathBuf),
    /// A file of the project.
    Project(PathBuf),
    /// The user's file.
    User(PathBuf),
}

/// Why a text is not a rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` is not a rule: {problem}; a rule is a tool, alone or with a pattern, such as shell(git *) or edit(src/**)"
)]
pub struct RuleError {
    /// The text.
    pub text: String,
    /// What is wrong with it.
    pub problem: String,
}

impl Rule {
    /// Reads a rule.
    pub fn parse(effect: RuleEffect, text: &str, source: RuleSource) -> Result<Rule, RuleError> {
        let text = text.trim();
        let (pattern, text) = parse_text(text).map_err(|problem| {
            let text: String = text.chars().filter(|c| !c.is_control()).take(80).collect();
            RuleError { text, problem }
        })?;
        Ok(Rule { effect, text, source, pattern: Arc::new(pattern) })
    }

    /// The tool it names, if Bosun does not have it and it is neither a pattern nor a tool of an MCP server.
    pub fn unknown_tool(&self) -> Option<&str> {
        let tool = self.text.split_once('(').map_or(self.text.as_str(), |(tool, _)| tool);
        let may_exist = tool.contains('*') || tool.starts_with("mcp__");
        (!may_exist && !pattern::is_known_tool(tool)).then_some(tool)
    }

    /// Whether it matches this part of a call.
    pub(crate) fn matches(&self, tool: &str, part: &RequestPart<'_>, base: &PatternBase<'_>) -> RuleMatch {
        let polarity = match self.effect {
            RuleEffect::Allow => RulePolarity::Permits,
            RuleEffect::Ask | RuleEffect::Deny => RulePolarity::Forbids,
        };
        self.pattern.matches(tool, part, base, polarity)
    }

    pub(crate) fn pattern(&self) -> &RulePattern {
        &self.pattern
    }
}

impl PartialEq for Rule {
    fn eq(&self, other: &Rule) -> bool {
        (self.effect, &self.text, &self.source) == (other.effect, &other.text, &other.source)
    }
}

impl Eq for Rule {}

fn parse_text(text: &str) -> Result<(RulePattern, String), String> {
    if text.is_empty() {
        return Err("it is empty".into());
    }
    if text.len() > MAX_RULE_BYTES {
        return Err(format!("it is longer than {MAX_RULE_BYTES} bytes"));
    }
    if text.contains(char::is_control) {
        return Err("it contains a control character".into());
    }
    let Some((tool, rest)) = text.split_once('(') else {
        let stray = text.contains(')');
        return if stray { Err(UNBALANCED.into()) } else { pattern::parse(text, None) };
    };
    let inner = rest.strip_suffix(')').filter(|inner| is_balanced(inner)).ok_or(UNBALANCED)?;
    pattern::parse(tool.trim_end(), Some(inner))
}

const UNBALANCED: &str = "its parentheses do not match; write \\( or \\) to mean the character";

/// Whether parentheses are balanced; quoted ones are ignored.
fn is_balanced(inner: &str) -> bool {
    let (mut open, mut quote) = (0_usize, None);
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        match (c, quote) {
            ('\\', None | Some('"')) => {
                // A backslash at the very end would escape the rule's closing parenthesis.
                if chars.next().is_none() {
                    return false;
                }
            }
            ('\'' | '"', None) => quote = Some(c),
            (c, Some(end)) if c == end => quote = None,
            ('(', None) => open += 1,
            (')', None) => match open.checked_sub(1) {
                Some(less) => open = less,
                None => return false,
            },
            (_, _) => {}
        }
    }
    open == 0
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} ({})", self.effect.as_str(), self.text, self.source)
    }
}

impl fmt::Display for RuleSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RuleSource::BuiltIn => f.write_str("built in"),
            RuleSource::Managed(path) => write!(f, "managed policy, {}", path.display()),
            RuleSource::Flag => f.write_str("the command line"),
            RuleSource::Session => f.write_str("granted while the session ran"),
            RuleSource::Local(path) => write!(f, "your settings for this project, {}", path.display()),
            RuleSource::Project(path) => write!(f, "the project's settings, {}", path.display()),
            RuleSource::User(path) => write!(f, "your settings, {}", path.display()),
        }
    }
}
