//! Explains why a call may run or not. Every verdict is built as an explanation, so the two cannot disagree.

use protocol::{PermissionMode, RuleEffect};

use crate::{RuleSource, Verdict, VerdictBasis};

/// A verdict with the verdicts on all parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    /// Whether the call may run: the first of its strictest parts, with the others.
    pub verdict: Verdict,
    /// Every part of the call with its own verdict, in the order of the call; never empty.
    pub parts: Vec<Verdict>,
}

impl Explanation {
    /// Combines parts; the strictest one decides.
    pub(crate) fn from_parts(parts: Vec<Verdict>) -> Explanation {
        let strictest = parts.iter().map(|part| part.effect).max();
        let mut deciding: Vec<Verdict> = Vec::new();
        for part in parts.iter().filter(|part| Some(part.effect) == strictest) {
            if !deciding.iter().any(|known| (&known.part, &known.basis) == (&part.part, &part.basis)) {
                deciding.push(part.clone());
            }
        }
        let mut deciding = deciding.into_iter();
        let verdict = deciding.next().map(|first| Verdict { others: deciding.collect(), ..first });
        // A call without parts does not get here; if one did, the user would be asked.
        let basis = VerdictBasis::Unclear("it does not say what it would do".into());
        let fallback =
            Verdict { effect: RuleEffect::Ask, basis, part: String::new(), suggested_rule: None, others: Vec::new() };
        Explanation { verdict: verdict.unwrap_or(fallback), parts }
    }
}

/// The flags that allow what rules match, quoted for a shell.
pub fn allow_flags(rules: &[String]) -> Option<String> {
    (!rules.is_empty()).then(|| rules.iter().map(|rule| allow_flag(rule)).collect::<Vec<_>>().join(" "))
}

impl Verdict {
    /// What would change the verdict, for people.
    pub fn remedy(&self) -> String {
        match (&self.basis, self.effect) {
            (VerdictBasis::Rule(rule), RuleEffect::Allow) => {
                format!("a deny or ask rule that matches it overrides `{}`", rule.text)
            }
            (VerdictBasis::Rule(rule), RuleEffect::Ask | RuleEffect::Deny) => match &rule.source {
                RuleSource::BuiltIn => "nothing: this rule is built in, and you decide each time".into(),
                source => {
                    format!("no allow rule overrides it; remove `{}` from {source}, or make it narrower", rule.text)
                }
            },
            (VerdictBasis::Possible(rule), _) => {
                format!("write the command so that `{}` clearly does not match", rule.text)
            }
            (VerdictBasis::Mode(_), RuleEffect::Allow) => "a deny or ask rule that matches it".into(),
            (VerdictBasis::ReadOnly, _) => "a deny or ask rule that matches it".into(),
            (VerdictBasis::Mode(PermissionMode::Plan) | VerdictBasis::Overruled(..), _) => {
                "another mode, such as --permission-mode default".into()
            }
            (VerdictBasis::Controls, _) => "nothing: no rule and no mode allows it".into(),
            (VerdictBasis::Outside, RuleEffect::Deny) => "--add-dir with a folder that has it; no rule does".into(),
            (VerdictBasis::Hook(_), _) => "a hook that does not ask; you can also allow it".into(),
            (VerdictBasis::AgentRole, _) => "an agent that has this tool".into(),
            (
                VerdictBasis::Mode(_) | VerdictBasis::Outside | VerdictBasis::Unclear(_) | VerdictBasis::Private,
                effect,
            ) => match (&self.suggested_rule, &self.basis, effect) {
                (Some(rule), ..) => {
                    format!("{}, or the same among the allow rules of a settings file", allow_flag(rule))
                }
                (None, VerdictBasis::Unclear(_), RuleEffect::Deny) => "an http or https address".into(),
                (None, VerdictBasis::Unclear(_), _) => "a simpler command; you can also allow this one".into(),
                (None, ..) => "an allow rule of your own that matches it".into(),
            },
        }
    }
}

/// The flag that allows what a rule matches, quoted for a shell.
pub fn allow_flag(rule: &str) -> String {
    format!("--allow '{}'", rule.replace('\'', r"'\''"))
}
