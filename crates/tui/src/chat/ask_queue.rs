//! The queue of asks at a terminal: calls that need permission, questions and plans.

use std::collections::VecDeque;

use protocol::api::DecideParams;
use protocol::{Ask, AskDecision, AskId, AskSubject, CallId, PlanAction, TaskId};

use super::call_arguments;
use super::text::{LinePrefix, StyledRow, StyledSpan, wrap};
use crate::escape::escape_invisible;
use crate::style::TextRole;

/// Maximum rows of a call, unless the user asks for all of it.
const MAX_CALL_ROWS: usize = 30;

/// Open asks, oldest first.
#[derive(Debug, Default)]
pub(super) struct AskQueue {
    queue: VecDeque<QueuedAsk>,
    stage: AskStage,
    /// Whether the current ask replaced another one without input of the user, who may be about to answer the other.
    replaced_without_input: bool,
}

#[derive(Debug)]
struct QueuedAsk {
    task: TaskId,
    /// The task's name; empty for the root.
    task_name: String,
    /// Its number in the session, for `bosun approvals` in another terminal.
    number: Option<u64>,
    ask: Ask,
}

/// The expected input.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum AskStage {
    /// A decision, or an answer.
    #[default]
    Decision,
    /// The reason for a denial.
    Reason,
}

/// The meaning of a line for the current ask.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum AskInputResult {
    /// A decision.
    Decided(DecideParams),
    /// More input is needed.
    NeedsReason,
    /// A request for all details.
    Explain,
    /// Not understood; the text says what input is expected.
    Unclear(&'static str),
}

impl AskQueue {
    /// Adds an ask; returns whether it is the current one.
    pub(super) fn add(&mut self, task: TaskId, task_name: &str, number: Option<u64>, ask: Ask) -> bool {
        if self.queue.iter().any(|queued| queued.ask.id == ask.id) {
            return false;
        }
        self.queue.push_back(QueuedAsk { task, task_name: task_name.to_owned(), number, ask });
        self.queue.len() == 1
    }

    /// Removes an ask that was decided elsewhere; returns its title.
    pub(super) fn remove_decided(&mut self, id: &AskId) -> Option<String> {
        let index = self.queue.iter().position(|queued| queued.ask.id == *id)?;
        self.remove_and_advance(index).map(|queued| queued.title())
    }

    /// Removes the ask of a call that has ended; returns whether there was one.
    pub(super) fn remove_withdrawn(&mut self, task: TaskId, call: &CallId) -> bool {
        let position = self.queue.iter().position(|queued| queued.task == task && queued.ask.call == *call);
        position.is_some_and(|index| self.remove_and_advance(index).is_some())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// The current ask.
    pub(super) fn current(&self) -> Option<&AskId> {
        self.queue.front().map(|queued| &queued.ask.id)
    }

    /// All open asks, one line each.
    pub(super) fn titles(&self) -> Vec<String> {
        self.queue.iter().map(QueuedAsk::summary_line).collect()
    }

    /// Interprets a line for the current ask; a decision removes the ask.
    pub(super) fn answer(&mut self, line: &str) -> AskInputResult {
        let Some(queued) = self.queue.front() else { return AskInputResult::Unclear("nothing waits for a decision") };
        if std::mem::take(&mut self.replaced_without_input) {
            return AskInputResult::Unclear(
                "not accepted: the request that you were answering is already decided; answer this one",
            );
        }
        let choice = match (&queued.ask.subject, self.stage) {
            (AskSubject::Permission { rules, .. }, AskStage::Decision) => parse_permission(line.trim(), rules),
            (AskSubject::Permission { .. }, AskStage::Reason) => {
                AskChoice::Decide(AskDecision::Deny { message: line.trim().into() })
            }
            (AskSubject::Question { choices, .. }, _) => parse_reply(line.trim(), choices),
            (AskSubject::Plan { .. }, _) if line.trim() == "?" => AskChoice::Explain,
            (AskSubject::Plan { .. }, _) if line.trim().is_empty() => {
                AskChoice::Unclear("type a number, or the changes you want")
            }
            (AskSubject::Plan { actions, .. }, _) => AskChoice::Decide(parse_plan_decision(line, actions)),
        };
        match choice {
            AskChoice::Decide(decision) => {
                let ask = queued.ask.id.clone();
                self.remove_at(0);
                AskInputResult::Decided(DecideParams { ask, decision })
            }
            AskChoice::AskReason => {
                self.stage = AskStage::Reason;
                AskInputResult::NeedsReason
            }
            AskChoice::Explain => AskInputResult::Explain,
            AskChoice::Unclear(text) => AskInputResult::Unclear(text),
        }
    }

    /// The current ask in rows, at this level of detail.
    pub(super) fn current_rows(&self, detail: AskDetail, columns: usize) -> Vec<StyledRow> {
        let Some(queued) = self.queue.front() else { return Vec::new() };
        let mut rows = vec![StyledRow::new()];
        let lead = match queued.number {
            Some(number) => LinePrefix::hanging(StyledSpan::new(TextRole::Accent, &format!("? {number} · "))),
            None => LinePrefix::hanging(StyledSpan::new(TextRole::Accent, "? ")),
        };
        match &queued.ask.subject {
            AskSubject::Permission { tool, input, reason, rules } => {
                let prefix =
                    if queued.task_name.is_empty() { String::new() } else { format!("{}: ", queued.task_name) };
                let heading = escape_invisible(&format!("{prefix}{tool} needs your permission"));
                rows.extend(wrap(&[StyledSpan::new(TextRole::Strong, &heading)], columns, &lead));
                rows.extend(clip_rows(call_arguments::call_rows(input, columns), detail));
                let why = escape_invisible(&format!("because {reason}"));
                rows.extend(wrap(
                    &[StyledSpan::new(TextRole::Dim, &why)],
                    columns,
                    &LinePrefix::hanging(StyledSpan::plain("  ")),
                ));
                if detail == AskDetail::Full {
                    rows.extend(explanation_rows(rules, columns));
                }
            }
            AskSubject::Question { question, choices } => {
                rows.extend(wrap(&[StyledSpan::new(TextRole::Strong, &escape_invisible(question))], columns, &lead));
                for (index, choice) in choices.iter().enumerate() {
                    let number = LinePrefix::hanging(StyledSpan::plain(&format!("  {}. ", index + 1)));
                    rows.extend(wrap(&[StyledSpan::plain(&escape_invisible(choice))], columns, &number));
                }
            }
            AskSubject::Plan { summary, plan, actions, recommended, .. } => {
                let heading = escape_invisible(&format!("plan ready: {summary}"));
                rows.extend(wrap(&[StyledSpan::new(TextRole::Strong, &heading)], columns, &lead));
                let margin = LinePrefix::repeated(StyledSpan::plain("  "));
                let lines =
                    plan.lines().flat_map(|line| wrap(&[StyledSpan::plain(&escape_invisible(line))], columns, &margin));
                rows.extend(clip_rows(lines.collect(), detail));
                for (index, action) in actions.iter().enumerate() {
                    let mark = if action == recommended { " (recommended)" } else { "" };
                    let number = LinePrefix::hanging(StyledSpan::plain(&format!("  {}. ", index + 1)));
                    let text = format!("{action}: {}{mark}", action.description());
                    rows.extend(wrap(&[StyledSpan::plain(&text)], columns, &number));
                }
            }
        }
        rows
    }

    /// The hint for the expected input.
    pub(super) fn input_hint_rows(&self, columns: usize) -> Vec<StyledRow> {
        let Some(queued) = self.queue.front() else { return Vec::new() };
        let hint = match (&queued.ask.subject, self.stage) {
            (AskSubject::Permission { rules, .. }, AskStage::Decision) if rules.is_empty() => {
                "[y] once  [n] no  [s] say why not  [?] explain".into()
            }
            (AskSubject::Permission { rules, .. }, AskStage::Decision) => {
                let rules: Vec<String> = rules.iter().map(|rule| format!("\"{}\"", escape_invisible(rule))).collect();
                format!("[y] once  [a] always {}  [n] no  [s] say why not  [?] explain", rules.join(", "))
            }
            (AskSubject::Permission { .. }, AskStage::Reason) => "tell the agent why".into(),
            (AskSubject::Question { choices, .. }, _) if choices.is_empty() => "answer in your own words".into(),
            (AskSubject::Question { .. }, _) => "a number, or your own words".into(),
            (AskSubject::Plan { .. }, _) => "a number, or the changes you want  [?] the whole plan".into(),
        };
        wrap(&[StyledSpan::plain(&hint)], columns, &LinePrefix::default())
    }

    /// The prompt of the input line.
    pub(super) fn prompt(&self) -> Option<String> {
        let queued = self.queue.front()?;
        let question = match (&queued.ask.subject, self.stage) {
            (AskSubject::Permission { .. }, AskStage::Decision) => "allow",
            (AskSubject::Permission { .. }, AskStage::Reason) => "why not",
            (AskSubject::Question { .. }, _) => "answer",
            (AskSubject::Plan { .. }, _) => "proceed",
        };
        Some(match self.queue.len() {
            1 => format!("{question}? "),
            many => format!("{question} (1 of {many})? "),
        })
    }

    fn remove_and_advance(&mut self, index: usize) -> Option<QueuedAsk> {
        let removed = self.remove_at(index);
        self.replaced_without_input = (self.replaced_without_input || index == 0) && !self.queue.is_empty();
        removed
    }

    fn remove_at(&mut self, index: usize) -> Option<QueuedAsk> {
        if index == 0 {
            self.stage = AskStage::Decision;
        }
        self.queue.remove(index)
    }
}

/// How many rows of an ask are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AskDetail {
    /// Up to `MAX_CALL_ROWS`.
    Clipped,
    /// Everything.
    Full,
}

impl QueuedAsk {
    fn summary_line(&self) -> String {
        let number = self.number.map(|number| format!("{number}  ")).unwrap_or_default();
        format!("{number}{}  {}", self.ask.id.short(), self.title())
    }

    fn title(&self) -> String {
        let title = match &self.ask.subject {
            AskSubject::Permission { tool, input, .. } => {
                format!("{tool} {}", crate::event_text::main_argument(input))
            }
            AskSubject::Question { question, .. } => question.clone(),
            AskSubject::Plan { summary, .. } => summary.clone(),
        };
        crate::print::one_line(&escape_invisible(&title), 60)
    }
}

enum AskChoice {
    Decide(AskDecision),
    AskReason,
    Explain,
    Unclear(&'static str),
}

fn parse_permission(line: &str, rules: &[String]) -> AskChoice {
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    match (word, rest.trim()) {
        ("y" | "yes", "") => AskChoice::Decide(AskDecision::Allow { rules: Vec::new(), input: None }),
        ("a" | "always", "") if rules.is_empty() => AskChoice::Unclear("no rule can allow this call; y allows it once"),
        ("a" | "always", "") => AskChoice::Decide(AskDecision::Allow { rules: rules.to_vec(), input: None }),
        ("n" | "no", reason) => AskChoice::Decide(AskDecision::Deny { message: reason.into() }),
        ("s", "") => AskChoice::AskReason,
        ("?", "") => AskChoice::Explain,
        _other => AskChoice::Unclear("type y, n, s or ? and Enter (or a, if a rule is offered)"),
    }
}

fn parse_reply(line: &str, choices: &[String]) -> AskChoice {
    let number = line.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
    match number.and_then(|index| choices.get(index)) {
        Some(choice) => AskChoice::Decide(AskDecision::Reply { text: choice.clone() }),
        None if line.is_empty() => AskChoice::Unclear("type an answer, or stop the turn with Ctrl-C"),
        None => AskChoice::Decide(AskDecision::Reply { text: line.to_owned() }),
    }
}

/// Parses a line that answers a plan: the number or name of an action, otherwise the requested changes.
pub fn parse_plan_decision(line: &str, actions: &[PlanAction]) -> AskDecision {
    let line = line.trim();
    let number = line.parse::<usize>().ok().and_then(|number| actions.get(number.checked_sub(1)?).copied());
    match number.or(PlanAction::from_name(line)).filter(|action| actions.contains(action)) {
        Some(action) => AskDecision::Proceed { action },
        None => AskDecision::Deny { message: line.to_owned() },
    }
}

fn clip_rows(mut rows: Vec<StyledRow>, detail: AskDetail) -> Vec<StyledRow> {
    let hidden = rows.len().saturating_sub(MAX_CALL_ROWS);
    if detail == AskDetail::Clipped && hidden > 0 {
        rows.truncate(MAX_CALL_ROWS);
        rows.push(vec![StyledSpan::new(TextRole::Accent, &format!("  … {hidden} more rows: ? shows them"))]);
    }
    rows
}

fn explanation_rows(rules: &[String], columns: usize) -> Vec<StyledRow> {
    let named: Vec<String> = rules.iter().map(|rule| format!("`{rule}`")).collect();
    let always = match named.as_slice() {
        [] => "no rule can allow this call: Bosun asks every time".into(),
        [rule] => format!("a allows it and, from now on, every call in this project that {rule} matches"),
        several => {
            let rules = several.join(", ");
            format!("a allows it and, from now on, every call in this project that one of {rules} matches")
        }
    };
    let lines = [
        "y allows this one call".to_owned(),
        escape_invisible(&always),
        "n denies it, and the agent continues without it; text after n, or after s, tells it why".into(),
        "nothing runs before you decide; another terminal can decide with `bosun approvals`".into(),
    ];
    lines
        .iter()
        .flat_map(|line| wrap(&[StyledSpan::plain(line)], columns, &LinePrefix::hanging(StyledSpan::plain("  · "))))
        .collect()
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::chat::text::{paint, row_width};
    use crate::style::Style;

    fn ask(number: u32, subject: AskSubject) -> Ask {
        Ask { id: AskId(format!("ask-{number}")), call: CallId(format!("call-{number}")), subject, until_at: None }
    }

    fn shell(number: u32, rule: Option<&str>) -> Ask {
        let input = format!(r#"{{"command":"echo {number}"}}"#);
        let rules = rule.map(str::to_owned).into_iter().collect();
        ask(number, AskSubject::Permission { tool: "shell".into(), input, reason: "the mode is default".into(), rules })
    }

    fn asks(all: Vec<Ask>) -> AskQueue {
        let mut asks = AskQueue::default();
        for ask in all {
            asks.add(root(), "", None, ask);
        }
        asks
    }

    fn root() -> TaskId {
        TaskId::new(Uuid::nil())
    }

    fn decision(asks: &mut AskQueue, line: &str) -> Option<AskDecision> {
        match asks.answer(line) {
            AskInputResult::Decided(params) => Some(params.decision),
            AskInputResult::NeedsReason | AskInputResult::Explain | AskInputResult::Unclear(_) => None,
        }
    }

    #[test]
    fn permission_answers_are_parsed() {
        let once = || asks(vec![shell(1, Some("shell(echo *)"))]);
        assert_eq!(decision(&mut once(), "y"), Some(AskDecision::Allow { rules: Vec::new(), input: None }));
        assert_eq!(
            decision(&mut once(), " a "),
            Some(AskDecision::Allow { rules: vec!["shell(echo *)".into()], input: None })
        );
        assert_eq!(decision(&mut once(), "n"), Some(AskDecision::Deny { message: String::new() }));
        assert_eq!(decision(&mut once(), "n use make"), Some(AskDecision::Deny { message: "use make".into() }));
        for unclear in ["", "yes please", "fix the bug", "a b", "Y"] {
            assert_eq!(decision(&mut once(), unclear), None, "{unclear}");
        }
        assert_eq!(decision(&mut asks(vec![shell(1, None)]), "a"), None);
    }

    #[test]
    fn reason_is_asked_on_a_second_line() {
        let mut asks = asks(vec![shell(1, None), shell(2, None)]);
        assert_eq!(asks.prompt().unwrap(), "allow (1 of 2)? ");
        assert_eq!(asks.answer("s"), AskInputResult::NeedsReason);
        assert_eq!(asks.prompt().unwrap(), "why not (1 of 2)? ");
        assert_eq!(decision(&mut asks, "y"), Some(AskDecision::Deny { message: "y".into() }));
        assert_eq!(asks.prompt().unwrap(), "allow? ");
    }

    #[test]
    fn edit_is_shown_as_a_diff_with_number_and_agent() {
        let input = r#"{"path":"a.rs","old":"fn a() {\n    1\n}","new":"fn a() {\n    2\n}"}"#.to_owned();
        let (tool, reason) = ("edit".into(), "the mode is default".into());
        let mut asks = AskQueue::default();
        let edit = ask(1, AskSubject::Permission { tool, input, reason, rules: Vec::new() });
        assert!(asks.add(root(), "reader", Some(7), edit));
        let shown: Vec<_> =
            asks.current_rows(AskDetail::Clipped, 60).iter().map(|row| paint(row, Style::Plain)).collect();
        let expected = [
            "",
            "? 7 · reader: edit needs your permission",
            "  path: a.rs",
            "    fn a() {",
            "  -     1",
            "  +     2",
            "    }",
            "  because the mode is default",
        ];
        assert_eq!(shown, expected);
        assert_eq!(asks.titles(), ["7  ask-1  edit a.rs"]);
    }

    #[test]
    fn answer_to_a_removed_ask_is_not_applied_to_the_next() {
        let mut asks = asks(vec![shell(1, None), shell(2, None), shell(3, None)]);
        assert!(asks.remove_decided(&AskId("ask-2".into())).is_some());
        assert!(asks.remove_decided(&AskId("ask-1".into())).is_some());
        assert_eq!(decision(&mut asks, "y"), None);
        assert_eq!(decision(&mut asks, "y"), Some(AskDecision::Allow { rules: Vec::new(), input: None }));
        assert!(asks.is_empty());
    }

    #[test]
    fn asks_decided_or_withdrawn_elsewhere_are_removed() {
        let mut asks = asks(vec![shell(1, None), shell(2, None), shell(3, None)]);
        assert_eq!(asks.remove_decided(&AskId("ask-2".into())).as_deref(), Some("shell echo 2"));
        assert_eq!(asks.remove_decided(&AskId("ask-2".into())), None);
        asks.answer("s");
        assert!(asks.remove_withdrawn(root(), &CallId("call-1".into())));
        assert_eq!((asks.current(), asks.prompt().unwrap()), (Some(&AskId("ask-3".into())), "allow? ".into()));
    }

    #[test]
    fn question_accepts_a_number_or_text() {
        let choices = vec!["red".to_owned(), "blue".to_owned()];
        let question =
            || asks(vec![ask(1, AskSubject::Question { question: "Which?".into(), choices: choices.clone() })]);
        let reply = |line| decision(&mut question(), line);
        assert_eq!(reply("2"), Some(AskDecision::Reply { text: "blue".into() }));
        assert_eq!(reply("0"), Some(AskDecision::Reply { text: "0".into() }));
        assert_eq!(reply("green"), Some(AskDecision::Reply { text: "green".into() }));
        assert_eq!(reply(""), None);
        let shown: Vec<_> =
            question().current_rows(AskDetail::Clipped, 40).iter().map(|row| paint(row, Style::Plain)).collect();
        assert_eq!(shown, ["", "? Which?", "  1. red", "  2. blue"]);
    }

    #[test]
    fn plan_accepts_an_action_or_requested_changes() {
        let actions = vec![PlanAction::Autopilot, PlanAction::ExitOnly];
        let plan = || {
            asks(vec![ask(
                1,
                AskSubject::Plan {
                    summary: "Two steps".into(),
                    plan: "1. a\n2. b".into(),
                    actions: actions.clone(),
                    recommended: PlanAction::Autopilot,
                    default_action: PlanAction::ExitOnly,
                },
            )])
        };
        let proceed = |action| Some(AskDecision::Proceed { action });
        assert_eq!(decision(&mut plan(), "1"), proceed(PlanAction::Autopilot));
        assert_eq!(decision(&mut plan(), " exit-only "), proceed(PlanAction::ExitOnly));
        for changes in ["smaller steps", "3", "interactive"] {
            assert_eq!(decision(&mut plan(), changes), Some(AskDecision::Deny { message: changes.into() }));
        }
        assert_eq!(decision(&mut plan(), " "), None);
        let shown: Vec<_> =
            plan().current_rows(AskDetail::Clipped, 70).iter().map(|row| paint(row, Style::Plain)).collect();
        let expected = [
            "",
            "? plan ready: Two steps",
            "  1. a",
            "  2. b",
            "  1. autopilot: carry out the plan without you, until it is done",
            "     (recommended)",
            "  2. exit_only: leave plan mode and do nothing yet",
        ];
        assert_eq!(shown, expected);
    }

    #[test]
    fn call_is_shown_in_full_on_request_and_fits_the_width() {
        let input = format!(r#"{{"command":"{}"}}"#, "echo\\n".repeat(100));
        let (tool, reason) = ("shell".into(), "r".into());
        let asks = asks(vec![ask(1, AskSubject::Permission { tool, input, reason, rules: Vec::new() })]);
        let (most, all) = (asks.current_rows(AskDetail::Clipped, 40), asks.current_rows(AskDetail::Full, 40));
        assert!(most.len() < 40 && all.len() > 100);
        assert!(all.iter().chain(&asks.input_hint_rows(40)).all(|row| row_width(row) <= 40));
    }
}
