//! How a fleet ended: a table of its todos, or everything as JSON, and an exit code that tells the truth.

use std::time::{Duration, Instant};

use host::Home;
use protocol::api::TodoView;
use protocol::{FleetEnd, SessionId, TodoStatus};
use runtime::{FleetOutcome, Halt, Summary, Taken};
use serde::Serialize;
use store::Reader;

use super::account::{Account, Line};
use super::follow::{Followed, Paused};
use crate::args::{Format, RunArgs};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::print;
use crate::run::{Denial, Figures, Report};
use crate::todos::Mark;

/// Most letters of a title, and of a reason.
const TITLE: usize = 40;
const REASON: usize = 200;

/// How a fleet ended.
pub(super) struct FleetReport {
    id: SessionId,
    followed: Followed,
    paused: Paused,
    account: Option<Account>,
    report: Report,
    figures: Figures,
    took: Duration,
    /// What became of the work of isolated workers.
    merged: Option<Summary>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Written<'a> {
    r#type: &'static str,
    session: SessionId,
    outcome: &'static str,
    message: Option<String>,
    exit_code: u8,
    duration_ms: u128,
    fleet: Option<&'a Account>,
    /// What became of the work of isolated workers.
    #[serde(skip_serializing_if = "Option::is_none")]
    merged: Option<&'a Summary>,
    /// What the main agent said last.
    text: &'a str,
    turns: u64,
    usage: protocol::Usage,
    cost_usd: crate::money::Money,
    denials: &'a [Denial],
}

impl FleetReport {
    pub(super) fn read(
        home: &Home,
        id: SessionId,
        followed: Followed,
        paused: Paused,
        report: Report,
        began: Instant,
    ) -> Result<FleetReport, Failure> {
        let reader = Reader::open(home, id)?;
        let (account, figures) = (Account::read(&reader, id)?, Figures::read(&reader)?);
        Ok(FleetReport { id, followed, paused, account, report, figures, took: began.elapsed(), merged: None })
    }

    /// The same with what became of the work of isolated workers.
    pub(super) fn merged(self, merged: Option<Summary>) -> FleetReport {
        FleetReport { merged, ..self }
    }

    /// Writes the report, and gives the exit code.
    pub(super) fn write(self, args: &RunArgs) -> Result<Exit, Failure> {
        match args.output_format {
            Format::Text => {
                let said = print::plain(self.report.said());
                if !said.trim().is_empty() {
                    print::answer(format_args!("{}\n", said.trim_end()));
                }
                self.account.iter().for_each(table);
                self.merged.iter().for_each(|merged| print::answer(format_args!("\n{}", print::plain(&merged.text()))));
            }
            Format::Json | Format::Jsonl => print::json(&self.written()),
        }
        self.explain();
        if let (Format::Text, false, Some(line)) = (args.output_format, args.quiet, self.figures.line()) {
            print::note(line);
        }
        Ok(self.exit())
    }

    fn written(&self) -> Written<'_> {
        Written {
            r#type: "fleet",
            session: self.id,
            outcome: self.outcome(),
            message: self.message(),
            exit_code: self.exit().code(),
            duration_ms: self.took.as_millis(),
            fleet: self.account.as_ref(),
            merged: self.merged.as_ref(),
            text: self.report.said(),
            turns: self.figures.turns(),
            usage: self.figures.usage(),
            cost_usd: self.figures.cost(),
            denials: &self.report.denials,
        }
    }

    fn outcome(&self) -> &'static str {
        match &self.followed {
            Followed::Ended(FleetOutcome::Ended(FleetEnd::Done)) => "done",
            Followed::Ended(FleetOutcome::Ended(FleetEnd::Blocked)) => "blocked",
            Followed::Ended(FleetOutcome::Ended(FleetEnd::Stopped) | FleetOutcome::Left) | Followed::Told => "stopped",
            Followed::Ended(FleetOutcome::Halted(Halt::Budget)) => "budget_exhausted",
            Followed::Ended(FleetOutcome::Halted(Halt::Time)) => "timed_out",
            Followed::Ended(FleetOutcome::Unplanned(_)) => "unplanned",
            Followed::Ended(FleetOutcome::Broken(_)) => "failed",
            Followed::Parked => "parked",
            Followed::Paused => "paused",
        }
    }

    /// What a person should know besides the outcome.
    fn message(&self) -> Option<String> {
        match &self.followed {
            Followed::Ended(FleetOutcome::Unplanned(reason) | FleetOutcome::Broken(reason)) => Some(reason.clone()),
            Followed::Ended(FleetOutcome::Halted(Halt::Budget)) => Some("the session has spent what it may".into()),
            Followed::Ended(FleetOutcome::Halted(Halt::Time)) => Some("the time is up".into()),
            Followed::Paused => self.paused.as_ref().map(ToString::to_string),
            Followed::Ended(FleetOutcome::Ended(_) | FleetOutcome::Left) | Followed::Told | Followed::Parked => None,
        }
    }

    fn explain(&self) {
        let id = self.id;
        if let Some(message) = self.message() {
            let message = print::plain(&message);
            match &self.followed {
                Followed::Ended(FleetOutcome::Unplanned(_)) => print::error(&format!("there is no plan:\n{message}")),
                _other => print::error(&message),
            }
        }
        match (self.exit(), &self.followed) {
            // What is left for the person is told with what was merged.
            (_, Followed::Ended(FleetOutcome::Ended(FleetEnd::Done))) => {}
            (Exit::Budget, _) => {
                print::note(format_args!("hint: bosun fleet resume {id} --max-budget-usd … goes on with more"));
            }
            (_, Followed::Ended(FleetOutcome::Unplanned(_))) => {
                print::note(format_args!("hint: bosun fleet resume {id} asks for a plan again"));
            }
            _other => print::note(format_args!("hint: go on with: bosun fleet resume {id}")),
        }
    }

    /// Whether the user's branch was to move, and has not.
    fn is_kept(&self) -> bool {
        let merge = self.account.as_ref().is_some_and(|account| account.terms.merge);
        let kept = |merged: &Summary| match merged.taken {
            Taken::Branch { .. } | Taken::Mixed { .. } => true,
            Taken::Landed { .. } | Taken::Nothing => false,
        };
        merge && self.merged.as_ref().is_some_and(kept)
    }

    fn exit(&self) -> Exit {
        match &self.followed {
            Followed::Ended(FleetOutcome::Ended(FleetEnd::Done)) if self.is_kept() => Exit::Partial,
            Followed::Ended(FleetOutcome::Ended(FleetEnd::Done)) => Exit::Success,
            Followed::Ended(FleetOutcome::Ended(FleetEnd::Blocked)) => {
                let done = self.account.as_ref().map_or(0, |account| account.count(TodoStatus::Done));
                if done > 0 { Exit::Partial } else { Exit::Failed }
            }
            Followed::Ended(FleetOutcome::Ended(FleetEnd::Stopped) | FleetOutcome::Left) | Followed::Told => {
                Exit::Cancelled
            }
            Followed::Ended(FleetOutcome::Halted(Halt::Budget)) => Exit::Budget,
            Followed::Ended(FleetOutcome::Halted(Halt::Time)) => Exit::Limit,
            Followed::Ended(FleetOutcome::Unplanned(_) | FleetOutcome::Broken(_)) | Followed::Paused => Exit::Failed,
            Followed::Parked => Exit::Parked,
        }
    }
}

/// The todos as a table, with reasons below those that have one.
pub(super) fn table(account: &Account) {
    let name = |line: &Line| print::plain(&print::one_line(&line.id.0, TITLE));
    let width = account.todos.iter().map(|line| name(line).chars().count()).chain([4]).max().unwrap_or(4);
    let row = |cells: [&str; 7]| {
        let [todo, status, tries, time, tokens, cost, title] = cells;
        print::row(format_args!(
            "{}  {status:<11}  {tries:>5}  {time:>8}  {tokens:>9}  {cost:>9}  {title}",
            print::cell(todo, width)
        ));
    };
    row(["todo", "status", "tries", "time", "tokens", "cost", "title"]);
    for line in &account.todos {
        let time = format!("{}.{} s", line.duration_ms / 1_000, line.duration_ms % 1_000 / 100);
        let (tries, tokens, cost) = (line.attempts.to_string(), line.tokens.to_string(), line.cost_usd.to_string());
        let title = print::plain(&print::one_line(&line.title, TITLE));
        row([&name(line), line.word(), &tries, &time, &tokens, &cost, &title]);
        if let Some(reason) = line.reason.as_deref().filter(|_| line.status != TodoStatus::Done) {
            print::answer(format_args!("  {}", print::reason(reason, REASON)));
        }
    }
    let of = |word: &str| account.todos.iter().filter(|line| line.word() == word).count();
    let statuses = TodoStatus::ALL.map(TodoStatus::word).into_iter();
    let words = [Mark::NeedsYou.word()].into_iter().chain(statuses).chain([TodoView::INTERRUPTED]);
    let counts: Vec<String> =
        words.map(|word| (of(word), word)).filter(|(n, _)| *n > 0).map(|(n, word)| format!("{n} {word}")).collect();
    print::answer(format_args!("{}: {}", print::count(account.todos.len(), "todo"), counts.join(", ")));
}
