//! Random logs: lines of every grouping add up to the turns of the log.

use host::{Home, ProcessIdentity};
use proptest::prelude::*;
use protocol::{
    Cost, Event, LogEntry, ModelFault, Price, SessionId, StopReason, TaskId, TaskSpec, TaskType, Timestamp, Turn, Usage,
};
use testkit::store::{SessionFile, SessionReader, WriteBatch};
use uuid::Uuid;

use super::*;

const MODELS: [&str; 3] = ["a/small", "b/large", "c/unpriced"];
const AGENTS: [&str; 3] = ["main", "explore", "task"];

/// One attempt at a turn of one of the tasks.
#[derive(Debug, Clone)]
struct RandomTurnAttempt {
    session: usize,
    task: usize,
    model: usize,
    /// Whether it retries the task's last turn, if that turn has no answer.
    is_retry: bool,
    usage: Option<Usage>,
}

fn price(model: usize) -> Option<Price> {
    let scaled = |n: u64| Price { input: n, output: 3 * n, cache_read: n / 10, cache_write: 2 * n };
    [Some(scaled(1_000_000)), Some(scaled(7_000_000)), None][model]
}

fn attempts() -> impl Strategy<Value = Vec<RandomTurnAttempt>> {
    let usage = (0..5_000_u64, 0..500_u64, 0..900_u64, 0..90_u64)
        .prop_map(|(input, output, cache_read, cache_write)| Usage { input, output, cache_read, cache_write });
    let attempt = (0..2_usize, 0..3_usize, 0..3_usize, any::<bool>(), proptest::option::of(usage)).prop_map(
        |(session, task, model, again, usage)| RandomTurnAttempt { session, task, model, is_retry: again, usage },
    );
    proptest::collection::vec(attempt, 0..60)
}

/// The log of a session: a root, two agents below it, and their attempts.
fn log(session: usize, attempts: &[RandomTurnAttempt]) -> Vec<LogEntry> {
    let id = |task: usize| TaskId::new(Uuid::from_u128((session * 10 + task + 1) as u128));
    let mut entries = Vec::new();
    for (task, agent) in AGENTS.iter().enumerate() {
        let (kind, parent) = if task == 0 { (TaskType::Main, None) } else { (TaskType::Agent, Some(id(0))) };
        let spec = TaskSpec { parent, ..TaskSpec::new(kind, *agent, format!("t{task}")) };
        entries.push(LogEntry { task: id(task), at: Timestamp(1), event: Event::TaskCreated(Box::new(spec)) });
    }
    let (mut turns, mut failed) = ([0_u32; 3], [false; 3]);
    for attempt in attempts.iter().filter(|attempt| attempt.session == session) {
        if !(attempt.is_retry && failed[attempt.task]) {
            turns[attempt.task] += 1;
        }
        failed[attempt.task] = attempt.usage.is_none();
        let turn = Turn(turns[attempt.task]);
        let begun = Event::TurnBegun {
            turn,
            model: MODELS[attempt.model].into(),
            reserved: Cost { tokens: 40, micros: 9 },
            price: price(attempt.model),
            max_output: None,
            quoted: protocol::QuotedTokens::default(),
        };
        let ended = match attempt.usage {
            Some(usage) => {
                let micros = price(attempt.model).map_or(0, |price| price.cost(usage));
                let cost = Cost { tokens: usage.total(), micros };
                let (content, stop, model) = (Vec::new(), StopReason::End, MODELS[attempt.model].into());
                Event::TurnAnswered { turn, content, stop, usage, cost, model }
            }
            None => {
                let cost = Cost { tokens: 40, micros: if attempt.model == 2 { 0 } else { 9 } };
                Event::TurnFailed { turn, fault: ModelFault::Transient, message: "cut".into(), cost, retry: None }
            }
        };
        entries.extend([begun, ended].map(|event| LogEntry { task: id(attempt.task), at: Timestamp(2), event }));
    }
    entries
}

/// Returns the number, usage and cost of all turns of a log.
fn totals(log: &[LogEntry]) -> (u64, Usage, Cost) {
    log.iter().fold((0, Usage::default(), Cost::ZERO), |(turns, used, spent), entry| match &entry.event {
        Event::TurnAnswered { usage, cost, .. } => (turns + 1, used.plus(*usage), spent.plus(*cost)),
        Event::TurnFailed { cost, .. } => (turns, used, spent.plus(*cost)),
        _other => (turns, used, spent),
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_grouping_adds_up_to_the_recorded_turns(attempts in attempts()) {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(folder.path().join("home")).unwrap();
        let owner = ProcessIdentity { boot: "an earlier boot".into(), pid: 1, start_ticks: 1 };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let (mut all, mut spendings) = (Vec::new(), Vec::new());
        for number in 0..2 {
            let id = SessionId::new(Uuid::from_u128(number as u128 + 1));
            let opened = SessionFile::create(&home, id, &owner, Timestamp(1)).unwrap();
            let entries = log(number, &attempts);
            runtime.block_on(opened.writer.commit(WriteBatch { entries: entries.clone(), applied_commands: Vec::new() })).unwrap();
            all.extend(entries);
            let read = SessionReader::open(&home, id).unwrap().spendings(Timestamp(0)).unwrap();
            spendings.extend(read.into_iter().map(|spending| (id, spending)));
        }
        let (turns, usage, spent) = totals(&all);
        for by in [UsageGrouping::Session, UsageGrouping::Model, UsageGrouping::Agent, UsageGrouping::Task] {
            let mut totals = UsageTotals::new(by);
            spendings.iter().for_each(|(id, spending)| totals.add(*id, "title", spending));
            let report = totals.into_report(Vec::new());
            prop_assert_eq!((report.total.usage, report.total.spent), (usage, spent));
            let lines = report.lines.iter().fold((0, Usage::default(), Cost::ZERO), |(n, used, cost), line| {
                (n + line.sum.turns, used.plus(line.sum.usage), cost.plus(line.sum.spent))
            });
            prop_assert_eq!(lines, (turns, usage, spent));
        }
    }
}
