//! The session's side of a run in another process: sends it what it must hear, and answers its requests.

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::future::{AbortHandle, Abortable, Aborted};
use futures_util::stream::FuturesUnordered;
use policy::Policy;
use protocol::{Envelope, Event, MailBody, Principal, Refusal};
use rpc::{Connection, Framing, Outbox, RpcMessage, SendError};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;
use tools::{BoxFuture, Heartbeat, Tool, ToolLimits};

use super::connection::{self, Incoming, LIMITS, ProtocolError, StreamEnd};
use super::wire::{
    RunSetup, RunSetupError, WireAdmission, WireCallProgress, WireDayReply, WireDecision, WireDigest, WireOutcome,
    WireProfile, WireRefusal, WireRequest, WireRunEvent, WireRunNotice, WireSealReply, WireSessionNotice,
    WireTaskProgress, WireToolReply, WireVerdict, was_judged_rightly,
};
use crate::conversation::ResultFormatter;
use crate::grants::Grants;
use crate::run_requests::{
    AdmissionReply, AdmissionRequest, AskRequest, HoldId, HoldUpdate, RunInput, SessionRequests, TaskProfile,
};
use crate::session_context::SessionContext;
use crate::supervisor::{RunLink, RunMessage, RunMessages};
use crate::task_workspaces::TaskWorkspace;

/// The most requests of a run that are open at once; each call of an answer has a few.
const MAX_OPEN_REQUESTS: usize = 4096;

/// How many bytes of events are sent in one message, if they are several.
const EVENTS_PART_BYTES: usize = 1 << 20;

/// Why a run in another process is over before its end.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RunLoss {
    /// Its process died, or the connection to it.
    #[error("its process ended early")]
    Disconnected,
    /// It could not continue.
    #[error("{0}")]
    Failed(String),
    /// The other side does not follow the protocol.
    #[error("its process sent an invalid message: {0}")]
    Protocol(#[from] ProtocolError),
}

impl From<StreamEnd> for RunLoss {
    fn from(end: StreamEnd) -> RunLoss {
        match end {
            StreamEnd::Closed => RunLoss::Disconnected,
            StreamEnd::Broken(error) => RunLoss::Protocol(error),
        }
    }
}

/// A run in another process, as its session serves it.
#[derive(Debug)]
pub(crate) struct ServedRun {
    session: Arc<dyn SessionRequests>,
    grants: Arc<Grants>,
    tools: ProgramTools,
    setup: RunSetup,
}

/// The tools of the programs that are connected to the session.
#[derive(Debug, Clone, Default)]
pub(super) struct ProgramTools {
    tools: Arc<[Arc<dyn Tool>]>,
    limits: ToolLimits,
}

impl ServedRun {
    /// A run of this task, whose requests this session answers.
    pub(crate) fn new(
        context: &SessionContext,
        link: &RunLink,
        session: Arc<dyn SessionRequests>,
        profile: &TaskProfile,
        workspace: &TaskWorkspace,
    ) -> Result<ServedRun, RunSetupError> {
        let tools = context.catalog.client_extensions.all_tools().into();
        Ok(ServedRun {
            session,
            grants: Arc::clone(&context.workplace.grants),
            tools: ProgramTools { tools, limits: context.facts.tools },
            setup: RunSetup::new(context, link.run, profile, workspace)?,
        })
    }

    /// Serves the run until it is over. Dropping the future cancels what it has asked for.
    pub(crate) async fn serve<R, W>(self, link: &mut RunLink, input: R, output: W) -> Result<(), RunLoss>
    where
        R: AsyncRead + Unpin,
        W: AsyncWrite + Unpin + Send + 'static,
    {
        let ServedRun { session, grants, tools, setup } = self;
        let connection = Connection::new(input, output, Framing::ContentLength, LIMITS);
        let mut serving = Serving::new(session, grants, tools, link.heartbeat.clone(), connection.outbox().clone());
        let begin = WireSessionNotice::Begin { setup: Box::new(setup) };
        serving.sender.notify(&begin).await?;
        serving.run(&mut link.messages, connection).await
    }
}

/// The state of the loop that serves a run.
pub(super) struct Serving {
    session: Arc<dyn SessionRequests>,
    sender: RunSender,
    settled: watch::Receiver<u64>,
    requests: OpenRequests,
    /// What the session granted, by the request that asked for it, until the run returns it.
    granted: HashMap<u64, HoldId>,
    heartbeat: Heartbeat,
    tools: ProgramTools,
}

/// Why the loop wakes up.
enum ServeWake {
    Message(Option<RunMessage>),
    PolicyChanged,
    Settled,
    Replied(u64, Result<Reply, Aborted>),
    Frame(Result<Option<rpc::IncomingMessage>, rpc::FrameError>),
}

/// What follows a message of the run.
enum ServeStep {
    Continue,
    Finished,
}

impl Serving {
    pub(super) fn new(
        session: Arc<dyn SessionRequests>,
        grants: Arc<Grants>,
        tools: ProgramTools,
        heartbeat: Heartbeat,
        outbox: Outbox,
    ) -> Serving {
        Serving {
            settled: session.settled(),
            sender: RunSender { outbox, policy: grants.changes(), grants, session: Arc::clone(&session) },
            requests: OpenRequests::default(),
            granted: HashMap::new(),
            heartbeat,
            session,
            tools,
        }
    }

    /// Serves the run until it is over.
    pub(super) async fn run<R: AsyncRead + Unpin>(
        mut self,
        messages: &mut RunMessages,
        mut connection: Connection<R>,
    ) -> Result<(), RunLoss> {
        loop {
            let wake = tokio::select! {
                biased;
                message = messages.next() => ServeWake::Message(message),
                changed = self.sender.policy.changed() => match changed {
                    Ok(()) => ServeWake::PolicyChanged,
                    Err(_gone) => return Err(RunLoss::Disconnected),
                },
                changed = self.settled.changed() => match changed {
                    Ok(()) => ServeWake::Settled,
                    Err(_gone) => return Err(RunLoss::Disconnected),
                },
                Some((request, reply)) = self.requests.replies.next() => ServeWake::Replied(request, reply),
                frame = connection.next() => ServeWake::Frame(frame),
            };
            match wake {
                ServeWake::Message(Some(message)) => self.sender.pass_on(message).await?,
                ServeWake::Message(None) => return Err(RunLoss::Disconnected),
                ServeWake::PolicyChanged => self.sender.send_policy().await?,
                ServeWake::Settled => self.sender.notify(&WireSessionNotice::Settled).await?,
                ServeWake::Replied(request, reply) => {
                    self.requests.cancels.remove(&request);
                    let Ok(reply) = reply else { continue };
                    if let Reply::Granted(hold, _) = &reply {
                        self.granted.insert(request, *hold);
                    }
                    // A run that has its reply must find the events of its request.
                    while let Some(message) = messages.try_next() {
                        self.sender.pass_on(message).await?;
                    }
                    self.sender.reply(request, reply).await?;
                }
                ServeWake::Frame(frame) => {
                    let frame = frame.map_err(StreamEnd::from)?.ok_or(RunLoss::Disconnected)?;
                    match self.handle(connection::parse(frame)?)? {
                        ServeStep::Continue => {}
                        ServeStep::Finished => return Ok(()),
                    }
                }
            }
        }
    }

    fn handle(&mut self, message: Incoming<WireRequest, WireRunNotice>) -> Result<ServeStep, RunLoss> {
        match message {
            Incoming::Request(id, request) => {
                let reply = answer(Arc::clone(&self.session), self.tools.clone(), request);
                self.requests.open(id, reply)?;
            }
            Incoming::Notice(WireRunNotice::Finished) => return Ok(ServeStep::Finished),
            Incoming::Notice(WireRunNotice::Failed { message }) => return Err(RunLoss::Failed(message)),
            Incoming::Notice(WireRunNotice::Cancel { request }) => {
                if let Some(cancel) = self.requests.cancels.remove(&request) {
                    cancel.abort();
                }
                // The reply may be on its way, and the run does not know what it was granted.
                if let Some(hold) = self.granted.remove(&request) {
                    self.session.update_hold(hold, HoldUpdate::Dropped);
                }
            }
            Incoming::Notice(WireRunNotice::HoldUpdated { hold, update }) => {
                let (hold, update) = (HoldId(hold), HoldUpdate::from(update));
                if update.returns_it() {
                    self.granted.retain(|_request, granted| *granted != hold);
                }
                self.session.update_hold(hold, update);
            }
            Incoming::Notice(WireRunNotice::InitialText { text }) => self.session.set_initial_text(&text),
            Incoming::Notice(WireRunNotice::AnswerReset) => self.session.reset_answer(),
            Incoming::Notice(WireRunNotice::AnswerArrived { turn, text, tokens }) => {
                self.heartbeat.beat();
                self.session.answer_arrived(turn, text.as_deref(), tokens);
            }
            Incoming::Notice(WireRunNotice::Alive) => self.heartbeat.beat(),
            Incoming::Reply(..) => return Err(ProtocolError::Unexpected.into()),
        }
        Ok(ServeStep::Continue)
    }
}

/// The requests of a run that have no reply yet.
#[derive(Default)]
struct OpenRequests {
    replies: FuturesUnordered<BoxFuture<'static, (u64, Result<Reply, Aborted>)>>,
    cancels: HashMap<u64, AbortHandle>,
}

impl OpenRequests {
    fn open(&mut self, id: u64, reply: BoxFuture<'static, Reply>) -> Result<(), ProtocolError> {
        if self.cancels.len() >= MAX_OPEN_REQUESTS {
            return Err(ProtocolError::TooManyRequests { max: MAX_OPEN_REQUESTS });
        }
        let (cancel, registration) = AbortHandle::new_pair();
        if self.cancels.insert(id, cancel).is_some() {
            return Err(ProtocolError::Malformed(format!("two requests have the number {id}")));
        }
        self.replies.push(Box::pin(async move { (id, Abortable::new(reply, registration).await) }));
        Ok(())
    }
}

/// The reply to a request.
enum Reply {
    Value(Result<Value, ProtocolError>),
    /// The run holds something from now on.
    Granted(HoldId, Result<Value, ProtocolError>),
    /// Events, which are sent in parts.
    Events(Result<Vec<Envelope>, Refusal>),
}

/// Sends messages to the run. Each comes after every change of the policy that was made before it.
struct RunSender {
    outbox: Outbox,
    grants: Arc<Grants>,
    policy: watch::Receiver<()>,
    session: Arc<dyn SessionRequests>,
}

impl RunSender {
    async fn pass_on(&mut self, message: RunMessage) -> Result<(), RunLoss> {
        let notice = match message {
            RunMessage::Event(envelope) => {
                WireSessionNotice::Committed { event: Box::new(run_event(&*self.session, (*envelope).clone())) }
            }
            RunMessage::SlotRegained => WireSessionNotice::SlotRegained,
            RunMessage::WrapUp => WireSessionNotice::WrapUp,
        };
        self.notify(&notice).await
    }

    async fn reply(&mut self, request: u64, reply: Reply) -> Result<(), RunLoss> {
        let content = match reply {
            Reply::Value(content) | Reply::Granted(_, content) => content?,
            Reply::Events(Err(refusal)) => connection::write(&Err::<(), _>(WireRefusal::from(refusal)))?,
            Reply::Events(Ok(events)) => {
                let (mut part, mut bytes) = (Vec::new(), 0);
                for envelope in events {
                    let event = run_event(&*self.session, envelope);
                    let size = connection::write(&event)?.to_string().len();
                    if bytes + size > EVENTS_PART_BYTES && !part.is_empty() {
                        let events = std::mem::take(&mut part);
                        self.notify(&WireSessionNotice::EventsPart { request, events }).await?;
                        bytes = 0;
                    }
                    bytes += size;
                    part.push(event);
                }
                self.notify(&WireSessionNotice::EventsPart { request, events: part }).await?;
                connection::write(&Ok::<_, WireRefusal>(()))?
            }
        };
        self.send(connection::reply(request, content)).await
    }

    async fn notify(&mut self, notice: &WireSessionNotice) -> Result<(), RunLoss> {
        self.send(connection::notice(notice)?).await
    }

    async fn send(&mut self, message: RpcMessage) -> Result<(), RunLoss> {
        if self.policy.has_changed().unwrap_or(false) {
            self.send_policy().await?;
        }
        self.put(message).await
    }

    async fn send_policy(&mut self) -> Result<(), RunLoss> {
        self.policy.mark_unchanged();
        let policy: Arc<Policy> = self.grants.policy();
        let policy = Box::new((&*policy).into());
        self.put(connection::notice(&WireSessionNotice::PolicyChanged { policy })?).await
    }

    async fn put(&self, message: RpcMessage) -> Result<(), RunLoss> {
        self.outbox.send(message).await.map_err(|error| match error {
            SendError::Closed => RunLoss::Disconnected,
            SendError::TooLarge { max } => RunLoss::Protocol(ProtocolError::TooLarge { max }),
        })
    }
}

/// An event with the text of another task in it, which only the session can format.
fn run_event(session: &dyn ResultFormatter, envelope: Envelope) -> WireRunEvent {
    let formatted = match &envelope.entry.event {
        Event::MailAdmitted { body: MailBody::Result { task, activation }, .. } => {
            Some(session.format_result(*task, *activation))
        }
        Event::MailAdmitted { from: Principal::Task { id }, body: MailBody::Text { text, .. }, .. } => {
            Some(session.format_message(*id, text))
        }
        _other => None,
    };
    WireRunEvent { envelope, formatted }
}

/// Answers a request.
fn answer(session: Arc<dyn SessionRequests>, tools: ProgramTools, request: WireRequest) -> BoxFuture<'static, Reply> {
    Box::pin(async move {
        match request {
            WireRequest::EventsAfter { seq } => Reply::Events(session.events_after(seq).await),
            WireRequest::AdmitRequest { bucket, max_concurrent } => {
                let reply = session.admit_request(AdmissionRequest { bucket, max_concurrent }).await;
                let content = connection::write(&WireAdmission::from(reply));
                match reply {
                    AdmissionReply::Admitted(hold) => Reply::Granted(hold, content),
                    AdmissionReply::Park(_) => Reply::Value(content),
                }
            }
            WireRequest::ReserveDay { micros } => {
                let reply = session.reserve_day(micros).await;
                let hold = reply.as_ref().ok().copied();
                let content = connection::write(&WireDayReply::from(reply));
                match hold {
                    Some(hold) => Reply::Granted(hold, content),
                    None => Reply::Value(content),
                }
            }
            request => Reply::Value(answer_value(&*session, &tools, request).await),
        }
    })
}

async fn answer_value(
    session: &dyn SessionRequests,
    tools: &ProgramTools,
    request: WireRequest,
) -> Result<Value, ProtocolError> {
    match request {
        WireRequest::Submit { inputs } => {
            let inputs = inputs.into_iter().map(RunInput::from).collect();
            let results = session.submit(inputs).await;
            connection::write(&results.into_iter().map(WireOutcome::<()>::of).collect::<Vec<_>>())
        }
        WireRequest::Profile => {
            let profile = session.profile().await.map(|profile| WireProfile::from(&profile));
            connection::write(&profile.map_err(WireRefusal::from))
        }
        WireRequest::Progress => connection::write(&WireOutcome::<WireTaskProgress>::of(session.progress().await)),
        // These have replies of other kinds.
        WireRequest::EventsAfter { .. } | WireRequest::AdmitRequest { .. } | WireRequest::ReserveDay { .. } => {
            Err(ProtocolError::Unexpected)
        }
        WireRequest::CallProgress { call } => {
            connection::write(&WireOutcome::<WireCallProgress>::of(session.call_progress(call).await))
        }
        WireRequest::OpenAsk { turn, ask } => {
            connection::write(&WireOutcome::<()>::of(session.open_ask(AskRequest { turn, ask }).await))
        }
        WireRequest::AskDecision { call } => {
            connection::write(&WireOutcome::<WireDecision>::of(session.ask_decision(call).await))
        }
        WireRequest::HasProviderAnswered { model } => {
            connection::write(&WireOutcome::<bool>::of(session.has_provider_answered(model).await))
        }
        WireRequest::TakeCompactionRequest => connection::write(&session.take_compaction_request().await),
        WireRequest::DigestLines { unread } => {
            let lines = session.digest_lines(unread.into_iter().collect()).await;
            connection::write(&WireOutcome::<WireDigest>::of(lines))
        }
        WireRequest::HasHook { event } => connection::write(&session.has_hook(event).await),
        WireRequest::RunHooks { event } => connection::write(&WireVerdict::from(session.run_hooks(event.into()).await)),
        WireRequest::RunStartHooks => connection::write(&session.run_start_hooks().await.map(WireVerdict::from)),
        WireRequest::ReportDeniedStart { reason } => {
            session.report_denied_start(reason).await;
            Ok(Value::Null)
        }
        WireRequest::ChangedPaths => connection::write(&session.changed_paths().await),
        WireRequest::AdmitCheck { command } => {
            connection::write(&session.admit_check(command).await.map_err(WireRefusal::from))
        }
        WireRequest::RaiseDay { hold, micros } => connection::write(&session.raise_day(HoldId(hold), micros).await),
        WireRequest::SealWork => connection::write(&WireSealReply::from(session.seal_work().await)),
        WireRequest::RunTool { turn, call } => {
            let program_tool = tools.tools.iter().find(|tool| tool.spec().name == call.tool);
            let judged = program_tool.map_or(Ok(()), |tool| was_judged_rightly(&**tool, &call, &tools.limits));
            let result = match judged {
                Ok(()) => session.run_tool(turn, call).await,
                Err(refused) => Err(refused),
            };
            connection::write(&WireToolReply::from(result))
        }
    }
}
