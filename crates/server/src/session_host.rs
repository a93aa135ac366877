//! The sessions that this process runs for others.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use client::{ClientError, LatestFleet, SessionHandle};
use host::Home;
use protocol::api::{
    BeginFleetParams, FleetParams, HeldSessionView, Method, NotAdopted, Nothing, ReopenSessionParams, SendParams,
    SessionView, calls,
};
use protocol::{MailDelivery, Refusal, SessionId, SessionOptions};
use runtime::{InputRejection, SessionStart};
use serde_json::json;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio_util::task::TaskTracker;

use crate::activity::HostActivity;
use crate::held_record::{HeldRecord, HeldRecords, UnreadableRecord};
use crate::host_end::AnnouncedEnd;
use crate::{Attachment, HeldSession, HostEnd, KeepMode, OpenRefusal, OpenRequest, SessionOpener};

/// How long a session may take to answer its host.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(120);

/// Opens, holds and closes sessions for clients.
pub struct SessionHost {
    opener: Arc<dyn SessionOpener>,
    max_sessions: usize,
    /// Sessions are opened one at a time, so that no session is opened twice.
    opening: tokio::sync::Mutex<()>,
    held: HeldSessions,
    tasks: TaskTracker,
    /// The runtime that sessions run on, which may differ from the one that serves clients.
    runtime: Handle,
    activity: HostActivity,
    /// Where the next host finds the sessions of this one, if it adopts them.
    records: Option<HeldRecords>,
    /// Why the host ends, once it does.
    end: AnnouncedEnd,
    not_adopted: Mutex<Vec<NotAdopted>>,
    /// Whether sessions of an earlier host are being resumed.
    is_adopting: watch::Sender<bool>,
}

type HeldSessions = Arc<Mutex<HashMap<SessionId, HeldSession>>>;

/// Why a session is not held.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// The host is shutting down.
    #[error("the server is shutting down")]
    Closing,
    /// The host holds as many sessions as it may.
    #[error("the limit of {0} running sessions is reached")]
    Full(usize),
    /// The session could not be opened.
    #[error(transparent)]
    Refused(#[from] OpenRefusal),
    /// Its interrupted work could not be resumed.
    #[error(transparent)]
    Rejected(#[from] InputRejection),
    /// It did not accept its first prompt, or its fleet.
    #[error(transparent)]
    Prompt(#[from] ClientError),
    /// It could not be recorded for the next host, or the task that opened it failed unexpectedly.
    #[error("the session was not opened: {0}")]
    Failed(String),
}

impl fmt::Debug for SessionHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionHost").field("held", &self.held).finish_non_exhaustive()
    }
}

impl SessionHost {
    /// A host that holds at most `max_sessions` sessions, which run on the runtime of the caller and end with it.
    pub fn new(opener: Arc<dyn SessionOpener>, max_sessions: usize) -> Arc<SessionHost> {
        SessionHost::build(opener, max_sessions, None)
    }

    /// A host whose sessions the next host adopts, unless they were closed. A home has one such host at a time.
    pub fn resident(opener: Arc<dyn SessionOpener>, max_sessions: usize) -> Arc<SessionHost> {
        let records = HeldRecords::new(opener.home());
        SessionHost::build(opener, max_sessions, Some(records))
    }

    fn build(opener: Arc<dyn SessionOpener>, max_sessions: usize, records: Option<HeldRecords>) -> Arc<SessionHost> {
        Arc::new(SessionHost {
            opener,
            max_sessions,
            opening: tokio::sync::Mutex::new(()),
            held: HeldSessions::default(),
            tasks: TaskTracker::new(),
            runtime: Handle::current(),
            activity: HostActivity::new(),
            records,
            end: AnnouncedEnd::default(),
            not_adopted: Mutex::default(),
            is_adopting: watch::Sender::new(false),
        })
    }

    /// What opens the sessions.
    pub fn opener(&self) -> &dyn SessionOpener {
        &*self.opener
    }

    /// Where sessions are stored.
    pub fn home(&self) -> &Home {
        self.opener.home()
    }

    /// How many sessions are held.
    pub fn count(&self) -> usize {
        self.lock_held().len()
    }

    /// The sessions that are held, oldest first.
    pub fn views(&self) -> Vec<HeldSessionView> {
        let view = |held: &HeldSession| HeldSessionView { id: held.id(), phase: held.status().borrow().phase() };
        let mut views: Vec<_> = self.lock_held().values().map(view).collect();
        views.sort_by_key(|view| view.id);
        views
    }

    /// The sessions of an earlier host that could not be resumed.
    pub fn not_adopted(&self) -> Vec<NotAdopted> {
        self.not_adopted.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// A session that is held.
    pub fn find(&self, id: SessionId) -> Option<HeldSession> {
        self.lock_held().get(&id).cloned()
    }

    /// Any session, whether it is held here, runs in another process, or does not run.
    pub fn handle(&self, id: SessionId) -> SessionHandle {
        match self.find(id) {
            Some(held) => held.handle().clone(),
            None => SessionHandle::new(self.home(), id),
        }
    }

    /// Opens a session and holds it until it is closed. Interrupted work stays interrupted until
    /// [`HeldSession::resume`].
    pub async fn open(self: &Arc<Self>, request: OpenRequest) -> Result<HeldSession, HostError> {
        let host = Arc::clone(self);
        let opening = async move { Ok(host.open_here(request, KeepMode::UntilClosed).await?.held) };
        self.detached(opening).await
    }

    /// Opens a session, holds it until it is closed, and resumes its interrupted work.
    pub async fn open_and_resume(self: &Arc<Self>, request: OpenRequest) -> Result<HeldSession, HostError> {
        let host = Arc::clone(self);
        let opening = async move { Ok(host.open_at_work(request, KeepMode::UntilClosed).await?.held) };
        self.detached(opening).await
    }

    /// Opens a session, resumes its interrupted work, sends the prompt of the options, and keeps the session until
    /// nothing runs in it. A session that is held already is kept as before.
    pub async fn begin(
        self: &Arc<Self>,
        start: SessionStart,
        options: SessionOptions,
    ) -> Result<SessionView, HostError> {
        let host = Arc::clone(self);
        self.detached(async move { host.begin_here(start, options).await }).await
    }

    /// Opens a session, resumes its interrupted work, and keeps it at least as long as a client is attached to it.
    pub async fn attach(
        self: &Arc<Self>,
        request: ReopenSessionParams,
    ) -> Result<(SessionView, Attachment), HostError> {
        let host = Arc::clone(self);
        self.detached(async move { host.attach_here(request).await }).await
    }

    /// Begins a session with a fleet, and keeps it for as long as `keep` says. A session whose fleet cannot start is
    /// removed.
    pub async fn begin_fleet(
        self: &Arc<Self>,
        request: BeginFleetParams,
        keep: KeepMode,
    ) -> Result<SessionView, HostError> {
        let host = Arc::clone(self);
        self.detached(async move { host.begin_fleet_here(request, keep).await }).await
    }

    /// Resumes the sessions that an earlier host of this home kept. Returns at once.
    pub fn adopt(self: &Arc<Self>) {
        let (Some(records), Some(guard)) = (self.records.clone(), self.activity.begin()) else { return };
        let host = Arc::clone(self);
        self.is_adopting.send_replace(true);
        let adopting = async move {
            match records.read_all().await {
                Ok(records) => {
                    for record in records {
                        host.adopt_session(record).await;
                    }
                }
                Err(error) => tracing::error!(%error, "cannot read which sessions to adopt"),
            }
            host.is_adopting.send_replace(false);
            drop(guard);
        };
        self.tasks.spawn_on(adopting, &self.runtime);
    }

    /// Waits until the session is resumed, if an earlier host kept it and this one is about to resume it.
    pub async fn adopted(&self, id: SessionId) {
        if self.find(id).is_none() && self.home().is_held(id) {
            // The sender is a field of this host.
            let _adopted = self.is_adopting.subscribe().wait_for(|is_adopting| !is_adopting).await.is_ok();
        }
    }

    /// Waits until the host has had nothing to do for this long, and closes it; never returns without a limit.
    pub(crate) async fn idle(&self, after: Option<Duration>) {
        let Some(after) = after else { return std::future::pending().await };
        let mut count = self.activity.watch();
        loop {
            // The sender is a field of this host.
            let _idle = count.wait_for(|count| *count == 0).await.is_ok();
            let busy = tokio::time::timeout(after, count.wait_for(|count| *count > 0)).await;
            if busy.is_err() && self.activity.close_if_idle() {
                return;
            }
        }
    }

    /// Sets why the host ends, which decides how its sessions continue.
    pub fn set_end(&self, end: HostEnd) {
        self.end.set(end);
    }

    /// Closes every session and waits until they are closed: running work is interrupted and can be resumed. No session
    /// is opened from now on.
    pub async fn shut_down(&self) {
        self.activity.closing().cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }

    /// Finishes the work even if its client has left: a session without a task to hold it could not be reached.
    async fn detached<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, HostError>> + Send + 'static,
    ) -> Result<T, HostError> {
        let guard = self.activity.begin().ok_or(HostError::Closing)?;
        let guarded = async move {
            let result = work.await;
            drop(guard);
            result
        };
        let done = self.tasks.spawn_on(guarded, &self.runtime).await;
        done.unwrap_or_else(|failed| Err(HostError::Failed(failed.to_string())))
    }

    async fn begin_here(&self, start: SessionStart, mut options: SessionOptions) -> Result<SessionView, HostError> {
        let prompt = options.prompt.take();
        let request = OpenRequest { options, ..OpenRequest::new(start) };
        let OpenedSession { held, keep } = self.open_at_work(request, KeepMode::UntilQuiet).await?;
        let session = self.handle(held.id());
        if let Some(text) = prompt {
            let message =
                SendParams { task: None, text, images: Vec::new(), delivery: MailDelivery::FollowUp, display: None };
            let sent = session.call::<calls::SessionSend>(&message, ANSWER_TIMEOUT).await;
            if let Err(error) = sent {
                held.keep(keep).await;
                return Err(error.into());
            }
        }
        let view = session.call::<calls::SessionGet>(&Nothing {}, ANSWER_TIMEOUT).await;
        held.keep(keep).await;
        Ok(view?)
    }

    async fn attach_here(
        &self,
        ReopenSessionParams { session, options }: ReopenSessionParams,
    ) -> Result<(SessionView, Attachment), HostError> {
        let request = OpenRequest { options, ..OpenRequest::new(SessionStart::Resume(session)) };
        let OpenedSession { held, keep } = self.open_at_work(request, KeepMode::UntilQuiet).await?;
        let attachment = held.attach();
        let view = self.handle(session).call::<calls::SessionGet>(&Nothing {}, ANSWER_TIMEOUT).await;
        held.keep(keep).await;
        Ok((view?, attachment))
    }

    async fn begin_fleet_here(&self, request: BeginFleetParams, keep: KeepMode) -> Result<SessionView, HostError> {
        if let Some(cwd) = request.session.cwd.as_ref().filter(|cwd| !cwd.is_absolute()) {
            let refusal = Refusal::new(format_args!("cwd `{}` is not an absolute path", cwd.display()));
            return Err(HostError::Refused(refusal.with_hint("write the full path").into()));
        }
        let (options, fleet) = self.opener.prepare_fleet(request)?;
        let request = OpenRequest { options, ..OpenRequest::new(SessionStart::New) };
        let OpenedSession { held, keep } = self.open_at_work(request, keep).await?;
        let session = self.handle(held.id());
        if let Err(error) = session.call::<calls::SessionFleetStart>(&fleet, ANSWER_TIMEOUT).await {
            self.discard(&held).await;
            return Err(error.into());
        }
        let view = session.call::<calls::SessionGet>(&Nothing {}, ANSWER_TIMEOUT).await;
        held.keep(keep).await;
        Ok(view?)
    }

    /// Closes and removes a session that its client does not know.
    async fn discard(&self, held: &HeldSession) {
        let removed = match held.close().await {
            Ok(()) => {
                let params = json!({ "session": held.id() });
                client::call_home(self.home(), Method::SessionsRemove, params)
                    .await
                    .map(drop)
                    .map_err(|error| error.to_string())
            }
            Err(error) => Err(error.to_string()),
        };
        if let Err(error) = removed {
            tracing::warn!(error, session = %held.id(), "a session whose fleet did not start stays");
        }
    }

    async fn adopt_session(&self, record: Result<HeldRecord, UnreadableRecord>) {
        let (session, adopted) = match record {
            Ok(record) => (record.session, self.try_adopt(record).await.map_err(|error| error.to_string())),
            Err(UnreadableRecord { session, why }) => (session, Err(why)),
        };
        if let Err(why) = adopted {
            tracing::warn!(%session, why, "a session of an earlier host was not resumed");
            let mut not_adopted = self.not_adopted.lock().unwrap_or_else(PoisonError::into_inner);
            not_adopted.push(NotAdopted { id: session, why });
        }
    }

    async fn try_adopt(&self, record: HeldRecord) -> Result<(), HostError> {
        let HeldRecord { session, keep, options } = record;
        let read = |session: &SessionHandle| Ok((session.owner_pid()?, session.latest_fleet()?));
        let found = SessionHandle::new(self.home(), session).read(read).await;
        let is_gone = matches!(found, Err(ClientError::Store(client::StoreError::Missing { .. })));
        if is_gone || matches!(found, Ok((Some(_pid), _))) {
            // It was removed, or another process runs it, perhaps this one.
            if let (Some(records), None) = (&self.records, self.find(session)) {
                records.remove(session).await.map_err(|error| HostError::Failed(error.to_string()))?;
            }
            return Ok(());
        }
        let request = OpenRequest { options, ..OpenRequest::new(SessionStart::Resume(session)) };
        let OpenedSession { held, keep } = self.open_at_work(request, keep).await?;
        if let Ok((_, Some(LatestFleet::Unfinished))) = found {
            // Without a prompt, the request continues this fleet.
            let handle = self.handle(session);
            let continued = handle.call::<calls::SessionFleetStart>(&FleetParams::default(), ANSWER_TIMEOUT).await;
            if let Err(error) = continued {
                tracing::warn!(%error, %session, "the fleet of an adopted session does not continue");
            }
        }
        held.keep(keep).await;
        Ok(())
    }

    /// Opens a session and resumes its interrupted work.
    async fn open_at_work(&self, request: OpenRequest, keep: KeepMode) -> Result<OpenedSession, HostError> {
        let start = request.start;
        let opened = self.open_here(request, keep).await?;
        match start {
            SessionStart::Resume(_) => opened.held.resume().await?,
            SessionStart::New | SessionStart::Fork(_) => {}
        }
        Ok(opened)
    }

    /// Opens a session, which is kept until it is closed; a record of it says `keep`.
    async fn open_here(&self, request: OpenRequest, keep: KeepMode) -> Result<OpenedSession, HostError> {
        let _guard = self.opening.lock().await;
        let closing = self.activity.closing().clone();
        if closing.is_cancelled() {
            return Err(HostError::Closing);
        }
        if let SessionStart::Resume(id) = request.start
            && let Some(held) = self.find(id)
        {
            if let Some(earlier) = held.keep(KeepMode::UntilClosed).await {
                return Ok(OpenedSession { held, keep: keep.longer(earlier) });
            }
            held.closed().await;
        }
        if self.count() >= self.max_sessions {
            return Err(HostError::Full(self.max_sessions));
        }
        let activity = self.activity.begin().ok_or(HostError::Closing)?;
        // The key of a client's own provider is not stored, so no other process can resume the session.
        let recorded = self.records.as_ref().filter(|_| request.provider.is_none());
        let recorded = recorded.map(|records| (records.clone(), request.options.clone()));
        let session = self.opener.open(request).await?;
        let id = session.id();
        let record = recorded.map(|(records, options)| (records, HeldRecord::new(id, keep, &options)));
        if let Some((records, record)) = &record
            && let Err(error) = records.write(record).await
        {
            let left = session.leave().await;
            return Err(HostError::Failed(format!("it cannot be recorded: {error}; closed: {}", left.is_ok())));
        }
        let (held, task) = HeldSession::new(session, record);
        self.lock_held().insert(id, held.clone());
        let (sessions, end) = (Arc::clone(&self.held), self.end.clone());
        let holding = async move {
            task.run(closing, end, || drop(lock(&sessions).remove(&id))).await;
            drop(activity);
        };
        self.tasks.spawn_on(holding, &self.runtime);
        Ok(OpenedSession { held, keep })
    }

    fn lock_held(&self) -> MutexGuard<'_, HashMap<SessionId, HeldSession>> {
        lock(&self.held)
    }
}

/// A session that was opened, or held already.
struct OpenedSession {
    /// The session, which is kept until it is closed for now.
    held: HeldSession,
    /// How long to keep it in the end.
    keep: KeepMode,
}

fn lock(held: &HeldSessions) -> MutexGuard<'_, HashMap<SessionId, HeldSession>> {
    held.lock().unwrap_or_else(PoisonError::into_inner)
}
