//! The session of a run that is in another process than its session.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hooks::{HookEventData, HookVerdict};
use kernel::DecidedAsk;
use policy::Policy;
use protocol::api::RefusalKind;
use protocol::{
    Activation, CallId, Envelope, Event, HookEvent, MailBody, Principal, Refusal, TaskId, ToolCallRequest, Turn,
};
use rpc::RpcMessage;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot, watch};
use tools::{BoxFuture, ToolError, ToolOutput};

use super::connection::{self, Incoming, ProtocolError};
use super::wire::{
    WireAdmission, WireCallProgress, WireDayReply, WireDecision, WireDigest, WireHookEvent, WireInput, WireOutcome,
    WireProfile, WireRefusal, WireRequest, WireRunEvent, WireRunNotice, WireSealReply, WireSessionNotice,
    WireTaskProgress, WireToolReply, WireVerdict,
};
use crate::conversation::ResultFormatter;
use crate::governor::DayBudgetError;
use crate::grants::Grants;
use crate::run_requests::{
    AdmissionReply, AdmissionRequest, AskRequest, CallProgress, DigestLines, HoldId, HoldUpdate, RunInput,
    SessionRequests, TaskProfile, TaskProgress, WorkSeal, WorkSealError,
};
use crate::supervisor::{InputRejection, RunMessage};

/// The session of a run, at the other end of a byte stream. When the stream ends, requests get no reply any more: whoever
/// drives the run drops it.
pub(super) struct RemoteSession {
    outgoing: mpsc::UnboundedSender<RpcMessage>,
    pending: PendingReplies,
    next_id: AtomicU64,
    formatted: Mutex<HashMap<ForeignText, String>>,
    settled: watch::Sender<u64>,
    /// The first error that the run cannot continue after.
    broken: watch::Sender<Option<ProtocolError>>,
}

/// Text of another task in the mail of this one.
#[derive(Debug, PartialEq, Eq, Hash)]
enum ForeignText {
    Result(TaskId, Activation),
    Message(TaskId, String),
}

impl fmt::Debug for RemoteSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemoteSession").finish_non_exhaustive()
    }
}

impl RemoteSession {
    /// A session that puts its messages into this queue.
    pub(super) fn new(outgoing: mpsc::UnboundedSender<RpcMessage>) -> RemoteSession {
        RemoteSession {
            outgoing,
            pending: PendingReplies::default(),
            next_id: AtomicU64::new(1),
            formatted: Mutex::default(),
            settled: watch::channel(0).0,
            broken: watch::channel(None).0,
        }
    }

    /// Waits until the run cannot continue.
    pub(super) async fn broken(&self) -> ProtocolError {
        let mut broken = self.broken.subscribe();
        match broken.wait_for(Option::is_some).await.map(|error| error.clone()) {
            Ok(Some(error)) => error,
            // The sender is a field of this session.
            Ok(None) | Err(_) => std::future::pending().await,
        }
    }

    /// Handles a message of the session.
    pub(super) fn handle(
        &self,
        message: Incoming<(), WireSessionNotice>,
        messages: &mpsc::UnboundedSender<RunMessage>,
        grants: &Grants,
    ) -> Result<(), ProtocolError> {
        match message {
            Incoming::Reply(request, content) => self.pending.reply(request, content),
            Incoming::Notice(WireSessionNotice::Committed { event }) => {
                let event = RunMessage::Event(Arc::new(self.accept_event(*event)));
                // The run may have just ended.
                let _ended = messages.send(event);
            }
            Incoming::Notice(WireSessionNotice::EventsPart { request, events }) => {
                let events = events.into_iter().map(|event| self.accept_event(event)).collect();
                self.pending.add_events(request, events);
            }
            Incoming::Notice(WireSessionNotice::SlotRegained) => drop(messages.send(RunMessage::SlotRegained)),
            Incoming::Notice(WireSessionNotice::WrapUp) => drop(messages.send(RunMessage::WrapUp)),
            Incoming::Notice(WireSessionNotice::Settled) => self.settled.send_modify(|settled| *settled += 1),
            Incoming::Notice(WireSessionNotice::PolicyChanged { policy }) => {
                let policy = Policy::try_from(*policy).map_err(|error| ProtocolError::Malformed(error.to_string()))?;
                grants.replace(policy);
            }
            Incoming::Notice(WireSessionNotice::Begin { .. }) | Incoming::Request(..) => {
                return Err(ProtocolError::Unexpected);
            }
        }
        Ok(())
    }

    /// Tells the session something.
    pub(super) fn notify(&self, notice: &WireRunNotice) {
        self.put(connection::notice(notice));
    }

    fn accept_event(&self, event: WireRunEvent) -> Envelope {
        let WireRunEvent { envelope, formatted } = event;
        let text = match &envelope.entry.event {
            Event::MailAdmitted { body: MailBody::Result { task, activation }, .. } => {
                Some(ForeignText::Result(*task, *activation))
            }
            Event::MailAdmitted { from: Principal::Task { id }, body: MailBody::Text { text, .. }, .. } => {
                Some(ForeignText::Message(*id, text.clone()))
            }
            _other => None,
        };
        if let (Some(text), Some(formatted)) = (text, formatted) {
            lock(&self.formatted).insert(text, formatted);
        }
        envelope
    }

    fn formatted(&self, text: &ForeignText) -> Option<String> {
        lock(&self.formatted).get(text).cloned()
    }

    fn put(&self, message: Result<RpcMessage, ProtocolError>) {
        match message {
            // If the stream has ended, the run is dropped.
            Ok(message) => drop(self.outgoing.send(message)),
            Err(error) => self.break_off(error),
        }
    }

    fn break_off(&self, error: ProtocolError) {
        self.broken.send_if_modified(|broken| {
            let is_first = broken.is_none();
            broken.get_or_insert(error);
            is_first
        });
    }

    /// Sends a request and waits for its reply. Dropping the future cancels the request.
    async fn ask<T: DeserializeOwned>(&self, request: WireRequest) -> T {
        self.ask_for_events(request).await.0
    }

    async fn ask_for_events<T: DeserializeOwned>(&self, request: WireRequest) -> (T, Vec<Envelope>) {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let reply = self.pending.open(id);
        // Inputs that were submitted stay submitted.
        let is_cancelled = !matches!(request, WireRequest::Submit { .. });
        let mut cancel = CancelOnDrop { session: self, request: is_cancelled.then_some(id) };
        self.put(connection::request(id, &request));
        let reply = match reply.await {
            Ok(reply) => reply,
            Err(_lost) => std::future::pending().await,
        };
        cancel.request = None;
        match connection::read(reply.content) {
            Ok(content) => (content, reply.events),
            Err(error) => {
                self.break_off(error);
                std::future::pending().await
            }
        }
    }
}

/// Cancels a request whose reply nobody waits for.
struct CancelOnDrop<'a> {
    session: &'a RemoteSession,
    /// Nothing once the reply is there.
    request: Option<u64>,
}

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        if let Some(request) = self.request {
            self.session.pending.close(request);
            self.session.notify(&WireRunNotice::Cancel { request });
        }
    }
}

/// The requests that wait for their replies.
#[derive(Default)]
struct PendingReplies(Mutex<HashMap<u64, PendingReply>>);

struct PendingReply {
    events: Vec<Envelope>,
    sender: oneshot::Sender<ReplyParts>,
}

struct ReplyParts {
    content: Value,
    events: Vec<Envelope>,
}

impl PendingReplies {
    fn open(&self, id: u64) -> oneshot::Receiver<ReplyParts> {
        let (sender, receiver) = oneshot::channel();
        lock(&self.0).insert(id, PendingReply { events: Vec::new(), sender });
        receiver
    }

    fn add_events(&self, id: u64, events: Vec<Envelope>) {
        if let Some(pending) = lock(&self.0).get_mut(&id) {
            pending.events.extend(events);
        }
    }

    /// Passes on the reply; one to a request that was cancelled is dropped.
    fn reply(&self, id: u64, content: Value) {
        if let Some(PendingReply { events, sender }) = self.close(id) {
            let _dropped = sender.send(ReplyParts { content, events });
        }
    }

    fn close(&self, id: u64) -> Option<PendingReply> {
        lock(&self.0).remove(&id)
    }
}

fn lock<T>(state: &Mutex<T>) -> MutexGuard<'_, T> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ResultFormatter for RemoteSession {
    fn format_result(&self, task: TaskId, activation: Activation) -> String {
        self.formatted(&ForeignText::Result(task, activation)).unwrap_or_else(|| format!("{task} has ended"))
    }

    fn format_message(&self, from: TaskId, text: &str) -> String {
        let formatted = self.formatted(&ForeignText::Message(from, text.to_owned()));
        formatted.unwrap_or_else(|| format!("Message from {from}:\n{text}"))
    }
}

impl SessionRequests for RemoteSession {
    fn submit(&self, inputs: Vec<RunInput>) -> BoxFuture<'_, Vec<Result<(), InputRejection>>> {
        Box::pin(async move {
            let count = inputs.len();
            let wire: Option<Vec<WireInput>> = inputs.into_iter().map(WireInput::of).collect();
            let Some(inputs) = wire else {
                let message = "a run in another process does not report this".to_owned();
                let rejected = InputRejection::Remote { kind: RefusalKind::Invalid, message };
                return vec![Err(rejected); count];
            };
            let results: Vec<WireOutcome<()>> = self.ask(WireRequest::Submit { inputs }).await;
            results.into_iter().map(WireOutcome::into_result).collect()
        })
    }

    fn profile(&self) -> BoxFuture<'_, Result<TaskProfile, Refusal>> {
        Box::pin(async {
            let profile: Result<WireProfile, WireRefusal> = self.ask(WireRequest::Profile).await;
            Ok(profile?.into())
        })
    }

    fn progress(&self) -> BoxFuture<'_, Result<TaskProgress, InputRejection>> {
        Box::pin(async { self.ask::<WireOutcome<WireTaskProgress>>(WireRequest::Progress).await.into_result() })
    }

    fn events_after(&self, seq: u64) -> BoxFuture<'_, Result<Vec<Envelope>, Refusal>> {
        Box::pin(async move {
            let (read, events) = self.ask_for_events::<Result<(), WireRefusal>>(WireRequest::EventsAfter { seq }).await;
            read?;
            Ok(events)
        })
    }

    fn call_progress(&self, call: CallId) -> BoxFuture<'_, Result<CallProgress, InputRejection>> {
        let request = WireRequest::CallProgress { call };
        Box::pin(async { self.ask::<WireOutcome<WireCallProgress>>(request).await.into_result() })
    }

    fn open_ask(&self, AskRequest { turn, ask }: AskRequest) -> BoxFuture<'_, Result<(), InputRejection>> {
        Box::pin(async move { self.ask::<WireOutcome<()>>(WireRequest::OpenAsk { turn, ask }).await.into_result() })
    }

    fn ask_decision(&self, call: CallId) -> BoxFuture<'_, Result<DecidedAsk, InputRejection>> {
        let request = WireRequest::AskDecision { call };
        Box::pin(async { self.ask::<WireOutcome<WireDecision>>(request).await.into_result() })
    }

    fn has_provider_answered(&self, model: String) -> BoxFuture<'_, Result<bool, InputRejection>> {
        let request = WireRequest::HasProviderAnswered { model };
        Box::pin(async { self.ask::<WireOutcome<bool>>(request).await.into_result() })
    }

    fn take_compaction_request(&self) -> BoxFuture<'_, bool> {
        Box::pin(self.ask(WireRequest::TakeCompactionRequest))
    }

    fn digest_lines(&self, unread: BTreeSet<TaskId>) -> BoxFuture<'_, Result<DigestLines, InputRejection>> {
        let request = WireRequest::DigestLines { unread: unread.into_iter().collect() };
        Box::pin(async { self.ask::<WireOutcome<WireDigest>>(request).await.into_result() })
    }

    fn has_hook(&self, event: HookEvent) -> BoxFuture<'_, bool> {
        Box::pin(self.ask(WireRequest::HasHook { event }))
    }

    fn run_hooks(&self, event: HookEventData) -> BoxFuture<'_, HookVerdict> {
        Box::pin(async move {
            match WireHookEvent::of(event) {
                Some(event) => self.ask::<WireVerdict>(WireRequest::RunHooks { event }).await.into(),
                // The session runs the hooks on its own events.
                None => HookVerdict::default(),
            }
        })
    }

    fn run_start_hooks(&self) -> BoxFuture<'_, Option<HookVerdict>> {
        Box::pin(async {
            let verdict: Option<WireVerdict> = self.ask(WireRequest::RunStartHooks).await;
            verdict.map(HookVerdict::from)
        })
    }

    fn report_denied_start(&self, reason: String) -> BoxFuture<'_, ()> {
        Box::pin(self.ask(WireRequest::ReportDeniedStart { reason }))
    }

    fn changed_paths(&self) -> BoxFuture<'_, Vec<String>> {
        Box::pin(self.ask(WireRequest::ChangedPaths))
    }

    fn admit_check(&self, command: String) -> BoxFuture<'_, Result<String, Refusal>> {
        Box::pin(async { Ok(self.ask::<Result<_, WireRefusal>>(WireRequest::AdmitCheck { command }).await?) })
    }

    fn admit_request(&self, request: AdmissionRequest) -> BoxFuture<'_, AdmissionReply> {
        Box::pin(async { self.ask::<WireAdmission>(request.into()).await.into() })
    }

    fn reserve_day(&self, micros: u64) -> BoxFuture<'_, Result<HoldId, DayBudgetError>> {
        Box::pin(async move { self.ask::<WireDayReply>(WireRequest::ReserveDay { micros }).await.into() })
    }

    fn raise_day(&self, HoldId(hold): HoldId, micros: u64) -> BoxFuture<'_, bool> {
        Box::pin(self.ask(WireRequest::RaiseDay { hold, micros }))
    }

    fn update_hold(&self, HoldId(hold): HoldId, update: HoldUpdate) {
        self.notify(&WireRunNotice::HoldUpdated { hold, update: update.into() });
    }

    fn settled(&self) -> watch::Receiver<u64> {
        let mut settled = self.settled.subscribe();
        settled.mark_unchanged();
        settled
    }

    fn seal_work(&self) -> BoxFuture<'_, Result<Option<WorkSeal>, WorkSealError>> {
        Box::pin(async { self.ask::<WireSealReply>(WireRequest::SealWork).await.into() })
    }

    fn set_initial_text(&self, text: &str) {
        self.notify(&WireRunNotice::InitialText { text: text.to_owned() });
    }

    fn reset_answer(&self) {
        self.notify(&WireRunNotice::AnswerReset);
    }

    fn answer_arrived(&self, turn: Turn, text: Option<&str>, tokens: u32) {
        self.notify(&WireRunNotice::AnswerArrived { turn, text: text.map(str::to_owned), tokens });
    }

    fn run_tool(&self, turn: Turn, call: ToolCallRequest) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(async move { self.ask::<WireToolReply>(WireRequest::RunTool { turn, call }).await.into() })
    }
}
