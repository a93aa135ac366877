//! Both ends over a stream in one process. Behind the session's end is another remote session, whose queue shows what
//! reached it.

use std::collections::BTreeSet;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use hooks::HookEventData;
use kernel::{BoundaryPoint, FailedCallCharge, InputRefusal, RunEnding, RunUpdate};
use policy::{Policy, Rule, RuleSource};
use proptest::prelude::*;
use protocol::{
    Activation, CallId, Envelope, Event, FailKind, LogEntry, MailBody, MailDelivery, MailId, ModelFault,
    PermissionMode, Principal, RuleEffect, SessionId, TaskId, Timestamp, ToolCallRequest, Turn,
};
use rpc::{Connection, Framing, RpcMessage, RpcRequest};
use serde_json::json;
use tokio::io::{AsyncWriteExt, DuplexStream};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tools::Heartbeat;

use super::connection::{self, Incoming, LIMITS, ProtocolError};
use super::process::{RunProcessError, exchange, perform_run};
use super::remote_session::RemoteSession;
use super::served_run::{ProgramTools, RunLoss, Serving};
use super::wire::{
    WireHoldUpdate, WireInput, WireOutcome, WirePolicy, WireRequest, WireRunEvent, WireRunNotice, WireSessionNotice,
};
use crate::conversation::ResultFormatter;
use crate::governor::PermitOutcome;
use crate::grants::Grants;
use crate::run_requests::{HoldId, HoldUpdate, RunInput, SessionRequests};
use crate::supervisor::{InputRejection, RunMessage, RunMessages};

/// Far longer than anything takes on a loaded machine.
const DEADLINE: Duration = Duration::from_secs(20);

/// A session with the messages that reach it.
struct Behind {
    session: Arc<RemoteSession>,
    reached: mpsc::UnboundedReceiver<RpcMessage>,
}

impl Behind {
    fn new() -> Behind {
        let (outgoing, reached) = mpsc::unbounded_channel();
        Behind { session: Arc::new(RemoteSession::new(outgoing)), reached }
    }

    /// The next message that reached it.
    async fn next(&mut self) -> RpcMessage {
        timeout(DEADLINE, self.reached.recv()).await.unwrap().unwrap()
    }

    /// The next request that reached it, with its number.
    async fn request(&mut self) -> (u64, WireRequest) {
        match connection::parse::<WireRequest, WireRunNotice>(Ok(self.next().await)).unwrap() {
            Incoming::Request(id, request) => (id, request),
            other => panic!("{other:?}"),
        }
    }

    async fn notice(&mut self) -> WireRunNotice {
        match connection::parse::<WireRequest, WireRunNotice>(Ok(self.next().await)).unwrap() {
            Incoming::Notice(notice) => notice,
            other => panic!("{other:?}"),
        }
    }

    /// Replies to a request that reached it.
    fn reply(&self, id: u64, content: serde_json::Value) {
        let (messages, _messages) = RunMessages::channel();
        self.session.handle(Incoming::Reply(id, content), &messages, &Grants::new(Policy::default())).unwrap();
    }
}

/// Both ends of a stream whose buffer holds this many bytes.
struct Ends {
    /// The run's session.
    near: Arc<RemoteSession>,
    queue: mpsc::UnboundedReceiver<RpcMessage>,
    run_stream: DuplexStream,
    session_stream: DuplexStream,
    /// What the run's task is told.
    to_run: mpsc::UnboundedSender<RunMessage>,
    told: RunMessages,
    grants: Arc<Grants>,
    far: Behind,
}

impl Ends {
    fn new(buffer: usize) -> Ends {
        let (outgoing, queue) = mpsc::unbounded_channel();
        let (run_stream, session_stream) = tokio::io::duplex(buffer);
        let (to_run, told) = RunMessages::channel();
        Ends {
            near: Arc::new(RemoteSession::new(outgoing)),
            queue,
            run_stream,
            session_stream,
            to_run,
            told,
            grants: Arc::new(Grants::new(Policy::default())),
            far: Behind::new(),
        }
    }

    /// Connects the ends while `work` runs at the run's end; it gets that end's messages and policy.
    async fn connected<T>(
        self,
        work: impl AsyncFnOnce(Arc<RemoteSession>, RunMessages, Arc<Grants>, Behind) -> T,
    ) -> T {
        let Ends { near, mut queue, run_stream, session_stream, to_run: _supervisor, mut told, grants, far } = self;
        let (input, output) = tokio::io::split(run_stream);
        let mut connection = Connection::new(input, output, Framing::ContentLength, LIMITS);
        let (sender, messages) = RunMessages::channel();
        let run_grants = Arc::new(Grants::new(Policy::default()));
        let served = {
            let (input, output) = tokio::io::split(session_stream);
            let connection = Connection::new(input, output, Framing::ContentLength, LIMITS);
            let session: Arc<dyn SessionRequests> = Arc::<RemoteSession>::clone(&far.session);
            let (tools, outbox) = (ProgramTools::default(), connection.outbox().clone());
            let serving = Serving::new(session, grants, tools, Heartbeat::default(), outbox);
            async move { serving.run(&mut told, connection).await }
        };
        let exchanged = exchange(&near, &mut connection, &mut queue, &sender, &run_grants);
        tokio::select! {
            end = served => panic!("the session's end: {end:?}"),
            end = exchanged => panic!("the run's end: {end}"),
            done = timeout(DEADLINE, work(Arc::clone(&near), messages, Arc::clone(&run_grants), far)) => done.unwrap(),
        }
    }
}

fn task(number: u128) -> TaskId {
    TaskId::new(uuid::Uuid::from_u128(number))
}

fn call(id: &str) -> CallId {
    CallId(id.into())
}

fn event(seq: u64, event: Event) -> Arc<Envelope> {
    let session = SessionId::new(task(9).uuid());
    Arc::new(Envelope { v: 1, seq, session, entry: LogEntry { task: task(1), at: Timestamp(1), event } })
}

/// A result of another task.
fn result_mail(mail: u64) -> Event {
    let body = MailBody::Result { task: task(2), activation: Activation(1) };
    Event::MailAdmitted {
        mail: MailId(mail),
        from: Principal::Task { id: task(2) },
        delivery: MailDelivery::Steer,
        body,
    }
}

#[tokio::test]
async fn requests_are_answered_in_any_order_and_keep_their_replies() {
    Ends::new(64)
        .connected(async |near, _messages, _grants, mut far| {
            let (first, second) = (near.raise_day(HoldId(1), 10), near.raise_day(HoldId(2), 20));
            let replies = async {
                let (one, two) = (far.request().await, far.request().await);
                assert!(matches!(one.1, WireRequest::RaiseDay { hold: 1, micros: 10 }), "{one:?}");
                far.reply(two.0, json!(false));
                far.reply(one.0, json!(true));
                far
            };
            let (first, second, _far) = tokio::join!(first, second, replies);
            assert_eq!((first, second), (true, false));
        })
        .await;
}

#[tokio::test]
async fn a_dropped_request_is_cancelled_on_the_other_side_but_a_submitted_input_is_not() {
    Ends::new(64)
        .connected(async |near, _messages, _grants, mut far| {
            let mut waiting = near.ask_decision(call("a"));
            let (id, request) = tokio::select! {
                _decided = &mut waiting => panic!("nobody decides"),
                request = far.request() => request,
            };
            assert!(matches!(request, WireRequest::AskDecision { .. }), "{request:?}");
            drop(waiting);
            assert!(matches!(far.notice().await, WireRunNotice::Cancel { request } if request == id));
            let mut submitted = near.submit(vec![RunInput::StopHooksRan]);
            tokio::select! {
                _result = &mut submitted => panic!("nobody replies"),
                request = far.request() => assert!(matches!(request.1, WireRequest::Submit { .. }), "{request:?}"),
            }
            drop(submitted);
            near.set_initial_text("after");
            assert!(matches!(far.notice().await, WireRunNotice::InitialText { .. }), "it is not cancelled");
        })
        .await;
}

/// The session does not know whether a cancelled run heard of what it was granted.
#[tokio::test]
async fn what_was_granted_to_a_dropped_request_is_returned() {
    Ends::new(64)
        .connected(async |near, _messages, _grants, mut far| {
            let mut waiting = near.reserve_day(5);
            let (id, _request) = tokio::select! {
                _reserved = &mut waiting => panic!("nobody replies"),
                request = far.request() => request,
            };
            far.reply(id, json!({ "type": "reserved", "hold": 7 }));
            // When a later request has its reply, this one's has been sent.
            let later = async {
                let (id, _request) = far.request().await;
                far.reply(id, json!(false));
            };
            tokio::join!(near.take_compaction_request(), later);
            drop(waiting);
            let notice = far.notice().await;
            assert!(
                matches!(notice, WireRunNotice::HoldUpdated { hold: 7, update: WireHoldUpdate::Dropped }),
                "{notice:?}"
            );
        })
        .await;
}

#[tokio::test]
async fn a_run_that_has_its_reply_has_the_events_and_the_policy_that_came_before() {
    let ends = Ends::new(64);
    let (to_run, grants) = (ends.to_run.clone(), Arc::clone(&ends.grants));
    ends.connected(async |near, mut messages, run_grants, mut far| {
        let requested = near.take_compaction_request();
        let replies = async {
            let (id, _request) = far.request().await;
            grants.set_mode(PermissionMode::AllowAll);
            for seq in 1..=100 {
                to_run.send(RunMessage::Event(event(seq, Event::TaskUnstalled))).unwrap();
            }
            far.reply(id, json!(true));
            far
        };
        let (requested, _far) = tokio::join!(requested, replies);
        assert!(requested);
        let mut heard = 0;
        while let Some(RunMessage::Event(_)) = messages.try_next() {
            heard += 1;
        }
        assert_eq!((heard, run_grants.policy().mode), (100, PermissionMode::AllowAll));
    })
    .await;
}

#[tokio::test]
async fn neither_side_waits_for_the_other_to_read() {
    const MANY: u64 = 2_000;
    let ends = Ends::new(16);
    let to_run = ends.to_run.clone();
    ends.connected(async |near, mut messages, _grants, mut far| {
        for seq in 1..=MANY {
            to_run.send(RunMessage::Event(event(seq, Event::TaskUnstalled))).unwrap();
            near.answer_arrived(Turn(1), Some("a piece of the answer"), u32::try_from(seq).unwrap());
        }
        let heard = async {
            for _event in 0..MANY {
                messages.next().await.unwrap();
            }
        };
        let told = async {
            for seq in 1..=MANY {
                let notice = far.notice().await;
                assert!(matches!(notice, WireRunNotice::AnswerArrived { tokens, .. } if u64::from(tokens) == seq));
            }
        };
        tokio::join!(heard, told);
    })
    .await;
}

#[tokio::test]
async fn text_of_other_tasks_arrives_as_the_session_formats_it() {
    let ends = Ends::new(1 << 16);
    let to_run = ends.to_run.clone();
    ends.connected(async |near, mut messages, _grants, far| {
        let mail = event(1, result_mail(1));
        let formatted = WireRunEvent { envelope: (*mail).clone(), formatted: Some("as the session says".into()) };
        let (behind, _messages) = RunMessages::channel();
        let known = Incoming::Notice(WireSessionNotice::Committed { event: Box::new(formatted) });
        far.session.handle(known, &behind, &Grants::new(Policy::default())).unwrap();
        to_run.send(RunMessage::Event(mail)).unwrap();
        messages.next().await.unwrap();
        assert_eq!(near.format_result(task(2), Activation(1)), "as the session says");
    })
    .await;
}

#[tokio::test]
async fn long_logs_are_read_in_parts() {
    let text = "x".repeat(700_000);
    Ends::new(1 << 16)
        .connected(async |near, _messages, _grants, mut far| {
            let read = near.events_after(0);
            let replies = async {
                let (request, _events) = far.request().await;
                let (messages, _messages) = RunMessages::channel();
                let grants = Grants::new(Policy::default());
                for seq in 1..=9 {
                    let envelope = (*event(seq, Event::IntentReported { intent: text.clone() })).clone();
                    let events = vec![WireRunEvent { envelope, formatted: None }];
                    let part = Incoming::Notice(WireSessionNotice::EventsPart { request, events });
                    far.session.handle(part, &messages, &grants).unwrap();
                }
                far.reply(request, json!({ "Ok": null }));
                far
            };
            let (read, _far) = tokio::join!(read, replies);
            let numbers: Vec<u64> = read.unwrap().iter().map(|envelope| envelope.seq).collect();
            assert_eq!(numbers, (1..=9).collect::<Vec<_>>());
        })
        .await;
}

#[tokio::test]
async fn the_end_of_the_stream_ends_both_sides() {
    let Ends { session_stream, mut told, to_run: _supervisor, grants, far, run_stream, .. } = Ends::new(64);
    let (input, output) = tokio::io::split(session_stream);
    let connection = Connection::new(input, output, Framing::ContentLength, LIMITS);
    let session: Arc<dyn SessionRequests> = far.session;
    let (tools, outbox) = (ProgramTools::default(), connection.outbox().clone());
    let serving = Serving::new(session, grants, tools, Heartbeat::default(), outbox);
    drop(run_stream);
    let served = timeout(DEADLINE, serving.run(&mut told, connection)).await.unwrap();
    assert!(matches!(served, Err(RunLoss::Disconnected)), "{served:?}");
    let (near, peer) = tokio::io::duplex(64);
    drop(peer);
    let (input, output) = tokio::io::split(near);
    let performed = timeout(DEADLINE, perform_run(input, output)).await.unwrap();
    assert!(matches!(performed, Err(RunProcessError::SessionGone)), "{performed:?}");
}

#[tokio::test]
async fn a_message_of_the_wrong_kind_ends_the_run_with_the_reason() {
    let Ends { session_stream, mut told, to_run: _supervisor, grants, far, mut run_stream, .. } = Ends::new(1 << 16);
    let (input, output) = tokio::io::split(session_stream);
    let connection = Connection::new(input, output, Framing::ContentLength, LIMITS);
    let session: Arc<dyn SessionRequests> = far.session;
    let (tools, outbox) = (ProgramTools::default(), connection.outbox().clone());
    let serving = Serving::new(session, grants, tools, Heartbeat::default(), outbox);
    let unknown = RpcMessage::Request(RpcRequest {
        id: rpc::RequestId::Number(1.into()),
        method: "run".into(),
        params: json!({ "type": "openDatabase" }),
    });
    run_stream.write_all(&Framing::ContentLength.wrap(unknown.into_json())).await.unwrap();
    let served = timeout(DEADLINE, serving.run(&mut told, connection)).await.unwrap();
    let Err(RunLoss::Protocol(ProtocolError::Malformed(reason))) = served else { panic!("{served:?}") };
    assert!(reason.contains("openDatabase"), "{reason}");
}

/// Serves a run that sends these bytes, in pieces of this size, and then hangs up.
async fn serve_bytes(bytes: Vec<u8>, piece: usize) -> Result<(), RunLoss> {
    let Ends { session_stream, mut told, to_run: _supervisor, grants, far, run_stream, .. } = Ends::new(piece);
    let (input, output) = tokio::io::split(session_stream);
    let connection = Connection::new(input, output, Framing::ContentLength, LIMITS);
    let session: Arc<dyn SessionRequests> = Arc::<RemoteSession>::clone(&far.session);
    let (tools, outbox) = (ProgramTools::default(), connection.outbox().clone());
    let serving = Serving::new(session, grants, tools, Heartbeat::default(), outbox);
    let (_unread, mut writer) = tokio::io::split(run_stream);
    let write = async move {
        // The reader may hang up first.
        let _refused = writer.write_all(&bytes).await;
        drop((writer, _unread));
        std::future::pending::<()>().await;
    };
    let (served, mut write) = (pin!(serving.run(&mut told, connection)), pin!(write));
    tokio::select! {
        served = served => served,
        () = &mut write => panic!("it waits for ever"),
    }
}

/// The frames of some valid messages.
fn valid_frames() -> Vec<Vec<u8>> {
    let wrap = |message: RpcMessage| Framing::ContentLength.wrap(message.into_json());
    let inputs = vec![WireInput::Note { text: "ä\n\0".into() }];
    let call = ToolCallRequest { id: call("c"), tool: "sql".into(), input: "{}".into() };
    let requests = [WireRequest::Profile, WireRequest::Submit { inputs }, WireRequest::RunTool { turn: Turn(1), call }];
    let requests = requests.iter().zip(1..).map(|(request, id)| connection::request(id, request).unwrap());
    let notices = [WireRunNotice::Alive, WireRunNotice::Cancel { request: 2 }, WireRunNotice::AnswerReset];
    let notices = notices.iter().map(|notice| connection::notice(notice).unwrap());
    requests.chain(notices).map(wrap).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever a run's process sends, its session ends the run with an error, and never waits for more than the stream.
    #[test]
    fn no_bytes_of_a_run_harm_its_session(
        order in prop::collection::vec(0_usize..6, 0..12),
        cut in any::<prop::sample::Index>(),
        change in prop::option::of((any::<prop::sample::Index>(), any::<u8>())),
        noise in prop::collection::vec(any::<u8>(), 0..40),
        piece in 1_usize..200,
    ) {
        let frames = valid_frames();
        let mut bytes: Vec<u8> = order.iter().flat_map(|index| frames[*index].clone()).collect();
        if let Some((index, byte)) = change.filter(|_| !bytes.is_empty()) {
            let at = index.index(bytes.len());
            bytes[at] = byte;
        }
        bytes.truncate(cut.index(bytes.len() + 1));
        bytes.extend(noise);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let served = runtime.block_on(async { timeout(DEADLINE, serve_bytes(bytes, piece)).await });
        prop_assert!(matches!(served, Ok(Err(_))), "{served:?}");
    }

    /// Whatever a session sends, a run's process ends.
    #[test]
    fn no_bytes_of_a_session_harm_its_run(bytes in prop::collection::vec(any::<u8>(), 0..400), framed in any::<bool>()) {
        let bytes = if framed { Framing::ContentLength.wrap(bytes) } else { bytes };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let performed = runtime.block_on(async {
            let (near, mut peer) = tokio::io::duplex(1 << 16);
            peer.write_all(&bytes).await.unwrap();
            drop(peer);
            let (input, output) = tokio::io::split(near);
            timeout(DEADLINE, perform_run(input, output)).await
        });
        prop_assert!(matches!(performed, Ok(Err(_))), "{performed:?}");
    }
}

/// A value after it was written as JSON and read again.
fn again<T: serde::Serialize + serde::de::DeserializeOwned>(value: &T) -> T {
    serde_json::from_str(&serde_json::to_string(value).unwrap()).unwrap()
}

#[test]
fn reports_arrive_as_they_were_made() {
    let turn = Turn(3);
    let ended = |ending| RunUpdate::Ended { ending, text: "so far".into() };
    let failed = |charge| {
        let (fault, message) = (ModelFault::Overloaded, "busy".into());
        RunUpdate::TurnFailed { turn, fault, message, charge, retry: None }
    };
    let updates = [
        RunUpdate::Boundary(BoundaryPoint::End),
        RunUpdate::Boundary(BoundaryPoint::BetweenTurns),
        failed(FailedCallCharge::Nothing),
        failed(FailedCallCharge::Used { output: 7 }),
        RunUpdate::CallStarted { turn, call: call("c") },
        ended(RunEnding::Completed),
        ended(RunEnding::BudgetExhausted),
        ended(RunEnding::Failed { kind: FailKind::Model, message: "no".into() }),
        ended(RunEnding::TimedOut(protocol::LimitKind::Turns)),
    ];
    let inputs = updates.into_iter().map(RunInput::Update).chain([RunInput::StopHooksRan, RunInput::Note("n".into())]);
    for input in inputs {
        let wire = WireInput::of(input.clone()).unwrap();
        assert_eq!(RunInput::from(again(&wire)), input);
    }
    assert_eq!(WireInput::of(RunInput::Update(RunUpdate::Intent("of a call".into()))), None);
}

#[test]
fn a_run_distinguishes_the_same_rejections_in_another_process() {
    let refusals = [
        InputRefusal::WrongTurn,
        InputRefusal::WrongCallPhase(call("c")),
        InputRefusal::StopBlockLimit { cap: 3 },
        InputRefusal::Budget { task: task(1) },
        InputRefusal::MailWaiting,
    ];
    for refusal in refusals {
        let outcome = WireOutcome::<()>::of(Err::<(), _>(InputRejection::Refused(refusal.clone())));
        let arrived: Result<(), InputRejection> = again(&outcome).into_result();
        assert!(matches!(arrived, Err(InputRejection::Refused(arrived)) if arrived == refusal));
    }
    let other = InputRejection::Refused(InputRefusal::Depth { cap: 4 });
    let arrived: Result<(), _> = again(&WireOutcome::<()>::of(Err::<(), _>(other.clone()))).into_result();
    assert!(matches!(&arrived, Err(rejected @ InputRejection::Remote { .. })
        if rejected.to_string() == other.to_string() && rejected.kind() == other.kind()));
}

#[test]
fn a_policy_arrives_with_all_its_rules() {
    let rule = |effect, text: &str, source| Rule::parse(effect, text, source).unwrap();
    let policy = Policy {
        mode: PermissionMode::AcceptEdits,
        asks_reads: true,
        rules: vec![
            rule(RuleEffect::Allow, "Bash(git *)", RuleSource::Flag),
            rule(RuleEffect::Deny, "edit(src/**)", RuleSource::Project("/p/.bosun/config.toml".into())),
            rule(RuleEffect::Ask, "fetch(domain:example.com)", RuleSource::User("/u".into())),
        ],
        project_dir: "/p".into(),
        work_folders: vec!["/w".into()],
        user_home: Some("/u".into()),
        control_paths: vec!["/p/.bosun".into()],
        exempt_folders: vec!["/x".into()],
    };
    assert_eq!(Policy::try_from(again(&WirePolicy::from(&policy))).unwrap(), policy);
}

#[tokio::test]
async fn what_a_run_holds_and_its_hooks_reach_the_session() {
    Ends::new(1 << 16)
        .connected(async |near, _messages, _grants, mut far| {
            near.update_hold(HoldId(3), HoldUpdate::Returned(PermitOutcome::Failed(ModelFault::Overloaded)));
            assert!(matches!(far.notice().await, WireRunNotice::HoldUpdated { hold: 3, .. }));
            let stop = HookEventData::AgentStop {
                reason: "completed".into(),
                last_message: "done".into(),
                is_repeated: false,
            };
            let verdict = near.run_hooks(stop);
            let replies = async {
                let (id, _request) = far.request().await;
                let deny = json!({ "ruling": { "type": "deny", "reason": "tests" }, "updatedInput": null,
                    "replacementText": null, "haltReason": null, "context": ["c"], "messages": [], "rules": [],
                    "clientAllows": false });
                far.reply(id, deny);
                far
            };
            let (verdict, mut far) = tokio::join!(verdict, replies);
            assert_eq!((verdict.denial_reason(), verdict.context.len()), (Some("tests"), 1));
            let lines = near.digest_lines(BTreeSet::from([task(1)]));
            let replies = async {
                let (id, _request) = far.request().await;
                far.reply(id, json!({ "ok": { "tasks": ["t"], "todos": [] } }));
                far
            };
            let (lines, _far) = tokio::join!(lines, replies);
            assert_eq!(lines.unwrap().tasks, ["t"]);
        })
        .await;
}
