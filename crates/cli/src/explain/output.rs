//! An explanation as JSON.

use policy::{Explanation, Verdict};
use protocol::RuleEffect;
use serde::Serialize;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ExplanationOutput {
    tool: String,
    verdict: VerdictOutput,
    /// Every part of the call, in order.
    parts: Vec<VerdictOutput>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct VerdictOutput {
    part: String,
    effect: RuleEffect,
    /// The kind of basis for the decision.
    ground: &'static str,
    rule: Option<DecidingRule>,
    reason: String,
    remedy: String,
    /// A rule that would allow this and similar calls.
    suggestion: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DecidingRule {
    effect: RuleEffect,
    rule: String,
    source: String,
}

pub(super) fn explanation_output(tool: &str, explanation: &Explanation) -> ExplanationOutput {
    let Explanation { verdict, parts } = explanation;
    ExplanationOutput {
        tool: tool.to_owned(),
        verdict: verdict_output(verdict),
        parts: parts.iter().map(verdict_output).collect(),
    }
}

fn verdict_output(verdict: &Verdict) -> VerdictOutput {
    let rule = verdict.basis.rule().map(|rule| DecidingRule {
        effect: rule.effect,
        rule: rule.text.clone(),
        source: rule.source.to_string(),
    });
    VerdictOutput {
        part: verdict.part.clone(),
        effect: verdict.effect,
        ground: verdict.basis.as_str(),
        rule,
        reason: verdict.reason(),
        remedy: verdict.remedy(),
        suggestion: verdict.suggested_rule.clone(),
    }
}
