//! Why a call may run or not. Every verdict is made as an explanation, so the two cannot disagree.

use protocol::{PermissionMode, RuleEffect};

use crate::{RuleSource, Verdict, VerdictBasis};

/// A verdict with everything that it came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    /// Whether the call may run: the strictest of its parts, the first of those with the others.
    pub verdict: Verdict,
    /// Every part of the call with its own verdict, in the order of the call; never empty.
    pub parts: Vec<Verdict>,
}

impl Explanation {
    /// The strictest part decides.
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
        // A call without parts cannot come here; one that did would be asked about.
        let unread = VerdictBasis::Unclear("it says nothing of what it would do".into());
        let nothing =
            Verdict { effect: RuleEffect::Ask, basis: unread, part: String::new(), rule: None, others: Vec::new() };
        Explanation { verdict: verdict.unwrap_or(nothing), parts }
    }
}

/// The flags that allow what rules match, as they are typed in a shell.
pub fn allow_flags(rules: &[String]) -> Option<String> {
    (!rules.is_empty()).then(|| rules.iter().map(|rule| allow_flag(rule)).collect::<Vec<_>>().join(" "))
}

impl Verdict {
    /// What would make another verdict of it, for people.
    pub fn remedy(&self) -> String {
        match (&self.basis, self.effect) {
            (VerdictBasis::Rule(rule), RuleEffect::Allow) => {
                format!("a deny or ask rule that matches it is stronger than `{}`", rule.text)
            }
            (VerdictBasis::Rule(rule), RuleEffect::Ask | RuleEffect::Deny) => match &rule.source {
                RuleSource::BuiltIn => "nothing: this rule is built in, and a person decides each time".into(),
                source => {
                    format!("no allow rule is stronger; take `{}` out of {source}, or make it narrower", rule.text)
                }
            },
            (VerdictBasis::Possible(rule), _) => {
                format!("write the command so that it plainly is not what `{}` means", rule.text)
            }
            (VerdictBasis::Mode(_), RuleEffect::Allow) => "a deny or ask rule that matches it".into(),
            (VerdictBasis::ReadOnly, _) => "a deny or ask rule that matches it".into(),
            (VerdictBasis::Mode(PermissionMode::Plan) | VerdictBasis::Overruled(..), _) => {
                "another mode, such as --permission-mode default".into()
            }
            (VerdictBasis::Controls, _) => "nothing: no rule and no mode permits it".into(),
            (VerdictBasis::Outside, RuleEffect::Deny) => "--add-dir with a folder that holds it; no rule does".into(),
            (VerdictBasis::Hook(_), _) => "a hook that does not ask; a person can also permit it".into(),
            (VerdictBasis::AgentRole, _) => "an agent that has this tool".into(),
            (
                VerdictBasis::Mode(_) | VerdictBasis::Outside | VerdictBasis::Unclear(_) | VerdictBasis::Private,
                effect,
            ) => match (&self.rule, &self.basis, effect) {
                (Some(rule), ..) => {
                    format!("{}, or the same among the allow rules of a settings file", allow_flag(rule))
                }
                (None, VerdictBasis::Unclear(_), RuleEffect::Deny) => "an http or https address".into(),
                (None, VerdictBasis::Unclear(_), _) => "a simpler command; a person can also permit this one".into(),
                (None, ..) => "an allow rule of your own that matches it".into(),
            },
        }
    }
}

/// The flag that allows what a rule matches, as it is typed in a shell.
pub fn allow_flag(rule: &str) -> String {
    format!("--allow '{}'", rule.replace('\'', r"'\''"))
}
