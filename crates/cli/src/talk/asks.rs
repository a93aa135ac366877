//! What waits for the person: calls that need permission, and questions, one after the other.

use std::collections::VecDeque;

use protocol::api::DecideParams;
use protocol::{Ask, AskId, CallId, Decision, Subject, TaskId};

use super::arguments;
use super::text::{Lead, Row, Span, wrap};
use crate::approvals::on_plan;
use crate::exact::exact;
use crate::style::Role;

/// Most rows that a call takes before somebody asks for all of it.
const ROWS: usize = 30;

/// The asks that are open, oldest first.
#[derive(Debug, Default)]
pub(super) struct Asks {
    queue: VecDeque<Waiting>,
    stage: Stage,
    /// Whether the one that is shown took the place of another without a word of the person, who may be about to decide
    /// on that other one.
    moved: bool,
}

#[derive(Debug)]
struct Waiting {
    task: TaskId,
    /// The task's name, unless it is the root.
    whose: String,
    /// Its number in the session, by which another terminal can decide it.
    number: Option<u64>,
    ask: Ask,
}

/// What is to be typed.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// A decision, or an answer.
    #[default]
    Choose,
    /// Why it is not permitted.
    Why,
}

/// What a line said about the ask that is shown.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Said {
    /// This.
    Decided(DecideParams),
    /// More is to be typed.
    More,
    /// The person wants to see everything.
    Explain,
    /// Nothing; the words say what would.
    Unclear(&'static str),
}

impl Asks {
    /// Adds one; whether it is the one to show.
    pub(super) fn add(&mut self, task: TaskId, whose: &str, number: Option<u64>, ask: Ask) -> bool {
        if self.queue.iter().any(|waiting| waiting.ask.id == ask.id) {
            return false;
        }
        self.queue.push_back(Waiting { task, whose: whose.to_owned(), number, ask });
        self.queue.len() == 1
    }

    /// Takes out one that was decided elsewhere; what it was about.
    pub(super) fn decided(&mut self, id: &AskId) -> Option<String> {
        let at = self.queue.iter().position(|waiting| waiting.ask.id == *id)?;
        self.move_up(at).map(|waiting| waiting.title())
    }

    /// Takes out one whose call has ended; whether there was one.
    pub(super) fn withdrawn(&mut self, task: TaskId, call: &CallId) -> bool {
        let found = self.queue.iter().position(|waiting| waiting.task == task && waiting.ask.call == *call);
        found.is_some_and(|at| self.move_up(at).is_some())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// The ask that is shown.
    pub(super) fn current(&self) -> Option<&AskId> {
        self.queue.front().map(|waiting| &waiting.ask.id)
    }

    /// Everything that waits, in one row each.
    pub(super) fn titles(&self) -> Vec<String> {
        self.queue.iter().map(Waiting::line).collect()
    }

    /// What a line says about the ask that is shown; a decision takes it out.
    pub(super) fn answer(&mut self, line: &str) -> Said {
        let Some(waiting) = self.queue.front() else { return Said::Unclear("nothing waits for a decision") };
        if std::mem::take(&mut self.moved) {
            return Said::Unclear("not taken: what was shown before is decided, and this is another one; decide on it");
        }
        let said = match (&waiting.ask.subject, self.stage) {
            (Subject::Permission { rules, .. }, Stage::Choose) => choose(line.trim(), rules),
            (Subject::Permission { .. }, Stage::Why) => Choice::Decide(Decision::Deny { words: line.trim().into() }),
            (Subject::Question { choices, .. }, _) => reply(line.trim(), choices),
            (Subject::Plan { .. }, _) if line.trim() == "?" => Choice::Explain,
            (Subject::Plan { .. }, _) if line.trim().is_empty() => {
                Choice::Unclear("type a number, or what should be different")
            }
            (Subject::Plan { actions, .. }, _) => Choice::Decide(on_plan(line, actions)),
        };
        match said {
            Choice::Decide(decision) => {
                let ask = waiting.ask.id.clone();
                self.take(0);
                Said::Decided(DecideParams { ask, decision })
            }
            Choice::Why => {
                self.stage = Stage::Why;
                Said::More
            }
            Choice::Explain => Said::Explain,
            Choice::Unclear(words) => Said::Unclear(words),
        }
    }

    /// The ask that is shown, in rows; the whole of it if that is wanted.
    pub(super) fn rows(&self, whole: Whole, columns: usize) -> Vec<Row> {
        let Some(waiting) = self.queue.front() else { return Vec::new() };
        let mut rows = vec![Row::new()];
        let lead = match waiting.number {
            Some(number) => Lead::hanging(Span::new(Role::Accent, &format!("? {number} · "))),
            None => Lead::hanging(Span::new(Role::Accent, "? ")),
        };
        match &waiting.ask.subject {
            Subject::Permission { tool, input, reason, rules } => {
                let whose = if waiting.whose.is_empty() { String::new() } else { format!("{}: ", waiting.whose) };
                let head = exact(&format!("{whose}{tool} needs your permission"));
                rows.extend(wrap(&[Span::new(Role::Strong, &head)], columns, &lead));
                rows.extend(clipped(arguments::rows(input, columns), whole));
                let why = exact(&format!("because {reason}"));
                rows.extend(wrap(&[Span::new(Role::Dim, &why)], columns, &Lead::hanging(Span::plain("  "))));
                if whole == Whole::All {
                    rows.extend(explained(rules, columns));
                }
            }
            Subject::Question { question, choices } => {
                rows.extend(wrap(&[Span::new(Role::Strong, &exact(question))], columns, &lead));
                for (at, choice) in choices.iter().enumerate() {
                    let number = Lead::hanging(Span::plain(&format!("  {}. ", at + 1)));
                    rows.extend(wrap(&[Span::plain(&exact(choice))], columns, &number));
                }
            }
            Subject::Plan { summary, plan, actions, recommended, .. } => {
                let head = exact(&format!("the plan is made: {summary}"));
                rows.extend(wrap(&[Span::new(Role::Strong, &head)], columns, &lead));
                let margin = Lead::same(Span::plain("  "));
                let lines = plan.lines().flat_map(|line| wrap(&[Span::plain(&exact(line))], columns, &margin));
                rows.extend(clipped(lines.collect(), whole));
                for (at, action) in actions.iter().enumerate() {
                    let mark = if action == recommended { " (recommended)" } else { "" };
                    let number = Lead::hanging(Span::plain(&format!("  {}. ", at + 1)));
                    let words = format!("{action}: {}{mark}", action.about());
                    rows.extend(wrap(&[Span::plain(&words)], columns, &number));
                }
            }
        }
        rows
    }

    /// What can be typed now.
    pub(super) fn hint(&self, columns: usize) -> Vec<Row> {
        let Some(waiting) = self.queue.front() else { return Vec::new() };
        let words = match (&waiting.ask.subject, self.stage) {
            (Subject::Permission { rules, .. }, Stage::Choose) if rules.is_empty() => {
                "[y] once  [n] no  [s] say why not  [?] explain".into()
            }
            (Subject::Permission { rules, .. }, Stage::Choose) => {
                let rules: Vec<String> = rules.iter().map(|rule| format!("\"{}\"", exact(rule))).collect();
                format!("[y] once  [a] always {}  [n] no  [s] say why not  [?] explain", rules.join(", "))
            }
            (Subject::Permission { .. }, Stage::Why) => "what should it know?".into(),
            (Subject::Question { choices, .. }, _) if choices.is_empty() => "answer in your own words".into(),
            (Subject::Question { .. }, _) => "a number, or your own words".into(),
            (Subject::Plan { .. }, _) => "a number, or what should be different  [?] the whole plan".into(),
        };
        wrap(&[Span::plain(&words)], columns, &Lead::default())
    }

    /// What the line begins with.
    pub(super) fn prompt(&self) -> Option<String> {
        let waiting = self.queue.front()?;
        let word = match (&waiting.ask.subject, self.stage) {
            (Subject::Permission { .. }, Stage::Choose) => "allow",
            (Subject::Permission { .. }, Stage::Why) => "why not",
            (Subject::Question { .. }, _) => "answer",
            (Subject::Plan { .. }, _) => "go on",
        };
        Some(match self.queue.len() {
            1 => format!("{word}? "),
            many => format!("{word} (1 of {many})? "),
        })
    }

    fn move_up(&mut self, at: usize) -> Option<Waiting> {
        let taken = self.take(at);
        self.moved = (self.moved || at == 0) && !self.queue.is_empty();
        taken
    }

    fn take(&mut self, at: usize) -> Option<Waiting> {
        if at == 0 {
            self.stage = Stage::Choose;
        }
        self.queue.remove(at)
    }
}

/// How much of a call is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Whole {
    /// As much as fits well.
    Most,
    /// Everything.
    All,
}

impl Waiting {
    fn line(&self) -> String {
        let number = self.number.map(|number| format!("{number}  ")).unwrap_or_default();
        format!("{number}{}  {}", self.ask.id.short(), self.title())
    }

    fn title(&self) -> String {
        let title = match &self.ask.subject {
            Subject::Permission { tool, input, .. } => format!("{tool} {}", crate::run::show::gist(input)),
            Subject::Question { question, .. } => question.clone(),
            Subject::Plan { summary, .. } => summary.clone(),
        };
        crate::print::one_line(&exact(&title), 60)
    }
}

enum Choice {
    Decide(Decision),
    Why,
    Explain,
    Unclear(&'static str),
}

fn choose(line: &str, rules: &[String]) -> Choice {
    let (word, words) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    match (word, words.trim()) {
        ("y" | "yes", "") => Choice::Decide(Decision::Allow { rules: Vec::new(), input: None }),
        ("a" | "always", "") if rules.is_empty() => Choice::Unclear("no rule may allow this call; y allows it once"),
        ("a" | "always", "") => Choice::Decide(Decision::Allow { rules: rules.to_vec(), input: None }),
        ("n" | "no", words) => Choice::Decide(Decision::Deny { words: words.into() }),
        ("s", "") => Choice::Why,
        ("?", "") => Choice::Explain,
        _other => Choice::Unclear("type y, n, s or ? and Enter (a as well where a rule is offered)"),
    }
}

fn reply(line: &str, choices: &[String]) -> Choice {
    let number = line.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
    match number.and_then(|at| choices.get(at)) {
        Some(choice) => Choice::Decide(Decision::Reply { text: choice.clone() }),
        None if line.is_empty() => Choice::Unclear("type an answer, or stop the turn with Ctrl-C"),
        None => Choice::Decide(Decision::Reply { text: line.to_owned() }),
    }
}

fn clipped(mut rows: Vec<Row>, whole: Whole) -> Vec<Row> {
    let more = rows.len().saturating_sub(ROWS);
    if whole == Whole::Most && more > 0 {
        rows.truncate(ROWS);
        rows.push(vec![Span::new(Role::Accent, &format!("  … {more} more rows: ? shows them"))]);
    }
    rows
}

fn explained(rules: &[String], columns: usize) -> Vec<Row> {
    let named: Vec<String> = rules.iter().map(|rule| format!("`{rule}`")).collect();
    let always = match named.as_slice() {
        [] => "no rule may allow this call: it is asked every time".into(),
        [rule] => format!("a allows it, and in this project from now on everything that {rule} matches"),
        several => {
            format!(
                "a allows it, and in this project from now on everything that one of {} matches",
                several.join(", ")
            )
        }
    };
    let words = [
        "y allows this one call".to_owned(),
        exact(&always),
        "n denies it, and the agent goes on without; words after n, or after s, tell it why".into(),
        "nothing runs before you decide; another terminal can decide with `bosun approvals`".into(),
    ];
    words.iter().flat_map(|words| wrap(&[Span::plain(words)], columns, &Lead::hanging(Span::plain("  · ")))).collect()
}

#[cfg(test)]
mod tests {
    use protocol::PlanAction;
    use uuid::Uuid;

    use super::*;
    use crate::style::Style;
    use crate::talk::text::{paint, row_width};

    fn ask(number: u32, subject: Subject) -> Ask {
        Ask { id: AskId(format!("ask-{number}")), call: CallId(format!("call-{number}")), subject, until_at: None }
    }

    fn shell(number: u32, rule: Option<&str>) -> Ask {
        let input = format!(r#"{{"command":"echo {number}"}}"#);
        let rules = rule.map(str::to_owned).into_iter().collect();
        ask(number, Subject::Permission { tool: "shell".into(), input, reason: "the mode is default".into(), rules })
    }

    fn asks(all: Vec<Ask>) -> Asks {
        let mut asks = Asks::default();
        for ask in all {
            asks.add(root(), "", None, ask);
        }
        asks
    }

    fn root() -> TaskId {
        TaskId::new(Uuid::nil())
    }

    fn decision(asks: &mut Asks, line: &str) -> Option<Decision> {
        match asks.answer(line) {
            Said::Decided(params) => Some(params.decision),
            Said::More | Said::Explain | Said::Unclear(_) => None,
        }
    }

    #[test]
    fn every_word_means_what_it_says() {
        let once = || asks(vec![shell(1, Some("shell(echo *)"))]);
        assert_eq!(decision(&mut once(), "y"), Some(Decision::Allow { rules: Vec::new(), input: None }));
        assert_eq!(
            decision(&mut once(), " a "),
            Some(Decision::Allow { rules: vec!["shell(echo *)".into()], input: None })
        );
        assert_eq!(decision(&mut once(), "n"), Some(Decision::Deny { words: String::new() }));
        assert_eq!(decision(&mut once(), "n use make"), Some(Decision::Deny { words: "use make".into() }));
        for unclear in ["", "yes please", "fix the bug", "a b", "Y"] {
            assert_eq!(decision(&mut once(), unclear), None, "{unclear}");
        }
        assert_eq!(decision(&mut asks(vec![shell(1, None)]), "a"), None);
    }

    #[test]
    fn the_reason_comes_in_a_second_line() {
        let mut asks = asks(vec![shell(1, None), shell(2, None)]);
        assert_eq!(asks.prompt().unwrap(), "allow (1 of 2)? ");
        assert_eq!(asks.answer("s"), Said::More);
        assert_eq!(asks.prompt().unwrap(), "why not (1 of 2)? ");
        assert_eq!(decision(&mut asks, "y"), Some(Decision::Deny { words: "y".into() }));
        assert_eq!(asks.prompt().unwrap(), "allow? ");
    }

    /// B5: an edit was one line of JSON, and twelve digits its only name.
    #[test]
    fn an_edit_is_a_diff_under_its_number_and_its_agent() {
        let input = r#"{"path":"a.rs","old":"fn a() {\n    1\n}","new":"fn a() {\n    2\n}"}"#.to_owned();
        let (tool, reason) = ("edit".into(), "the mode is default".into());
        let mut asks = Asks::default();
        let edit = ask(1, Subject::Permission { tool, input, reason, rules: Vec::new() });
        assert!(asks.add(root(), "reader", Some(7), edit));
        let shown: Vec<_> = asks.rows(Whole::Most, 60).iter().map(|row| paint(row, Style::Plain)).collect();
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
    fn a_decision_on_an_ask_that_is_gone_is_not_taken_for_the_next() {
        let mut asks = asks(vec![shell(1, None), shell(2, None), shell(3, None)]);
        assert!(asks.decided(&AskId("ask-2".into())).is_some());
        assert!(asks.decided(&AskId("ask-1".into())).is_some());
        assert_eq!(decision(&mut asks, "y"), None);
        assert_eq!(decision(&mut asks, "y"), Some(Decision::Allow { rules: Vec::new(), input: None }));
        assert!(asks.is_empty());
    }

    #[test]
    fn what_is_decided_or_withdrawn_elsewhere_disappears() {
        let mut asks = asks(vec![shell(1, None), shell(2, None), shell(3, None)]);
        assert_eq!(asks.decided(&AskId("ask-2".into())).as_deref(), Some("shell echo 2"));
        assert_eq!(asks.decided(&AskId("ask-2".into())), None);
        asks.answer("s");
        assert!(asks.withdrawn(root(), &CallId("call-1".into())));
        assert_eq!((asks.current(), asks.prompt().unwrap()), (Some(&AskId("ask-3".into())), "allow? ".into()));
    }

    #[test]
    fn a_question_takes_a_number_or_words() {
        let choices = vec!["red".to_owned(), "blue".to_owned()];
        let question = || asks(vec![ask(1, Subject::Question { question: "Which?".into(), choices: choices.clone() })]);
        let reply = |line| decision(&mut question(), line);
        assert_eq!(reply("2"), Some(Decision::Reply { text: "blue".into() }));
        assert_eq!(reply("0"), Some(Decision::Reply { text: "0".into() }));
        assert_eq!(reply("green"), Some(Decision::Reply { text: "green".into() }));
        assert_eq!(reply(""), None);
        let shown: Vec<_> = question().rows(Whole::Most, 40).iter().map(|row| paint(row, Style::Plain)).collect();
        assert_eq!(shown, ["", "? Which?", "  1. red", "  2. blue"]);
    }

    #[test]
    fn x1_a_plan_takes_an_action_or_what_should_be_different() {
        let actions = vec![PlanAction::Autopilot, PlanAction::ExitOnly];
        let plan = || {
            asks(vec![ask(
                1,
                Subject::Plan {
                    summary: "Two steps".into(),
                    plan: "1. a\n2. b".into(),
                    actions: actions.clone(),
                    recommended: PlanAction::Autopilot,
                    otherwise: PlanAction::ExitOnly,
                },
            )])
        };
        let proceed = |action| Some(Decision::Proceed { action });
        assert_eq!(decision(&mut plan(), "1"), proceed(PlanAction::Autopilot));
        assert_eq!(decision(&mut plan(), " exit-only "), proceed(PlanAction::ExitOnly));
        for words in ["smaller steps", "3", "interactive"] {
            assert_eq!(decision(&mut plan(), words), Some(Decision::Deny { words: words.into() }));
        }
        assert_eq!(decision(&mut plan(), " "), None);
        let shown: Vec<_> = plan().rows(Whole::Most, 70).iter().map(|row| paint(row, Style::Plain)).collect();
        let expected = [
            "",
            "? the plan is made: Two steps",
            "  1. a",
            "  2. b",
            "  1. autopilot: carry the plan out without you, until it is done",
            "     (recommended)",
            "  2. exit_only: leave plan mode and do nothing yet",
        ];
        assert_eq!(shown, expected);
    }

    #[test]
    fn the_call_is_shown_whole_on_request_and_fits() {
        let input = format!(r#"{{"command":"{}"}}"#, "echo\\n".repeat(100));
        let (tool, reason) = ("shell".into(), "r".into());
        let asks = asks(vec![ask(1, Subject::Permission { tool, input, reason, rules: Vec::new() })]);
        let (most, all) = (asks.rows(Whole::Most, 40), asks.rows(Whole::All, 40));
        assert!(most.len() < 40 && all.len() > 100);
        assert!(all.iter().chain(&asks.hint(40)).all(|row| row_width(row) <= 40));
    }
}
