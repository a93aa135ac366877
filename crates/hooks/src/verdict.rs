//! The combined answer of hooks to an event.

use protocol::RuleEffect;
use serde_json::{Map, Value};

/// The combined answer of all hooks to an event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HookVerdict {
    /// Whether the event may happen.
    pub ruling: Ruling,
    /// Replacement arguments of the call.
    pub updated_input: Option<Map<String, Value>>,
    /// Replacement text of the prompt or the result.
    pub replacement_text: Option<String>,
    /// What an MCP server gets with a call besides its arguments.
    pub mcp_meta: Option<McpRequestMeta>,
    /// Why the agent must stop, if it must.
    pub halt_reason: Option<String>,
    /// Context for the agent.
    pub context: Vec<String>,
    /// Messages for the user.
    pub messages: Vec<String>,
    /// Changes of the session's rules.
    pub rules: Vec<RuleUpdate>,
    /// Whether a hook of the session's client allows the call. The client decides on asks, so its hook may do that, too.
    pub client_allows: bool,
}

/// What an MCP server gets with a call besides its arguments: the `_meta` of the request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum McpRequestMeta {
    /// This, instead of what would be sent.
    Replaced(Map<String, Value>),
    /// Nothing.
    Omitted,
}

/// A change of the session's rules that a hook requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleUpdate {
    /// The kind of change.
    pub change: RuleUpdateKind,
    /// The effect of the rules.
    pub effect: RuleEffect,
    /// The rules, in the hook's dialect.
    pub rules: Vec<String>,
}

/// The kind of a change of rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleUpdateKind {
    /// Add the rules.
    Add,
    /// Remove the rules.
    Remove,
    /// Replace all rules with this effect.
    Replace,
}

/// Whether something may happen, from weakest to strongest.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Ruling {
    /// No decision.
    #[default]
    Nothing,
    /// Allowed. This does not override a denial or an ask from elsewhere.
    Allow,
    /// The user must decide.
    Ask {
        /// Why.
        reason: String,
    },
    /// Denied. If the event is the end of an activation, the agent continues.
    Deny {
        /// Why.
        reason: String,
    },
}

impl HookVerdict {
    /// Adds a later hook's answer: the strongest ruling, the latest change, and all messages count.
    pub(crate) fn merge(&mut self, later: HookVerdict) {
        let HookVerdict {
            ruling,
            updated_input: input,
            replacement_text: text,
            mcp_meta: meta,
            halt_reason: halts,
            context,
            messages,
            rules,
            client_allows,
        } = later;
        self.ruling = std::mem::take(&mut self.ruling).stronger(ruling);
        self.updated_input = input.or(self.updated_input.take());
        self.replacement_text = text.or(self.replacement_text.take());
        self.mcp_meta = meta.or(self.mcp_meta.take());
        self.halt_reason = self.halt_reason.take().or(halts);
        self.context.extend(context);
        self.messages.extend(messages);
        self.rules.extend(rules);
        self.client_allows |= client_allows;
    }

    /// Whether a hook of the client allows the call and no hook objects.
    pub fn is_allowed_by_client(&self) -> bool {
        self.client_allows && self.ruling == Ruling::Allow
    }

    /// The reason of a denial.
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
