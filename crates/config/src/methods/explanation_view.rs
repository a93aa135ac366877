//! An explanation as the API shows it.

use policy::{Explanation, Verdict};
use protocol::api::{DecidingRuleView, ExplanationView, VerdictView};

/// An explanation as the API shows it.
pub fn explanation_view(tool: &str, explanation: &Explanation) -> ExplanationView {
    let Explanation { verdict, parts } = explanation;
    ExplanationView {
        tool: tool.to_owned(),
        verdict: verdict_view(verdict),
        parts: parts.iter().map(verdict_view).collect(),
    }
}

fn verdict_view(verdict: &Verdict) -> VerdictView {
    let rule = verdict.basis.rule().map(|rule| DecidingRuleView {
        effect: rule.effect,
        rule: rule.text.clone(),
        source: rule.source.to_string(),
    });
    VerdictView {
        part: verdict.part.clone(),
        effect: verdict.effect,
        ground: verdict.basis.as_str().to_owned(),
        rule,
        reason: verdict.reason(),
        remedy: verdict.remedy(),
        suggestion: verdict.suggested_rule.clone(),
    }
}
