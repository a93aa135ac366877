//! The expected views of the golden files.

use protocol::api::{AskState, AskView, CancelView, MailState, MailView, SessionView, TaskRecord, TaskView, TurnView};
use protocol::{
    Activation, AskDecision, Attempt, Budget, CancelBy, CancelMode, Cost, DecidedBy, Event, Evidence, Expectations,
    FailKind, ListName, MailDelivery, MailId, ModelUse, PermissionMode, Principal, ReasoningEffort, RuleEffect,
    RuleText, TaskMode, TaskOutcome, TaskState, TaskStatus, TaskType, Timestamp, Turn, Usage,
};
use store::TaskSpending;

use super::log::{BUDGET, Stage, entries_until};
use crate::support::*;

pub(super) fn tasks() -> Vec<TaskView> {
    let root = TaskView {
        id: task(1),
        parent: None,
        kind: TaskType::Main,
        agent: "general".into(),
        name: "root".into(),
        path: "/root".into(),
        depth: 0,
        description: "what root is for".into(),
        prompt: Some("\n  Count the tests\nplease".into()),
        mode: TaskMode::Sync,
        model: None,
        reported_model: Some("demo-2026".into()),
        effort: None,
        state: TaskState::Idle,
        status: TaskStatus::Idle,
        stalled_since_at: None,
        cancel: None,
        forgotten: false,
        activation: Activation(1),
        attempt: Attempt(1),
        unread: 0,
        last_outcome: Some(TaskOutcome::Completed),
        intent: Some("counting".into()),
        progress: None,
        external: None,
        mcp: None,
        result: Some("There are 12.".into()),
        turns: 1,
        usage: Usage { input: 100, output: 20, cache_read: 3, cache_write: 4 },
        cost_micros: 52,
        priced: false,
        changes: 0,
        commands: 0,
        created_at: Timestamp(11),
        queued_at: None,
        started_at: Some(Timestamp(24)),
        ended_at: Some(Timestamp(66)),
        updated_at: Timestamp(66),
    };
    let failed = TaskOutcome::Failed { kind: FailKind::Model, message: "no answer".into() };
    let child = TaskView {
        id: task(2),
        parent: Some(task(1)),
        kind: TaskType::Agent,
        name: "tests".into(),
        path: "/root/tests".into(),
        depth: 1,
        description: "what tests is for".into(),
        prompt: None,
        mode: TaskMode::Background,
        reported_model: None,
        state: TaskState::Finished { outcome: failed.clone() },
        status: TaskStatus::Failed,
        cancel: Some(CancelView { by: CancelBy::User, how: CancelMode::Abort, until_at: None }),
        last_outcome: Some(failed),
        intent: None,
        progress: None,
        result: Some("12 so far".into()),
        turns: 0,
        usage: Usage::default(),
        cost_micros: 0,
        priced: true,
        created_at: Timestamp(40),
        started_at: Some(Timestamp(42)),
        ended_at: Some(Timestamp(48)),
        updated_at: Timestamp(49),
        ..root.clone()
    };
    vec![root, child]
}

/// An agent that another one started. Its owner is dead.
pub(super) fn subagent_task() -> TaskView {
    let [_root, before] = <[TaskView; 2]>::try_from(tasks()).unwrap();
    TaskView {
        id: task(3),
        name: "docs".into(),
        path: "/root/docs".into(),
        description: "what docs is for".into(),
        prompt: Some("write the docs".into()),
        mode: TaskMode::Sync,
        model: Some(ModelUse {
            requested: Some("anthropic/large".into()),
            effective: "anthropic/small".into(),
            why: Some("it is more expensive than the session's".into()),
        }),
        effort: Some(ReasoningEffort::Low),
        state: TaskState::Interrupted,
        status: TaskStatus::Running,
        cancel: Some(CancelView { by: CancelBy::Agent, how: CancelMode::WrapUp, until_at: Some(Timestamp(300)) }),
        attempt: Attempt(2),
        unread: 1,
        last_outcome: None,
        result: None,
        changes: 2,
        commands: 1,
        created_at: Timestamp(101),
        started_at: Some(Timestamp(103)),
        ended_at: None,
        updated_at: Timestamp(117),
        ..before
    }
}

/// The full record of that agent.
pub(super) fn subagent_record() -> TaskRecord {
    let mail = |mail, from, text: &str, at, state, moved: Option<u64>| MailView {
        mail: MailId(mail),
        from,
        delivery: MailDelivery::Steer,
        text: text.into(),
        admitted_at: Timestamp(at),
        state,
        moved_at: moved.map(Timestamp),
    };
    TaskRecord {
        task: subagent_task(),
        expects: Some(Expectations { files: vec!["*.md".into()], command: None, schema: None }),
        mail: vec![
            mail(3, Principal::Task { id: task(1) }, "write the docs", 102, MailState::Delivered, Some(105)),
            mail(4, Principal::User, "and the index", 112, MailState::Admitted, None),
        ],
        mail_total: 2,
        turns: Vec::new(),
        turns_total: 0,
        evidence: vec![
            Evidence::Changed { path: "a.md".into() },
            Evidence::Ran { command: "make".into(), exit: Some(0) },
            Evidence::Changed { path: "b.md".into() },
        ],
    }
}

/// The turns of the root: the first, and the one that has a price.
pub(super) fn turns() -> Vec<TurnView> {
    let first = TurnView {
        turn: Turn(1),
        activation: Activation(1),
        requested_model: "script/demo".into(),
        reported_model: Some("demo-2026".into()),
        usage: Usage { input: 100, output: 20, cache_read: 3, cache_write: 4 },
        spent: Cost { tokens: 128, micros: 52 },
        priced: false,
        begun_at: Timestamp(26),
        ended_at: Some(Timestamp(29)),
        text: Some("[calls task]".into()),
    };
    let second = TurnView {
        turn: Turn(2),
        requested_model: "anthropic/claude".into(),
        reported_model: Some("claude-2026".into()),
        usage: Usage { input: 5, output: 6, cache_read: 0, cache_write: 0 },
        spent: Cost { tokens: 51, micros: 195 },
        priced: true,
        begun_at: Timestamp(71),
        ended_at: Some(Timestamp(74)),
        text: None,
        ..first.clone()
    };
    vec![first, second]
}

pub(super) fn view() -> SessionView {
    SessionView {
        id: session(1),
        cwd: "/src".into(),
        model: "script/demo".into(),
        permission: PermissionMode::AllowAll,
        mode: protocol::SessionMode::Interactive,
        rules: Vec::new(),
        roots: Vec::new(),
        ask_user: true,
        max_turns: Some(7),
        limits: protocol::AgentLimits::default(),
        budget: Budget::default(),
        effort: None,
        list: ListName::Session,
        title: "Count the tests".into(),
        created_at: Timestamp(20),
        updated_at: Timestamp(66),
        state: TaskState::Idle,
        last_outcome: Some(TaskOutcome::Completed),
        owner_pid: None,
        events: u64::try_from(entries_until(Stage::Tasks).len()).unwrap(),
        turns: 1,
        usage: Usage { input: 100, output: 20, cache_read: 3, cache_write: 4 },
        spent: Cost { tokens: 128, micros: 52 },
        priced: false,
    }
}

/// The session after [`Stage::Prices`].
pub(super) fn price_view() -> SessionView {
    SessionView {
        budget: BUDGET,
        effort: Some(ReasoningEffort::High),
        updated_at: Timestamp(78),
        events: u64::try_from(entries_until(Stage::Prices).len()).unwrap(),
        turns: 2,
        usage: Usage { input: 105, output: 26, cache_read: 3, cache_write: 4 },
        spent: Cost { tokens: 179, micros: 247 },
        ..view()
    }
}

/// The session after [`Stage::Asks`].
pub(super) fn ask_view() -> SessionView {
    SessionView {
        permission: PermissionMode::AcceptEdits,
        rules: vec![RuleText { effect: RuleEffect::Deny, rule: "shell(sudo *)".into() }],
        roots: vec!["/more".into()],
        ask_user: false,
        budget: Budget::default(),
        effort: None,
        updated_at: Timestamp(97),
        events: u64::try_from(entries_until(Stage::Asks).len()).unwrap(),
        ..price_view()
    }
}

/// The session after [`Stage::Subagents`].
pub(super) fn subagent_view() -> SessionView {
    SessionView {
        updated_at: Timestamp(117),
        state: TaskState::Interrupted,
        events: u64::try_from(entries_until(Stage::Subagents).len()).unwrap(),
        ..ask_view()
    }
}

/// The session after [`Stage::Fleet`].
pub(super) fn fleet_view() -> SessionView {
    let events = u64::try_from(entries_until(Stage::Fleet).len()).unwrap();
    SessionView { updated_at: Timestamp(137), events, mode: protocol::SessionMode::Autopilot, ..subagent_view() }
}

/// The asks with their states.
pub(super) fn asks() -> Vec<AskView> {
    let decided = |decision, by, at| AskState::Decided { decision, by, at: Timestamp(at) };
    let states = [
        decided(AskDecision::Allow { rules: vec!["shell(rm *)".into()], input: None }, DecidedBy::User, 94),
        decided(AskDecision::Deny { message: String::new() }, DecidedBy::Deadline, 96),
        AskState::Withdrawn,
        AskState::Open,
    ];
    let asked = Stage::Asks.entries().into_iter().filter_map(|entry| match entry.event {
        Event::AskOpened(ask) => Some((entry.at, ask)),
        _other => None,
    });
    let view = |(number, ((asked_at, ask), state))| {
        let (session, task, path) = (session(1), task(1), "/root".into());
        AskView { session, number, task, path, asked_at, ask, state }
    };
    (1..).zip(asked.zip(states)).map(view).collect()
}

/// The spending of the first turn.
pub(super) fn spending() -> TaskSpending {
    TaskSpending {
        task: task(1),
        path: "/root".into(),
        agent: "general".into(),
        requested_model: "script/demo".into(),
        reported_model: Some("demo-2026".into()),
        turns: 1,
        usage: Usage { input: 100, output: 20, cache_read: 3, cache_write: 4 },
        cost: Cost { tokens: 128, micros: 52 },
        lost: Cost { tokens: 1, micros: 2 },
        priced: false,
    }
}

/// The spending of the turn that has a price.
pub(super) fn price_spending() -> TaskSpending {
    TaskSpending {
        requested_model: "anthropic/claude".into(),
        reported_model: Some("claude-2026".into()),
        usage: Usage { input: 5, output: 6, cache_read: 0, cache_write: 0 },
        cost: Cost { tokens: 51, micros: 195 },
        lost: Cost { tokens: 40, micros: 90 },
        priced: true,
        ..spending()
    }
}
