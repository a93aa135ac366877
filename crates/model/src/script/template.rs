//! Texts with `${…}` in them, parsed when the file is read, so that `bosun script check` finds unknown names. A template
//! engine would bring loops and expressions, and a script must stay data with an answer of limited size.

use std::borrow::Cow;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::Deserialize;

use super::scope::{self, AnswerTooLong, TemplateScope};
use crate::ModelReply;

/// A text that may refer to the request with `${…}`; write `$${` for `${`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(with = "String")]
pub(super) struct Template(Vec<TemplateSegment>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum TemplateSegment {
    Text(String),
    Prompt,
    Answer,
    Agent,
    Path,
    Turn,
    Attempt,
    Group(usize),
    Repeat { text: String, times: usize },
}

impl Template {
    /// The text with everything filled in.
    pub(super) fn fill(&self, scope: &mut TemplateScope<'_>) -> Result<String, AnswerTooLong> {
        let mut filled = String::new();
        for piece in &self.0 {
            let text: Cow<'_, str> = match piece {
                TemplateSegment::Text(text) => text.into(),
                TemplateSegment::Prompt => scope.request.prompt().into(),
                TemplateSegment::Answer => {
                    scope::last_tool_results(scope.request).last().map_or("", |(_, answer)| &answer.text).into()
                }
                TemplateSegment::Agent => scope.request.agent.as_str().into(),
                TemplateSegment::Path => scope.request.path.as_str().into(),
                TemplateSegment::Turn => scope.request.turn.to_string().into(),
                TemplateSegment::Attempt => scope.request.attempt.to_string().into(),
                TemplateSegment::Group(number) => scope.groups.get(*number).to_owned().into(),
                TemplateSegment::Repeat { text, times } => text.repeat(*times).into(),
            };
            scope.spend(text.len())?;
            filled.push_str(&text);
        }
        Ok(filled)
    }

    /// The highest group it refers to; 0 for none.
    pub(super) fn highest_group(&self) -> usize {
        let group = |piece: &TemplateSegment| if let TemplateSegment::Group(number) = piece { *number } else { 0 };
        self.0.iter().map(group).max().unwrap_or(0)
    }
}

impl TryFrom<String> for Template {
    type Error = TemplateError;

    fn try_from(text: String) -> Result<Template, TemplateError> {
        text.parse()
    }
}

impl FromStr for Template {
    type Err = TemplateError;

    fn from_str(text: &str) -> Result<Template, TemplateError> {
        let mut pieces = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        while let Some(at) = rest.find("${") {
            if rest[..at].ends_with('$') {
                plain.push_str(&rest[..at - 1]);
                plain.push_str("${");
                rest = &rest[at + 2..];
                continue;
            }
            plain.push_str(&rest[..at]);
            let Some((name, after)) = rest[at + 2..].split_once('}') else { return Err(TemplateError::Unclosed) };
            push_text(&mut pieces, std::mem::take(&mut plain));
            pieces.push(name.parse()?);
            rest = after;
        }
        plain.push_str(rest);
        push_text(&mut pieces, plain);
        Ok(Template(pieces))
    }
}

fn push_text(pieces: &mut Vec<TemplateSegment>, text: String) {
    if !text.is_empty() {
        pieces.push(TemplateSegment::Text(text));
    }
}

impl FromStr for TemplateSegment {
    type Err = TemplateError;

    fn from_str(name: &str) -> Result<TemplateSegment, TemplateError> {
        Ok(match name {
            "prompt" => TemplateSegment::Prompt,
            "answer" => TemplateSegment::Answer,
            "agent" => TemplateSegment::Agent,
            "path" => TemplateSegment::Path,
            "turn" => TemplateSegment::Turn,
            "attempt" => TemplateSegment::Attempt,
            _ => match name.strip_prefix("repeat:") {
                Some(what) => parse_repeat(what)?,
                None => TemplateSegment::Group(parse_group(name)?),
            },
        })
    }
}

fn parse_repeat(what: &str) -> Result<TemplateSegment, TemplateError> {
    let malformed = || TemplateError::Repeat(what.into());
    let (text, times) = what.rsplit_once(':').ok_or_else(malformed)?;
    let times = times.parse::<usize>().map_err(|_| malformed())?;
    match text.len().checked_mul(times) {
        Some(bytes) if bytes <= ModelReply::MAX_BYTES => Ok(TemplateSegment::Repeat { text: text.into(), times }),
        Some(_) | None => Err(TemplateError::TooMany(what.into())),
    }
}

fn parse_group(name: &str) -> Result<usize, TemplateError> {
    let number = name.parse::<usize>().ok().filter(|number| (1..100).contains(number));
    number.ok_or_else(|| TemplateError::Unknown(name.into()))
}

/// Why a text is not a template.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum TemplateError {
    #[error("`${{` is not closed; write `}}` after the name, or `$${{` for the characters themselves")]
    Unclosed,
    #[error(
        "`${{{0}}}` is unknown; use prompt, answer, agent, path, turn, attempt, 1 to 99 or repeat:TEXT:TIMES, \
         or write `$${{` for the characters themselves"
    )]
    Unknown(String),
    #[error("`${{repeat:{0}}}` is not a repetition; write ${{repeat:TEXT:TIMES}}")]
    Repeat(String),
    #[error("`${{repeat:{0}}}` makes more than {max} bytes; write a smaller number", max = ModelReply::MAX_BYTES)]
    TooMany(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> TemplateSegment {
        TemplateSegment::Text(text.into())
    }

    #[test]
    fn templates_are_parsed() {
        let cases = [
            ("", vec![]),
            ("plain $1 { } $", vec![text("plain $1 { } $")]),
            ("a ${prompt} b", vec![text("a "), TemplateSegment::Prompt, text(" b")]),
            ("${1}${12}", vec![TemplateSegment::Group(1), TemplateSegment::Group(12)]),
            ("${turn}/${attempt} ${agent}${path}${answer}", {
                vec![
                    TemplateSegment::Turn,
                    text("/"),
                    TemplateSegment::Attempt,
                    text(" "),
                    TemplateSegment::Agent,
                    TemplateSegment::Path,
                    TemplateSegment::Answer,
                ]
            }),
            ("$${prompt} $$${turn}", vec![text("${prompt} $${turn}")]),
            ("${repeat:ab:3}", vec![TemplateSegment::Repeat { text: "ab".into(), times: 3 }]),
            ("${repeat:a:b:2}", vec![TemplateSegment::Repeat { text: "a:b".into(), times: 2 }]),
        ];
        for (source, pieces) in cases {
            assert_eq!(source.parse(), Ok(Template(pieces)), "{source}");
        }
    }

    #[test]
    fn mistakes_are_named() {
        let cases = [
            ("a ${prompt", "`${` is not closed; write `}` after the name, or `$${` for the characters themselves"),
            ("${repeat:x}", "`${repeat:x}` is not a repetition; write ${repeat:TEXT:TIMES}"),
            ("${repeat:x:-1}", "`${repeat:x:-1}` is not a repetition; write ${repeat:TEXT:TIMES}"),
            ("${repeat:xx:9000000}", "`${repeat:xx:9000000}` makes more than 16777216 bytes; write a smaller number"),
        ];
        for (source, message) in cases {
            assert_eq!(source.parse::<Template>().unwrap_err().to_string(), message);
        }
        for name in ["0", "100", "Prompt", "", "HOME"] {
            let error = format!("${{{name}}}").parse::<Template>().unwrap_err();
            assert_eq!(error, TemplateError::Unknown(name.into()));
        }
    }
}
