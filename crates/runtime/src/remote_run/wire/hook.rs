//! Hook events of a run, and what the hooks decided.

use hooks::{HookEventData, HookVerdict, RuleUpdate, RuleUpdateKind, Ruling, ToolUse};
use protocol::{CallId, CompactionCause, RuleEffect};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// An event that a run has the hooks run on. The session's own events have no form here.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub(in crate::remote_run) enum WireHookEvent {
    PreTool { call: WireToolUse },
    PostTool { call: WireToolUse, answer: String },
    ToolFailed { call: WireToolUse, error: String },
    PermissionRequest { call: WireToolUse, reason: String },
    PermissionDenied { call: WireToolUse, reason: String },
    AgentStop { reason: String, last_message: String, is_repeated: bool },
    Compact { cause: CompactionCause },
    ModelCallFailed { message: String },
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::remote_run) struct WireToolUse {
    id: CallId,
    tool: String,
    input: String,
}

impl WireHookEvent {
    /// The wire form; none for an event of the session itself.
    pub(in crate::remote_run) fn of(event: HookEventData) -> Option<WireHookEvent> {
        Some(match event {
            HookEventData::PreTool(call) => WireHookEvent::PreTool { call: call.into() },
            HookEventData::PostTool { call, answer } => WireHookEvent::PostTool { call: call.into(), answer },
            HookEventData::ToolFailed { call, error } => WireHookEvent::ToolFailed { call: call.into(), error },
            HookEventData::PermissionRequest { call, reason } => {
                WireHookEvent::PermissionRequest { call: call.into(), reason }
            }
            HookEventData::PermissionDenied { call, reason } => {
                WireHookEvent::PermissionDenied { call: call.into(), reason }
            }
            HookEventData::AgentStop { reason, last_message, is_repeated } => {
                WireHookEvent::AgentStop { reason, last_message, is_repeated }
            }
            HookEventData::Compact(cause) => WireHookEvent::Compact { cause },
            HookEventData::Error { what: MODEL_CALL, message } => WireHookEvent::ModelCallFailed { message },
            HookEventData::SessionStart(_)
            | HookEventData::SessionEnd { .. }
            | HookEventData::Prompt { .. }
            | HookEventData::TransformedPrompt { .. }
            | HookEventData::PreMcp(_)
            | HookEventData::AgentStart
            | HookEventData::Item { .. }
            | HookEventData::Error { .. } => return None,
        })
    }
}

/// What failed when a model request failed.
const MODEL_CALL: &str = "model_call";

impl From<WireHookEvent> for HookEventData {
    fn from(event: WireHookEvent) -> HookEventData {
        match event {
            WireHookEvent::PreTool { call } => HookEventData::PreTool(call.into()),
            WireHookEvent::PostTool { call, answer } => HookEventData::PostTool { call: call.into(), answer },
            WireHookEvent::ToolFailed { call, error } => HookEventData::ToolFailed { call: call.into(), error },
            WireHookEvent::PermissionRequest { call, reason } => {
                HookEventData::PermissionRequest { call: call.into(), reason }
            }
            WireHookEvent::PermissionDenied { call, reason } => {
                HookEventData::PermissionDenied { call: call.into(), reason }
            }
            WireHookEvent::AgentStop { reason, last_message, is_repeated } => {
                HookEventData::AgentStop { reason, last_message, is_repeated }
            }
            WireHookEvent::Compact { cause } => HookEventData::Compact(cause),
            WireHookEvent::ModelCallFailed { message } => HookEventData::Error { what: MODEL_CALL, message },
        }
    }
}

impl From<ToolUse> for WireToolUse {
    fn from(ToolUse { id, tool, input }: ToolUse) -> WireToolUse {
        WireToolUse { id, tool, input }
    }
}

impl From<WireToolUse> for ToolUse {
    fn from(WireToolUse { id, tool, input }: WireToolUse) -> ToolUse {
        ToolUse { id, tool, input }
    }
}

/// What hooks decided.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::remote_run) struct WireVerdict {
    ruling: WireRuling,
    updated_input: Option<Map<String, Value>>,
    replacement_text: Option<String>,
    halt_reason: Option<String>,
    context: Vec<String>,
    messages: Vec<String>,
    rules: Vec<WireRuleUpdate>,
    client_allows: bool,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
enum WireRuling {
    Nothing,
    Allow,
    Ask { reason: String },
    Deny { reason: String },
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireRuleUpdate {
    change: WireRuleChange,
    effect: RuleEffect,
    rules: Vec<String>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum WireRuleChange {
    Add,
    Remove,
    Replace,
}

impl From<HookVerdict> for WireVerdict {
    fn from(verdict: HookVerdict) -> WireVerdict {
        let HookVerdict {
            ruling,
            updated_input,
            replacement_text,
            // Calls of MCP servers' tools are sent where the session is.
            mcp_meta: _,
            halt_reason,
            context,
            messages,
            rules,
            client_allows,
        } = verdict;
        let ruling = match ruling {
            Ruling::Nothing => WireRuling::Nothing,
            Ruling::Allow => WireRuling::Allow,
            Ruling::Ask { reason } => WireRuling::Ask { reason },
            Ruling::Deny { reason } => WireRuling::Deny { reason },
        };
        let rules = rules.into_iter().map(|RuleUpdate { change, effect, rules }| {
            let change = match change {
                RuleUpdateKind::Add => WireRuleChange::Add,
                RuleUpdateKind::Remove => WireRuleChange::Remove,
                RuleUpdateKind::Replace => WireRuleChange::Replace,
            };
            WireRuleUpdate { change, effect, rules }
        });
        let rules = rules.collect();
        WireVerdict { ruling, updated_input, replacement_text, halt_reason, context, messages, rules, client_allows }
    }
}

impl From<WireVerdict> for HookVerdict {
    fn from(verdict: WireVerdict) -> HookVerdict {
        let WireVerdict {
            ruling,
            updated_input,
            replacement_text,
            halt_reason,
            context,
            messages,
            rules,
            client_allows,
        } = verdict;
        let ruling = match ruling {
            WireRuling::Nothing => Ruling::Nothing,
            WireRuling::Allow => Ruling::Allow,
            WireRuling::Ask { reason } => Ruling::Ask { reason },
            WireRuling::Deny { reason } => Ruling::Deny { reason },
        };
        let rules = rules.into_iter().map(|WireRuleUpdate { change, effect, rules }| {
            let change = match change {
                WireRuleChange::Add => RuleUpdateKind::Add,
                WireRuleChange::Remove => RuleUpdateKind::Remove,
                WireRuleChange::Replace => RuleUpdateKind::Replace,
            };
            RuleUpdate { change, effect, rules }
        });
        let rules = rules.collect();
        HookVerdict {
            ruling,
            updated_input,
            replacement_text,
            mcp_meta: None,
            halt_reason,
            context,
            messages,
            rules,
            client_allows,
        }
    }
}
