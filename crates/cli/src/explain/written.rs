//! An explanation as JSON.

use policy::{Explanation, Verdict};
use protocol::RuleEffect;
use serde::Serialize;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Written {
    tool: String,
    verdict: Part,
    /// Every part of the call, in its order.
    parts: Vec<Part>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Part {
    part: String,
    effect: RuleEffect,
    /// What kind of thing decided.
    ground: &'static str,
    rule: Option<Decider>,
    reason: String,
    remedy: String,
    /// A rule that would allow it and its like.
    suggestion: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Decider {
    effect: RuleEffect,
    rule: String,
    source: String,
}

pub(super) fn explanation(tool: &str, explanation: &Explanation) -> Written {
    let Explanation { verdict, parts } = explanation;
    Written { tool: tool.to_owned(), verdict: part(verdict), parts: parts.iter().map(part).collect() }
}

fn part(verdict: &Verdict) -> Part {
    let decider = verdict.ground.rule().map(|rule| Decider {
        effect: rule.effect,
        rule: rule.text.clone(),
        source: rule.source.to_string(),
    });
    Part {
        part: verdict.part.clone(),
        effect: verdict.effect,
        ground: verdict.ground.word(),
        rule: decider,
        reason: verdict.reason(),
        remedy: verdict.remedy(),
        suggestion: verdict.rule.clone(),
    }
}
