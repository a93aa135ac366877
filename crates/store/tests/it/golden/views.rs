//! What the golden files say.

use protocol::api::{AskState, AskView, SessionView, TaskView};
use protocol::{
    At, Budget, Cost, DecidedBy, Decision, Effort, Event, FailKind, Kind, Outcome, PermissionMode, RuleEffect,
    RuleText, TaskState, Usage,
};
use store::Spending;

use super::NEWEST;
use super::log::{BUDGET, asking_entries, entries, written};
use crate::support::*;

pub(super) fn tasks() -> Vec<TaskView> {
    let root = TaskView {
        id: task(1),
        parent: None,
        kind: Kind::Main,
        agent: "general".into(),
        path: "/root".into(),
        description: "what root is for".into(),
        state: TaskState::Idle,
        last_outcome: Some(Outcome::Completed),
        intent: Some("counting".into()),
        result: Some("There are 12.".into()),
        turns: 1,
        usage: Usage { input: 100, output: 20, cache_read: 3, cache_write: 4 },
        cost_micros: 52,
        created_at: At(11),
        updated_at: At(66),
    };
    let failed = Outcome::Failed { kind: FailKind::Model, message: "no answer".into() };
    let child = TaskView {
        id: task(2),
        parent: Some(task(1)),
        kind: Kind::Agent,
        path: "/root/tests".into(),
        description: "what tests is for".into(),
        state: TaskState::Finished { outcome: failed.clone() },
        last_outcome: Some(failed),
        intent: None,
        result: Some("12 so far".into()),
        turns: 0,
        usage: Usage::default(),
        cost_micros: 0,
        created_at: At(40),
        updated_at: At(49),
        ..root.clone()
    };
    vec![root, child]
}

pub(super) fn view() -> SessionView {
    SessionView {
        id: session(1),
        cwd: "/src".into(),
        model: "script/demo".into(),
        permission: PermissionMode::AllowAll,
        rules: Vec::new(),
        roots: Vec::new(),
        ask_user: true,
        max_turns: Some(7),
        budget: Budget::default(),
        effort: None,
        title: "Count the tests".into(),
        created_at: At(20),
        updated_at: At(66),
        state: TaskState::Idle,
        last_outcome: Some(Outcome::Completed),
        owner_pid: None,
        events: u64::try_from(entries().len()).unwrap(),
        turns: 1,
        usage: Usage { input: 100, output: 20, cache_read: 3, cache_write: 4 },
        spent: Cost { tokens: 128, micros: 52 },
        priced: false,
    }
}

/// The same with what came since.
pub(super) fn newer_view() -> SessionView {
    SessionView {
        budget: BUDGET,
        effort: Some(Effort::High),
        updated_at: At(78),
        events: u64::try_from(written(2).len()).unwrap(),
        turns: 2,
        usage: Usage { input: 105, output: 26, cache_read: 3, cache_write: 4 },
        spent: Cost { tokens: 179, micros: 247 },
        ..view()
    }
}

/// The same with what a person was asked.
pub(super) fn asking_view() -> SessionView {
    SessionView {
        permission: PermissionMode::AcceptEdits,
        rules: vec![RuleText { effect: RuleEffect::Deny, rule: "shell(sudo *)".into() }],
        roots: vec!["/more".into()],
        ask_user: false,
        budget: Budget::default(),
        effort: None,
        updated_at: At(97),
        events: u64::try_from(written(NEWEST).len()).unwrap(),
        ..newer_view()
    }
}

/// What was asked, and how it stands.
pub(super) fn asks() -> Vec<AskView> {
    let decided = |decision, by, at| AskState::Decided { decision, by, at: At(at) };
    let states = [
        decided(Decision::Allow { rule: Some("shell(rm *)".into()) }, DecidedBy::User, 94),
        decided(Decision::Deny { words: String::new() }, DecidedBy::Deadline, 96),
        AskState::Withdrawn,
        AskState::Open,
    ];
    let asked = asking_entries().into_iter().filter_map(|entry| match entry.event {
        Event::Asked(ask) => Some((entry.at, ask)),
        _other => None,
    });
    let view = |((asked_at, ask), state)| {
        let (session, task, path) = (session(1), task(1), "/root".into());
        AskView { session, task, path, asked_at, ask, state }
    };
    asked.zip(states).map(view).collect()
}

/// What the first form's turn came to.
pub(super) fn spending() -> Spending {
    Spending {
        task: task(1),
        path: "/root".into(),
        agent: "general".into(),
        asked: "script/demo".into(),
        answered: Some("demo-2026".into()),
        turns: 1,
        usage: Usage { input: 100, output: 20, cache_read: 3, cache_write: 4 },
        cost: Cost { tokens: 128, micros: 52 },
        lost: Cost { tokens: 1, micros: 2 },
        priced: false,
    }
}

pub(super) fn newer_spending() -> Spending {
    Spending {
        asked: "anthropic/claude".into(),
        answered: Some("claude-2026".into()),
        usage: Usage { input: 5, output: 6, cache_read: 0, cache_write: 0 },
        cost: Cost { tokens: 51, micros: 195 },
        lost: Cost { tokens: 40, micros: 90 },
        priced: true,
        ..spending()
    }
}
