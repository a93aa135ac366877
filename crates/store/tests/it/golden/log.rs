//! The events of the golden files, form by form.

use protocol::{
    Activation, AgentSpec, Answer, AnswerStatus, Ask, AskId, At, Attempt, AutopilotStop, Block, Blocked, Body, Budget,
    Call, CallId, Cancel, CancelBy, Compaction, CompactionCause, Cost, DecidedBy, Decision, DefinitionId, Delivery,
    Effort, Entry, Event, Evidence, Expects, FailKind, Fence, FleetEnd, FleetTerms, Holder, Item, ItemId, ItemStatus,
    ListName, MailId, ModelFault, ModelUse, Origin, Outcome, PermissionMode, Price, RuleEffect, RuleText, SessionMode,
    StopReason, Subject, TaskSpec, Terms, Todo, TodoId, TodoStatus, Turn, Usage, WaitEnd, WaitMode, WrapUp,
};

use crate::support::*;

/// One of every event that the first form knew.
pub(super) fn entries() -> Vec<Entry> {
    let (call, child) = (CallId("call-1".into()), task(2));
    let usage = Usage { input: 100, output: 20, cache_read: 3, cache_write: 4 };
    let failed = Outcome::Failed { kind: FailKind::Model, message: "no answer".into() };
    let said = vec![
        Block::Thinking { text: "first the child".into() },
        Block::Call(Call { id: call.clone(), tool: "task".into(), input: r#"{"name":"tests"}"#.into() }),
        Block::Opaque { provider: "anthropic".into(), json: r#"{"signature":"x=="}"#.into() },
    ];
    let of_root = [
        Event::SessionForked { from: session(7) },
        Event::SessionAdopted { fence: Fence(1), terms: terms() },
        Event::AdmissionClosed,
        Event::AdmissionOpened,
        Event::ActivationStarted { activation: Activation(1), attempt: Attempt(1) },
        Event::MailDelivered { mail: vec![MailId(1)] },
        begun(1),
        Event::TurnFailed {
            turn: Turn(1),
            fault: ModelFault::RetryAfter { millis: 10 },
            message: "slow down".into(),
            cost: Cost { tokens: 1, micros: 2 },
            retry: None,
        },
        begun(1),
        Event::TurnAnswered {
            turn: Turn(1),
            content: said,
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
        Event::TaskParked { until_at: Some(At(9_000)), why: protocol::ParkReason::Quota },
        Event::TaskRequeued,
        Event::TaskInterrupted,
        Event::CancelRequested { by: CancelBy::User, how: Cancel::Abort, until_at: None },
        Event::ActivationEnded { activation: Activation(1), outcome: failed.clone(), text: "12 so far".into() },
        Event::TaskFinished { outcome: failed },
        Event::TaskRequeued,
    ];
    let of_root_again = [
        Event::WaitBegan { call: call.clone(), on: vec![child], mode: WaitMode::All, until_at: Some(At(80)) },
        Event::WaitEnded { call: call.clone(), why: WaitEnd::Satisfied },
        Event::SlotRegained,
        Event::CallAnswered {
            call,
            answer: Answer { status: AnswerStatus::Done, text: "12 so far".into() },
            evidence: Vec::new(),
        },
        Event::MailAdmitted {
            mail: MailId(2),
            from: Origin::Task { id: child },
            delivery: Delivery::FollowUp,
            body: Body::Result { task: child, activation: Activation(1) },
        },
        Event::MailExpired { mail: MailId(2) },
        Event::ActivationEnded { activation: Activation(1), outcome: Outcome::Completed, text: "There are 12.".into() },
    ];
    let mut entries = opening();
    entries.extend((20..).zip(of_root).map(|(at, event)| entry(at, event)));
    entries.extend((40..).zip(of_child).map(|(at, event)| Entry { task: child, ..entry(at, event) }));
    entries.extend((60..).zip(of_root_again).map(|(at, event)| entry(at, event)));
    entries
}

pub(super) const BUDGET: Budget = Budget { tokens: Some(1_000), micros: Some(2_000_000) };

/// One of every event since, in a turn whose tokens have a price.
pub(super) fn more_entries() -> Vec<Entry> {
    let price = Price { input: 3_000_000, output: 15_000_000, cache_read: 300_000, cache_write: 3_750_000 };
    let (asked, turn, reserved) = ("anthropic/claude".to_owned(), Turn(2), Cost { tokens: 40, micros: 90 });
    let asks = Event::TurnBegun {
        turn,
        model: asked.clone(),
        reserved,
        price: Some(price),
        max_output: Some(9),
        quoted: protocol::Quoted::default(),
    };
    let usage = Usage { input: 5, output: 6, cache_read: 0, cache_write: 0 };
    let (spent, fault, model) = (Cost { tokens: 11, micros: 105 }, ModelFault::Transient, "claude-2026".to_owned());
    let events = [
        Event::SessionAdopted {
            fence: Fence(1),
            terms: Terms { budget: BUDGET, effort: Some(Effort::High), ..terms() },
        },
        asks.clone(),
        Event::TurnFailed { turn, fault, message: "cut".into(), cost: reserved, retry: None },
        asks,
        Event::TurnAnswered {
            turn,
            content: Vec::new(),
            stop: StopReason::End,
            usage,
            cost: spent,
            model: model.clone(),
        },
        Event::ModelDiffered { turn, asked, answered: model },
        Event::BudgetLow { spent, budget: BUDGET },
        Event::WrapUpBegan { why: WrapUp::Budget },
        Event::Compacted(Compaction {
            messages: 3,
            digest: Some("what was before".into()),
            cause: CompactionCause::Full,
        }),
    ];
    (70..).zip(events).map(|(at, event)| entry(at, event)).collect()
}

/// What waits for a person, was decided, came too late and was withdrawn.
pub(super) fn asking_entries() -> Vec<Entry> {
    let (call, id) = (|n: u32| CallId(format!("call-{n}")), |name: &str| AskId(name.into()));
    let permission = |name: &str, n: u32, until: Option<u64>| {
        let subject = Subject::Permission {
            tool: "shell".into(),
            input: r#"{"command":"rm -r target"}"#.into(),
            reason: "no rule speaks of `rm`".into(),
            rules: vec!["shell(rm *)".into()],
        };
        Ask { id: id(name), call: call(n), subject, until_at: until.map(At) }
    };
    let question = Subject::Question { question: "Which one?".into(), choices: vec!["left".into(), "right".into()] };
    let decided = |name: &str, n: u32, decision: Decision, by: DecidedBy| Event::AskDecided {
        ask: id(name),
        call: call(n),
        decision,
        by,
    };
    let terms = Terms {
        permission: PermissionMode::AcceptEdits,
        rules: vec![RuleText { effect: RuleEffect::Deny, rule: "shell(sudo *)".into() }],
        roots: vec!["/more".into()],
        ask_user: false,
        ..terms()
    };
    let denied = Answer { status: AnswerStatus::Cancelled, text: "never mind".into() };
    let events = [
        Event::SessionAdopted { fence: Fence(1), terms },
        Event::Asked(permission("0a", 2, None)),
        Event::Asked(permission("0b", 3, Some(96))),
        Event::Asked(permission("0c", 4, None)),
        decided("0a", 2, Decision::Allow { rules: vec!["shell(rm *)".into()], input: None }, DecidedBy::User),
        Event::CallAnswered { call: call(4), answer: denied, evidence: Vec::new() },
        decided("0b", 3, Decision::Deny { words: String::new() }, DecidedBy::Deadline),
        Event::Asked(Ask { id: id("0d"), call: call(5), subject: question, until_at: None }),
    ];
    (90..).zip(events).map(|(at, event)| entry(at, event)).collect()
}

/// An agent that another one started: how it is made, watched, held and forgotten, and what it left behind.
pub(super) fn crew_entries() -> Vec<Entry> {
    let (child, call) = (task(3), CallId("call-9".into()));
    let model = ModelUse {
        requested: Some("anthropic/large".into()),
        effective: "anthropic/small".into(),
        why: Some("it is dearer than the session's".into()),
    };
    let expects = Some(Expects { files: vec!["*.md".into()], command: None, schema: None });
    let definition = DefinitionId("d1".into());
    let made = TaskSpec {
        definition: Some(definition.clone()),
        model: Some(model),
        effort: Some(Effort::Low),
        expects,
        call: Some(CallId("call-8".into())),
        ..spec(Some(task(1)), "docs")
    };
    let evidence = vec![
        Evidence::Changed { path: "a.md".into() },
        Evidence::Ran { command: "make".into(), exit: Some(0) },
        Evidence::Changed { path: "b.md".into() },
    ];
    let done = Answer { status: AnswerStatus::Done, text: "made".into() };
    let mail = |mail, from, text: &str| Event::MailAdmitted {
        mail: MailId(mail),
        from,
        delivery: Delivery::Steer,
        body: Body::text(text),
    };
    let agent = AgentSpec { name: "writer".into(), ..AgentSpec::default() };
    let events = [
        Event::AgentDefined { id: definition, spec: Box::new(agent) },
        Event::TaskCreated(Box::new(made)),
        mail(3, Origin::Task { id: task(1) }, "write the docs"),
        Event::ActivationStarted { activation: Activation(1), attempt: Attempt(1) },
        Event::ActivationGreeted { activation: Activation(1), context: vec!["be brief".into()] },
        Event::MailDelivered { mail: vec![MailId(3)] },
        Event::TaskInterrupted,
        Event::TaskRequeued,
        Event::ActivationStarted { activation: Activation(1), attempt: Attempt(2) },
        Event::ToolsLoaded { tools: vec!["fetch".into()] },
        Event::CallAnswered { call, answer: done, evidence },
        Event::StopHeld { by: Holder::Expects, reason: "no file *.md was changed".into() },
        mail(4, Origin::User, "and the index"),
        Event::TaskStalled { since_at: At(105) },
        Event::TaskStirred,
        Event::TaskStalled { since_at: At(110) },
        Event::CancelRequested { by: CancelBy::Agent, how: Cancel::WrapUp, until_at: Some(At(300)) },
        Event::ActivationParted { activation: Activation(1) },
    ];
    (100..).zip(events).map(|(at, event)| Entry { task: child, ..entry(at, event) }).collect()
}

/// A session plans, and a fleet works through its todos; an item is on a list, and the root goes on by itself.
pub(super) fn fleet_entries() -> Vec<Entry> {
    let (root, user) = (Origin::Task { id: task(1) }, Origin::User);
    let (read, write) = (TodoId::from("a"), TodoId::from("b"));
    let changed = vec![
        Todo { status: TodoStatus::Done, ..Todo::new("a", "read") },
        Todo { depends_on: vec![read.clone()], check: Some("make".into()), ..Todo::new("b", "write") },
    ];
    let item = Item {
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
        created_at: At(120),
        updated_at: At(121),
        archived: false,
    };
    let terms = FleetTerms {
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
        Event::FleetBegan(terms),
        Event::TodoClaimed { todo: write.clone(), fence: 1 },
        Event::WorkPlaced { path: "/checkouts/b".into(), base: "c0ffee".into() },
        Event::WorkSealed { commit: "beef".into(), files: vec!["docs.md".into()] },
        Event::TodoReturned { todo: write.clone(), fence: 1, failure: Some("make fails".into()) },
        blocked(Blocked::Upstream { todo: read.clone() }),
        Event::TodoFreed { todo: write.clone() },
        blocked(Blocked::Cycle { path: vec![read, write.clone()] }),
        Event::TodoDone { todo: write.clone(), fence: Some(2), brought: None },
        Event::WorkMerged { todo: write.clone(), commit: "f00d".into() },
        blocked(Blocked::Itself { reason: "conflicts in docs.md".into() }),
        Event::FleetEnded { end: FleetEnd::Blocked },
        Event::ItemChanged { list: ListName::Project, item: Box::new(item) },
        Event::ModeChanged { mode: SessionMode::Autopilot, by: Origin::Runtime },
        Event::AutopilotContinued { count: 1, state: "5eed".into() },
        Event::AutopilotStopped {
            why: AutopilotStop::Blocked { summary: "half of it".into(), reason: "no key".into() },
            continues: 1,
        },
    ];
    (120..).zip(events).map(|(at, event)| entry(at, event)).collect()
}

/// What a file of this form holds.
pub(super) fn written(form: u32) -> Vec<Entry> {
    let mut all = entries();
    if form > 1 {
        all.extend(more_entries());
    }
    if form > 2 {
        all.extend(asking_entries());
    }
    if form > 3 {
        all.extend(crew_entries());
    }
    if form > 4 {
        all.extend(fleet_entries());
    }
    all
}
