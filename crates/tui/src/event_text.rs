//! Progress lines on stderr: one line for each tool call and for other notable events.

use protocol::{
    Ask, AskDecision, AskSubject, AutopilotStop, Budget, CancelBy, Compaction, CompactionCause, ContentBlock, Cost,
    Event, ParkReason, RetryPlan, Timestamp, ToolCallRequest, ToolResultStatus, WrapUpReason,
};
use serde_json::Value;

use crate::money::Money;
use crate::print;

/// The maximum length of a line.
const MAX_LINE_CHARS: usize = 100;

/// The maximum length of a reason, which must not end before the advice in it.
const MAX_REASON_CHARS: usize = 240;

/// How much progress is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgressMode {
    /// No output.
    Nothing,
    /// A line for each call and each error.
    Lines,
    /// Every event as JSON, on stdout.
    Events,
}

/// The lines for an event.
pub fn event_lines(event: &Event) -> Vec<String> {
    match event {
        Event::TurnAnswered { content, .. } => content.iter().filter_map(block_call).map(call_line).collect(),
        Event::CallAnswered { answer, .. } if answer.status != ToolResultStatus::Done => {
            let max = if answer.status == ToolResultStatus::Denied { MAX_REASON_CHARS } else { MAX_LINE_CHARS };
            let reason = print::format_reason(protocol::denial_reason(&answer.text), max);
            vec![format!("  ! {}: {reason}", answer.status.as_str())]
        }
        Event::TurnFailed { message, retry, .. } if !message.is_empty() => {
            let retry_note = retry.map(|retry| format!(" ({})", describe_retry(retry))).unwrap_or_default();
            vec![format!("  ! model: {}{retry_note}", print::format_reason(message, MAX_REASON_CHARS))]
        }
        Event::BudgetAwaited => {
            vec!["  … queued: the rest of the budget is reserved for running requests".into()]
        }
        // A recording names the model it was made with.
        Event::ModelDiffered { asked, answered, .. } if !asked.starts_with("replay/") => {
            vec![format!("  ! requested {}, but {} answered", short(asked), short(answered))]
        }
        Event::BudgetLow { spent, budget } => {
            vec![format!("  ! most of the budget is spent: {}", describe_spending(*spent, *budget))]
        }
        Event::WrapUpBegan { why: WrapUpReason::Budget } => vec!["  ! the budget allows only one last turn".into()],
        Event::WrapUpBegan { why: WrapUpReason::Time } => vec!["  ! the time limit is reached: one last turn".into()],
        Event::WrapUpBegan { why: WrapUpReason::NoChange } => {
            vec!["  ! repeated calls return the same results: one last turn".into()]
        }
        Event::WrapUpBegan { why: WrapUpReason::Reported } => Vec::new(),
        Event::WrapUpBegan { why: WrapUpReason::Turns } => vec!["  ! the turn limit is reached: one last turn".into()],
        Event::WrapUpBegan { why: WrapUpReason::Stop } => vec!["  ! asked to stop: one last turn".into()],
        Event::PromptSuggested { text } => vec![format!("  > maybe next: {}", short(text))],
        Event::ItemChanged { item, .. } => {
            vec![format!("  # {} {}: {}", item.id, item.status.as_str(), short(&item.subject))]
        }
        Event::TaskStalled { .. } => vec!["  ! no activity for a while".into()],
        Event::StopBlocked { reason, .. } => vec![format!("  ! not done yet: {}", short(unmet_conditions(reason)))],
        Event::Compacted(compaction) => describe_compaction(compaction).into_iter().collect(),
        Event::ConversationCut { .. } => vec!["  = the end of the conversation was removed".into()],
        Event::ModeChanged { mode, .. } => vec![format!("  = mode: {mode}")],
        Event::ModelChanged { model, .. } => vec![format!("  = model: {}", protocol::model_display_name(model))],
        Event::McpServerToggled { server, enabled, .. } => {
            vec![format!("  = MCP server {}: {}", short(server), if *enabled { "on" } else { "off" })]
        }
        Event::AutopilotContinued { count, .. } => vec![format!("  > told to continue ({count})")],
        Event::AskOpened(ask) => ask_lines(ask),
        Event::AskDecided {
            ask,
            decision: decision @ (AskDecision::Allow { .. } | AskDecision::Reply { .. } | AskDecision::Proceed { .. }),
            ..
        } => vec![format!("  ? {} {}", ask.short(), decision.as_str())],
        Event::TaskParked { until_at, why } => vec![format!("  ! waiting for {}", describe_parking(*until_at, *why))],
        _other => Vec::new(),
    }
}

/// The unmet conditions of an agent's stop, without the surrounding text for the agent.
pub fn unmet_conditions(reason: &str) -> &str {
    match reason.split_once("\n- ") {
        Some((intro, missing)) if intro.starts_with("[runtime]") => missing,
        Some(_) | None => reason,
    }
}

/// An ask, and the command that decides it from another terminal.
fn ask_lines(ask: &Ask) -> Vec<String> {
    let id = ask.id.short();
    let (subject, verb) = match &ask.subject {
        AskSubject::Permission { tool, reason, .. } => {
            (format!("may {} run? {}", print::sanitize(tool), short(reason)), "allow")
        }
        AskSubject::Question { question, .. } => (short(question), "answer"),
        AskSubject::Plan { summary, .. } => (format!("plan ready: {}", short(summary)), "answer"),
    };
    let until = ask.until_at.map(|at| format!(" (until {at})")).unwrap_or_default();
    vec![format!("  ? {subject}"), format!("    bosun approvals {verb} {id}{until}")]
}

/// A compaction that no user asked for; the answer to `/compact` describes the others.
fn describe_compaction(compaction: &Compaction) -> Option<String> {
    let Compaction { cause, messages, digest, .. } = compaction;
    let effect = match digest {
        None => format!("tool output in the first {messages} messages is left out"),
        Some(_) => format!("a digest replaces the first {messages} messages"),
    };
    match cause {
        CompactionCause::ContextFull => Some(format!("  ! the context window is nearly full: {effect}")),
        CompactionCause::Requested => None,
    }
}

/// Why autopilot stopped, in one line.
pub fn describe_autopilot_stop(why: &AutopilotStop, continues: u32) -> String {
    let after = match continues {
        0 => String::new(),
        1 => ", after it was told to continue once".into(),
        many => format!(", after it was told to continue {many} times"),
    };
    match why {
        AutopilotStop::Complete { summary } => format!("autopilot: complete{after}: {}", short(summary)),
        AutopilotStop::Blocked { reason, .. } => format!("autopilot: blocked{after}: {}", short(reason)),
        AutopilotStop::Limit => format!("autopilot: stopped{after} at its limit, without a report"),
        AutopilotStop::NoChange => format!("autopilot: stopped{after}, since nothing changed any more"),
        AutopilotStop::Aborted { by: CancelBy::User } => format!("autopilot: stopped by you{after}"),
        AutopilotStop::Aborted { .. } => format!("autopilot: stopped with the session{after}"),
        AutopilotStop::Failed => format!("autopilot: stopped{after}, since there was no answer"),
    }
}

/// The next attempt and the time until then.
pub fn describe_retry(retry: RetryPlan) -> String {
    let RetryPlan { attempt, of, in_millis } = retry;
    let when = match in_millis {
        0 => String::new(),
        millis if millis < 1_000 => format!(", next in {millis} ms"),
        millis => format!(", next in {} s", millis.div_ceil(1_000)),
    };
    format!("attempt {attempt} of {of}{when}")
}

/// The reason and end of a parking.
pub fn describe_parking(until: Option<Timestamp>, why: ParkReason) -> String {
    match until {
        Some(until) => format!("{}, until {until}", why.describe()),
        None => why.describe().into(),
    }
}

/// The spent part of each budget.
pub fn describe_spending(spent: Cost, budget: Budget) -> String {
    let money = budget.micros.map(|max| format!("{} of {}", Money::Known(spent.micros), Money::Known(max)));
    let tokens = budget.tokens.map(|max| format!("{} of {max} tokens", spent.tokens));
    money.into_iter().chain(tokens).collect::<Vec<_>>().join(", ")
}

fn block_call(block: &ContentBlock) -> Option<&ToolCallRequest> {
    match block {
        ContentBlock::Call(call) => Some(call),
        ContentBlock::Text { .. } | ContentBlock::Thinking { .. } | ContentBlock::Opaque { .. } => None,
    }
}

/// A call in one line: the tool and its main argument.
pub fn call_line(call: &ToolCallRequest) -> String {
    format!("- {} {}", print::sanitize(&call.tool), short(&main_argument(&call.input))).trim_end().to_owned()
}

/// The most informative argument of a call.
pub fn main_argument(input: &str) -> String {
    const KEYS: [&str; 13] = [
        "command",
        "path",
        "url",
        "question",
        "pattern",
        "query",
        "intent",
        "name",
        "agent",
        "message",
        "patch",
        "summary",
        "description",
    ];
    let Ok(Value::Object(input)) = serde_json::from_str(input) else { return input.to_owned() };
    let argument = KEYS.iter().find_map(|key| input.get(*key)?.as_str());
    argument.map_or_else(|| Value::Object(input.clone()).to_string(), str::to_owned)
}

fn short(text: &str) -> String {
    print::format_reason(text, MAX_LINE_CHARS)
}

#[cfg(test)]
mod tests {
    use protocol::{AskId, CallId, DecidedBy};

    use super::*;

    #[test]
    fn every_call_is_one_line() {
        let shown = |tool: &str, input: &str| {
            call_line(&ToolCallRequest { id: CallId("1".into()), tool: tool.into(), input: input.into() })
        };
        assert_eq!(shown("shell", r#"{"timeout_secs":3,"command":"cargo\n test"}"#), "- shell cargo test");
        assert_eq!(shown("list_shells", "{}"), "- list_shells {}");
        assert_eq!(shown("view", "not json \u{1b}[0m"), "- view not json [0m");
        assert_eq!(shown("glob", ""), "- glob");
        assert_eq!(shown("web_fetch", r#"{"max":9,"url":"https://docs.rs/"}"#), "- web_fetch https://docs.rs/");
        assert_eq!(shown("ask_user", r#"{"choices":["a"],"question":"Which?"}"#), "- ask_user Which?");
    }

    #[test]
    fn a_compaction_is_shown_unless_the_user_asked_for_it() {
        let lines =
            |cause| event_lines(&Event::Compacted(Compaction { messages: 3, digest: Some("…".into()), cause }));
        let full = "  ! the context window is nearly full: a digest replaces the first 3 messages";
        assert_eq!(lines(CompactionCause::ContextFull), [full]);
        assert_eq!(lines(CompactionCause::Requested), [""; 0], "the answer to `/compact` says it");
    }

    #[test]
    fn unmet_conditions_are_shown_without_the_text_for_the_agent() {
        assert_eq!(unmet_conditions("[runtime] You said so.\n\n- `make` must exit\n- `b`"), "`make` must exit\n- `b`");
        assert_eq!(unmet_conditions("the linter complains\n- of this"), "the linter complains\n- of this");
    }

    #[test]
    fn a_failed_attempt_names_its_cause_and_the_next_one() {
        let failed = |in_millis| Event::TurnFailed {
            turn: protocol::Turn(1),
            fault: protocol::ModelFault::Unreachable,
            message:
                "cannot connect to localhost:1: connection refused; is the server running, and is the address right?"
                    .into(),
            cost: Cost::ZERO,
            retry: Some(RetryPlan { attempt: 2, of: 5, in_millis }),
        };
        let expected = "  ! model: cannot connect to localhost:1: connection refused; \
                        is the server running, and is the address right? (attempt 2 of 5";
        assert_eq!(event_lines(&failed(4_000)), [format!("{expected}, next in 4 s)")]);
        assert_eq!(event_lines(&failed(400)), [format!("{expected}, next in 400 ms)")]);
    }

    #[test]
    fn a_denial_is_shown_without_the_text_for_the_model() {
        let text = "`shell` was not permitted: no permission rule matches `rm` (mode: default). The user can permit it \
                    with `--allow 'shell(rm *)'`. Continue without it and tell the user. The user did not decide in time.";
        let answer = protocol::ToolResult { status: ToolResultStatus::Denied, text: text.into() };
        let denied = Event::CallAnswered { call: CallId("1".into()), answer, evidence: Vec::new() };
        assert_eq!(event_lines(&denied), ["  ! denied: no permission rule matches `rm` (mode: default)"]);
    }

    #[test]
    fn an_ask_says_how_to_decide_it() {
        let subject = AskSubject::Permission {
            tool: "shell".into(),
            input: "{}".into(),
            reason: "no permission rule matches `rm`".into(),
            rules: Vec::new(),
        };
        let (id, call) = (AskId("3f9a2c1b0d4e99aa".into()), CallId("1".into()));
        let ask = Ask { id: id.clone(), call: call.clone(), subject, until_at: Some(Timestamp(60_000)) };
        let expected = [
            "  ? may shell run? no permission rule matches `rm`",
            "    bosun approvals allow 3f9a2c1b0d4e (until 1970-01-01T00:01:00.000Z)",
        ];
        assert_eq!(event_lines(&Event::AskOpened(ask)), expected);
        let decision = AskDecision::Allow { rules: Vec::new(), input: None };
        let decided = Event::AskDecided { ask: id, call, decision, by: DecidedBy::User };
        assert_eq!(event_lines(&decided), ["  ? 3f9a2c1b0d4e allowed"]);
    }
}
