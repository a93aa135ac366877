//! What hooks have to say to an occasion.

use protocol::RuleEffect;
use serde_json::{Map, Value};

/// What hooks have to say to an occasion, all of them together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HookVerdict {
    /// Whether it may happen.
    pub ruling: Ruling,
    /// The arguments that the call is to have instead.
    pub updated_input: Option<Map<String, Value>>,
    /// The words that the prompt or the answer is to have instead.
    pub replacement_text: Option<String>,
    /// Why the agent is to stop altogether, if it is.
    pub halt_reason: Option<String>,
    /// What the agent is to be told.
    pub context: Vec<String>,
    /// What the person is to be told.
    pub messages: Vec<String>,
    /// What is to become of the session's rules.
    pub rules: Vec<RuleUpdate>,
}

/// A change of the session's rules that a hook wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleUpdate {
    /// What becomes of them.
    pub change: RuleUpdateKind,
    /// What the rules say of the calls that they match.
    pub effect: RuleEffect,
    /// The rules, in the words of the hook's family.
    pub rules: Vec<String>,
}

/// What becomes of rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleUpdateKind {
    /// They hold from now on.
    Add,
    /// They do not hold any more.
    Remove,
    /// Only they hold, of those with their effect.
    Replace,
}

/// Whether something may happen, from the weakest word to the strongest.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Ruling {
    /// Nobody minds.
    #[default]
    Nothing,
    /// Somebody likes it. That lifts nothing that others have against it.
    Allow,
    /// A person is to decide.
    Ask {
        /// Why.
        reason: String,
    },
    /// It may not. For an end that means: the agent goes on.
    Deny {
        /// Why.
        reason: String,
    },
}

impl HookVerdict {
    /// Takes in what a later hook said: the strongest word counts, the latest change, and everything that was told.
    pub(crate) fn join(&mut self, later: HookVerdict) {
        let HookVerdict {
            ruling,
            updated_input: input,
            replacement_text: text,
            halt_reason: halts,
            context,
            messages,
            rules,
        } = later;
        self.ruling = std::mem::take(&mut self.ruling).stronger(ruling);
        self.updated_input = input.or(self.updated_input.take());
        self.replacement_text = text.or(self.replacement_text.take());
        self.halt_reason = self.halt_reason.take().or(halts);
        self.context.extend(context);
        self.messages.extend(messages);
        self.rules.extend(rules);
    }

    /// Why it may not happen, if it may not.
    pub fn denial_reason(&self) -> Option<&str> {
        match &self.ruling {
            Ruling::Deny { reason } => Some(reason),
            Ruling::Nothing | Ruling::Allow | Ruling::Ask { .. } => None,
        }
    }
}

impl Ruling {
    fn stronger(self, other: Ruling) -> Ruling {
        if other.strength() > self.strength() { other } else { self }
    }

    fn strength(&self) -> u8 {
        match self {
            Ruling::Nothing => 0,
            Ruling::Allow => 1,
            Ruling::Ask { .. } => 2,
            Ruling::Deny { .. } => 3,
        }
    }
}
