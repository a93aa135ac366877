//! The events of the golden files, stage by stage.

use protocol::{
    Activation, AgentSpec, Ask, AskDecision, AskId, AskSubject, Attempt, AutopilotStop, BlockReason, Budget, CallId,
    CancelBy, CancelMode, Compaction, CompactionCause, ContentBlock, Cost, DecidedBy, DefinitionId, Event, Evidence,
    Expectations, FailKind, Fence, FleetConfig, FleetEnd, ItemId, ItemStatus, ListItem, ListName, LogEntry, MailBody,
    MailDelivery, MailId, ModelFault, ModelUse, PermissionMode, Price, Principal, ReasoningEffort, RuleEffect,
    RuleText, SessionConfig, SessionMode, StopBlocker, StopReason, TaskOutcome, TaskSpec, Timestamp, Todo, TodoId,
    TodoStatus, ToolCallRequest, ToolResult, ToolResultStatus, Turn, Usage, WaitEnd, WaitMode, WrapUpReason,
};

use crate::support::*;

/// A part of the events. The stages are written in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stage {
    /// A root and its child, from their beginning to their end.
    Tasks,
    /// A turn that has a price.
    Prices,
    /// Asks.
    Asks,
    /// An agent that another one started.
    Subagents,
    /// A plan, a fleet and the autopilot.
    Fleet,
}

impl Stage {
    /// Every stage, in order.
    pub(super) const ALL: [Stage; 5] = [Stage::Tasks, Stage::Prices, Stage::Asks, Stage::Subagents, Stage::Fleet];

    /// The events of this stage alone.
    pub(super) fn entries(self) -> Vec<LogEntry> {
        match self {
            Stage::Tasks => task_entries(),
            Stage::Prices => price_entries(),
            Stage::Asks => ask_entries(),
            Stage::Subagents => subagent_entries(),
            Stage::Fleet => fleet_entries(),
        }
    }
}

/// The events up to and including a stage.
pub(super) fn entries_until(last: Stage) -> Vec<LogEntry> {
    Stage::ALL.into_iter().filter(|stage| *stage <= last).flat_map(Stage::entries).collect()
}

/// A root and its child, from their beginning to their end.
fn task_entries() -> Vec<LogEntry> {
    let (call, child) = (CallId("call-1".into()), task(2));
    let usage = Usage { input: 100, output: 20, cache_read: 3, cache_write: 4 };
    let failed = TaskOutcome::Failed { kind: FailKind::Model, message: "no answer".into() };
    let content = vec![
        ContentBlock::Thinking { text: "first the child".into() },
        ContentBlock::Call(ToolCallRequest {
            id: call.clone(),
            tool: "task".into(),
            input: r#"{"name":"tests"}"#.into(),
        }),
        ContentBlock::Opaque { provider: "anthropic".into(), json: r#"{"signature":"x=="}"#.into() },
    ];
    let of_root = [
        Event::SessionForked { from: session(7) },
        Event::SessionAdopted { fence: Fence(1), config: session_config() },
        Event::AdmissionClosed,
        Event::AdmissionOpened,
        Event::ActivationStarted { activation: Activation(1), attempt: Attempt(1) },
        Event::MailDelivered { mail: vec![MailId(1)] },
        turn_begun(1),
        Event::TurnFailed {
            turn: Turn(1),
            fault: ModelFault::RetryAfter { millis: 10 },
            message: "slow down".into(),
            cost: Cost { tokens: 1, micros: 2 },
            retry: None,
        },
        turn_begun(1),
        Event::TurnAnswered {
            turn: Turn(1),
            content,
            stop: StopReason::Calls,
            usage,
            cost: Cost { tokens: 127, micros: 50 },
            model: "demo-2026".into(),
        },
        Event::IntentReported { intent: "counting".into() },
        Event::CallStarted { call: call.clone() },
    ];
    let of_child = [
        Event::TaskCreated(Box::new(spec(Some(task(1)), "tests"))),
        Event::TaskPromoted,
        Event::ActivationStarted { activation: Activation(1), attempt: Attempt(1) },
        Event::TaskParked { until_at: Some(Timestamp(9_000)), why: protocol::ParkReason::Quota },
        Event::TaskRequeued,
        Event::TaskInterrupted,
        Event::CancelRequested { by: CancelBy::User, how: CancelMode::Abort, until_at: None },
        Event::ActivationEnded { activation: Activation(1), outcome: failed.clone(), text: "12 so far".into() },
        Event::TaskFinished { outcome: failed },
        Event::TaskRequeued,
    ];
    let of_root_again = [
        Event::WaitBegan { call: call.clone(), on: vec![child], mode: WaitMode::All, until_at: Some(Timestamp(80)) },
        Event::WaitEnded { call: call.clone(), why: WaitEnd::Satisfied },
        Event::SlotRegained,
        Event::CallAnswered {
            call,
            answer: ToolResult { status: ToolResultStatus::Done, text: "12 so far".into() },
            evidence: Vec::new(),
        },
        Event::MailAdmitted {
            mail: MailId(2),
            from: Principal::Task { id: child },
            delivery: MailDelivery::FollowUp,
            body: MailBody::Result { task: child, activation: Activation(1) },
        },
        Event::MailExpired { mail: MailId(2) },
        Event::ActivationEnded {
            activation: Activation(1),
            outcome: TaskOutcome::Completed,
            text: "There are 12.".into(),
        },
    ];
    let mut entries = first_entries();
    entries.extend((20..).zip(of_root).map(|(at, event)| entry(at, event)));
    entries.extend((40..).zip(of_child).map(|(at, event)| LogEntry { task: child, ..entry(at, event) }));
    entries.extend((60..).zip(of_root_again).map(|(at, event)| entry(at, event)));
    entries
}

pub(super) const BUDGET: Budget = Budget { tokens: Some(1_000), micros: Some(2_000_000) };

/// A turn whose tokens have a price, answered by another model than the requested one, and events about the budget.
fn price_entries() -> Vec<LogEntry> {
    let price = Price { input: 3_000_000, output: 15_000_000, cache_read: 300_000, cache_write: 3_750_000 };
    let (requested, turn, reserved) = ("anthropic/claude".to_owned(), Turn(2), Cost { tokens: 40, micros: 90 });
    let begins = Event::TurnBegun {
        turn,
        model: requested.clone(),
        reserved,
        price: Some(price),
        max_output: Some(9),
        quoted: protocol::QuotedTokens::default(),
    };
    let usage = Usage { input: 5, output: 6, cache_read: 0, cache_write: 0 };
    let (spent, fault, model) = (Cost { tokens: 11, micros: 105 }, ModelFault::Transient, "claude-2026".to_owned());
    let events = [
        Event::SessionAdopted {
            fence: Fence(1),
            config: SessionConfig { budget: BUDGET, effort: Some(ReasoningEffort::High), ..session_config() },
        },
        begins.clone(),
        Event::TurnFailed { turn, fault, message: "cut".into(), cost: reserved, retry: None },
        begins,
        Event::TurnAnswered {
            turn,
            content: Vec::new(),
            stop: StopReason::End,
            usage,
            cost: spent,
            model: model.clone(),
        },
        Event::ModelDiffered { turn, asked: requested, answered: model },
        Event::BudgetLow { spent, budget: BUDGET },
        Event::WrapUpBegan { why: WrapUpReason::Budget },
        Event::Compacted(Compaction {
            messages: 3,
            digest: Some("what was before".into()),
            cause: CompactionCause::ContextFull,
        }),
    ];
    (70..).zip(events).map(|(at, event)| entry(at, event)).collect()
}

/// Asks that are open, decided, denied by the deadline and withdrawn.
fn ask_entries() -> Vec<LogEntry> {
    let (call, id) = (|n: u32| CallId(format!("call-{n}")), |name: &str| AskId(name.into()));
    let permission = |name: &str, n: u32, until: Option<u64>| {
        let subject = AskSubject::Permission {
            tool: "shell".into(),
            input: r#"{"command":"rm -r target"}"#.into(),
            reason: "no rule speaks of `rm`".into(),
            rules: vec!["shell(rm *)".into()],
        };
        Ask { id: id(name), call: call(n), subject, until_at: until.map(Timestamp) }
    };
    let question = AskSubject::Question { question: "Which one?".into(), choices: vec!["left".into(), "right".into()] };
    let decided = |name: &str, n: u32, decision: AskDecision, by: DecidedBy| Event::AskDecided {
        ask: id(name),
        call: call(n),
        decision,
        by,
    };
    let config = SessionConfig {
        permission: PermissionMode::AcceptEdits,
        rules: vec![RuleText { effect: RuleEffect::Deny, rule: "shell(sudo *)".into() }],
        roots: vec!["/more".into()],
        ask_user: false,
        ..session_config()
    };
    let denied = ToolResult { status: ToolResultStatus::Cancelled, text: "never mind".into() };
    let events = [
        Event::SessionAdopted { fence: Fence(1), config },
        Event::AskOpened(permission("0a", 2, None)),
        Event::AskOpened(permission("0b", 3, Some(96))),
        Event::AskOpened(permission("0c", 4, None)),
        decided("0a", 2, AskDecision::Allow { rules: vec!["shell(rm *)".into()], input: None }, DecidedBy::User),
        Event::CallAnswered { call: call(4), answer: denied, evidence: Vec::new() },
        decided("0b", 3, AskDecision::Deny { message: String::new() }, DecidedBy::Deadline),
        Event::AskOpened(Ask { id: id("0d"), call: call(5), subject: question, until_at: None }),
    ];
    (90..).zip(events).map(|(at, event)| entry(at, event)).collect()
}

/// An agent that another one started: its creation, hooks, evidence, a blocked stop, stalls and its cancellation.
fn subagent_entries() -> Vec<LogEntry> {
    let (child, call) = (task(3), CallId("call-9".into()));
    let model = ModelUse {
        requested: Some("anthropic/large".into()),
        effective: "anthropic/small".into(),
        why: Some("it is more expensive than the session's".into()),
    };
    let expects = Some(Expectations { files: vec!["*.md".into()], command: None, schema: None });
    let definition = DefinitionId("d1".into());
    let child_spec = TaskSpec {
        definition: Some(definition.clone()),
        model: Some(model),
        effort: Some(ReasoningEffort::Low),
        expects,
        call: Some(CallId("call-8".into())),
        ..spec(Some(task(1)), "docs")
    };
    let evidence = vec![
        Evidence::Changed { path: "a.md".into() },
        Evidence::Ran { command: "make".into(), exit: Some(0) },
        Evidence::Changed { path: "b.md".into() },
    ];
    let done = ToolResult { status: ToolResultStatus::Done, text: "made".into() };
    let mail = |mail, from, text: &str| Event::MailAdmitted {
        mail: MailId(mail),
        from,
        delivery: MailDelivery::Steer,
        body: MailBody::text(text),
    };
    let agent = AgentSpec { name: "writer".into(), ..AgentSpec::default() };
    let events = [
        Event::AgentDefined { id: definition, spec: Box::new(agent) },
        Event::TaskCreated(Box::new(child_spec)),
        mail(3, Principal::Task { id: task(1) }, "write the docs"),
        Event::ActivationStarted { activation: Activation(1), attempt: Attempt(1) },
        Event::StartHooksRan { activation: Activation(1), context: vec!["be brief".into()] },
        Event::MailDelivered { mail: vec![MailId(3)] },
        Event::TaskInterrupted,
        Event::TaskRequeued,
        Event::ActivationStarted { activation: Activation(1), attempt: Attempt(2) },
        Event::ToolsLoaded { tools: vec!["fetch".into()], descriptions: Vec::new() },
        Event::CallAnswered { call, answer: done, evidence },
        Event::StopBlocked { by: StopBlocker::Expects, reason: "no file *.md was changed".into() },
        mail(4, Principal::User, "and the index"),
        Event::TaskStalled { since_at: Timestamp(105) },
        Event::TaskUnstalled,
        Event::TaskStalled { since_at: Timestamp(110) },
        Event::CancelRequested { by: CancelBy::Agent, how: CancelMode::WrapUp, until_at: Some(Timestamp(300)) },
        Event::StopHooksRan { activation: Activation(1) },
    ];
    (100..).zip(events).map(|(at, event)| LogEntry { task: child, ..entry(at, event) }).collect()
}

/// A plan, a fleet that works through its todos, an item of a list, and autopilot.
fn fleet_entries() -> Vec<LogEntry> {
    let (root, user) = (Principal::Task { id: task(1) }, Principal::User);
    let (read, write) = (TodoId::from("a"), TodoId::from("b"));
    let changed = vec![
        Todo { status: TodoStatus::Done, ..Todo::new("a", "read") },
        Todo { depends_on: vec![read.clone()], check: Some("make".into()), ..Todo::new("b", "write") },
    ];
    let item = ListItem {
        id: ItemId(1),
        subject: "write the docs".into(),
        description: "all of them".into(),
        active_form: Some("writing".into()),
        status: ItemStatus::InProgress,
        owner: Some("/root/docs".into()),
        blocks: vec![ItemId(2)],
        blocked_by: Vec::new(),
        metadata: [("size".to_owned(), "large".into())].into_iter().collect(),
        version: 2,
        task: Some(task(3)),
        author: "user".into(),
        created_at: Timestamp(120),
        updated_at: Timestamp(121),
        archived: false,
    };
    let config = FleetConfig {
        goal: "all of it".into(),
        agent: Some("writer".into()),
        parallel: Some(2),
        retries: 1,
        rounds: 3,
        isolated: true,
        dirty: true,
        merge: true,
        check: Some("make test".into()),
        plan: Some("plan.yaml".into()),
    };
    let blocked = |why| Event::TodoBlocked { todo: write.clone(), why };
    let events = [
        Event::ModeChanged { mode: SessionMode::Plan, by: user },
        Event::TodosChanged { by: root, changed, gone: vec!["c".into()], upto: 3 },
        Event::FleetBegan(config),
        Event::TodoClaimed { todo: write.clone(), fence: 1, redo_reason: None },
        Event::WorkCheckedOut { path: "/checkouts/b".into(), base: "c0ffee".into() },
        Event::WorkSealed { commit: "beef".into(), files: vec!["docs.md".into()] },
        Event::TodoReturned { todo: write.clone(), fence: 1, failure: Some("make fails".into()) },
        blocked(BlockReason::Upstream { todo: read.clone() }),
        Event::TodoUnblocked { todo: write.clone() },
        blocked(BlockReason::Cycle { path: vec![read, write.clone()] }),
        Event::TodoDone { todo: write.clone(), fence: Some(2), reused: None },
        Event::WorkMerged { todo: write.clone(), commit: "f00d".into() },
        blocked(BlockReason::Itself { reason: "conflicts in docs.md".into() }),
        Event::FleetEnded { end: FleetEnd::Blocked, why: None },
        Event::ItemChanged { list: ListName::Project, item: Box::new(item) },
        Event::ModeChanged { mode: SessionMode::Autopilot, by: Principal::Runtime },
        Event::AutopilotContinued { count: 1, state: "5eed".into() },
        Event::AutopilotStopped {
            why: AutopilotStop::Blocked { summary: "half of it".into(), reason: "no key".into() },
            continues: 1,
        },
    ];
    (120..).zip(events).map(|(at, event)| entry(at, event)).collect()
}
