//! The owner's end of the socket to one guardian, handled by one task.
//!
//! When the guardian dies, the task ends, and with it every wait. Before that it kills the processes that the guardian
//! guarded: they are this process's children by then, since it is a subreaper too.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::net::{AddressFamily, Shutdown, SocketFlags, SocketType, shutdown, socketpair};
use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, set_child_subreaper, waitpid};
use tokio::io::Interest;
use tokio::net::UnixDatagram;
use tokio::process::Child;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use super::birth;
use super::error::Survivors;
use super::jobs::kill_all;
use super::packet::{Packet, PacketBuffer, PeerStatus, ReceivedPacket};
use super::program::{KillMode, ProgramExit};
use super::wire::{GuardianReport, GuardianRequest, JobId, SpawnFault};
use crate::FileLock;
use crate::proc::{ProcessStat, ProcessTable, positive_pid};

/// A connection to a guardian; when the last handle is dropped the guardian ends, and kills every job.
#[derive(Debug, Clone)]
pub(super) struct GuardianHandle(Arc<GuardianConnection>);

#[derive(Debug)]
struct GuardianConnection {
    requests: mpsc::UnboundedSender<GuardianCall>,
    /// The number of the next job.
    next_job: AtomicU64,
    /// The task of the connection; owned here so that it ends with the last handle.
    _task: JoinSet<()>,
}

/// The reply to a spawn request.
pub(super) type SpawnReply = Result<u32, (SpawnFault, String)>;

/// The channels that wait for a job's reports.
#[derive(Debug)]
pub(super) struct JobWaiters {
    pub(super) started: oneshot::Sender<SpawnReply>,
    pub(super) exited: oneshot::Sender<ProgramExit>,
}

#[derive(Debug)]
enum GuardianCall {
    Spawn { job: JobId, packet: Packet, waiters: JobWaiters },
    Kill { job: JobId, how: KillMode },
    End { done: oneshot::Sender<Result<(), Survivors>> },
}

impl GuardianHandle {
    /// Starts a guardian, which holds the lock while it lives.
    pub(super) fn start(executable: &Path, lock: Option<&FileLock>) -> io::Result<GuardianHandle> {
        set_child_subreaper(Some(getpid()))?;
        let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
        rustix::io::ioctl_fionbio(&ours, true)?;
        let mut guardians = RegisteredGuardian::lock();
        let guardian = birth::start_guardian(executable, theirs, lock)?;
        let registered = RegisteredGuardian::add(&mut guardians, &guardian);
        drop(guardians);
        let (requests, inbox) = mpsc::unbounded_channel();
        let task = ConnectionTask {
            // Only its readiness is used, so its type need not match the socket's.
            socket: UnixDatagram::from_std(ours.into())?,
            guardian,
            _registered: registered,
            inbox,
            buffer: PacketBuffer::new(),
            outbox: VecDeque::new(),
            jobs: HashMap::new(),
        };
        let mut tasks = JoinSet::new();
        tasks.spawn(task.run());
        Ok(GuardianHandle(Arc::new(GuardianConnection { requests, next_job: AtomicU64::new(1), _task: tasks })))
    }

    /// Whether the guardian is alive, as far as is known.
    pub(super) fn is_open(&self) -> bool {
        !self.0.requests.is_closed()
    }

    /// An unused job number.
    pub(super) fn next_job(&self) -> JobId {
        JobId(self.0.next_job.fetch_add(1, Ordering::Relaxed))
    }

    /// Requests a job. Without a guardian the waiters are dropped, which ends their wait.
    pub(super) fn spawn(&self, job: JobId, packet: Packet, waiters: JobWaiters) {
        let _ = self.0.requests.send(GuardianCall::Spawn { job, packet, waiters });
    }

    /// Requests a job's end. Without a guardian the job has already ended.
    pub(super) fn kill(&self, job: JobId, how: KillMode) {
        let _ = self.0.requests.send(GuardianCall::Kill { job, how });
    }

    /// Ends the guardian and everything it guards, and waits until it is gone.
    pub(super) async fn end(&self) -> Result<(), Survivors> {
        let (done, ended) = oneshot::channel();
        let _ = self.0.requests.send(GuardianCall::End { done });
        // Without a task the guardian has already ended.
        ended.await.unwrap_or(Ok(()))
    }
}

#[derive(Debug)]
struct ConnectionTask {
    socket: UnixDatagram,
    guardian: Child,
    _registered: RegisteredGuardian,
    inbox: mpsc::UnboundedReceiver<GuardianCall>,
    buffer: PacketBuffer,
    outbox: VecDeque<Packet>,
    jobs: HashMap<JobId, PendingReply>,
}

#[derive(Debug)]
enum PendingReply {
    ForStart(JobWaiters),
    ForExit(oneshot::Sender<ProgramExit>),
}

/// Why the connection to the guardian ended.
enum ConnectionEnd {
    /// The guardian is gone.
    Gone,
    /// The owner ends it, and waits for the result.
    Requested(oneshot::Sender<Result<(), Survivors>>),
}

/// The interval of checks of a guardian while programs run.
const CHECK_INTERVAL: Duration = Duration::from_millis(500);
/// How many times a guardian may be found stopped before it is killed with everything below it.
const MAX_STOPS: u32 = 3;
/// Time limit for a guardian to end everything and itself.
const MAX_END_WAIT: Duration = Duration::from_secs(4);

impl ConnectionTask {
    async fn run(mut self) {
        let end = self.exchange_messages().await.unwrap_or_else(|_broken| {
            let _ = self.guardian.start_kill();
            ConnectionEnd::Gone
        });
        self.inbox.close();
        let _ = shutdown(&self.socket, Shutdown::Both);
        let ended = match self.await_end().await {
            GuardianExit::Clean => Ok(()),
            GuardianExit::Dead => kill_adopted().await,
        };
        if let ConnectionEnd::Requested(done) = end {
            let _unheard = done.send(ended);
        }
    }

    /// Passes requests and reports until the guardian is gone or must end.
    async fn exchange_messages(&mut self) -> io::Result<ConnectionEnd> {
        let mut check = tokio::time::interval(CHECK_INTERVAL);
        let mut stops = 0;
        loop {
            tokio::select! {
                request = self.inbox.recv() => match request {
                    Some(GuardianCall::End { done }) => return Ok(ConnectionEnd::Requested(done)),
                    Some(GuardianCall::Spawn { job, packet, waiters }) => {
                        self.jobs.insert(job, PendingReply::ForStart(waiters));
                        self.outbox.push_back(packet);
                    }
                    Some(GuardianCall::Kill { job, how }) => {
                        self.outbox.push_back(Packet::new(&GuardianRequest::Kill { job, how }, Vec::new())?);
                    }
                    None => return Ok(ConnectionEnd::Gone),
                },
                ready = self.socket.readable() => {
                    ready?;
                    if self.receive_report()? == PeerStatus::Gone {
                        return Ok(ConnectionEnd::Gone);
                    }
                }
                ready = self.socket.writable(), if !self.outbox.is_empty() => ready?,
                _tick = check.tick(), if !self.jobs.is_empty() => {
                    stops += u32::from(self.resume_guardian() == GuardianWake::Resumed);
                    if stops > MAX_STOPS {
                        return Err(io::Error::other("the guardian is stopped repeatedly"));
                    }
                }
            }
            self.flush()?;
        }
    }

    /// Waits until the guardian has ended everything and itself; kills it after the time limit.
    async fn await_end(&mut self) -> GuardianExit {
        let began = Instant::now();
        loop {
            match tokio::time::timeout(KILL_RETRY * 10, self.guardian.wait()).await {
                Ok(Ok(status)) if status.success() => return GuardianExit::Clean,
                Ok(_dead) => return GuardianExit::Dead,
                Err(_late) if began.elapsed() > MAX_END_WAIT => {
                    let _ = self.guardian.start_kill();
                    let _ = self.guardian.wait().await;
                    return GuardianExit::Dead;
                }
                Err(_late) => self.resume_guardian(),
            };
        }
    }

    /// Resumes a stopped guardian.
    fn resume_guardian(&self) -> GuardianWake {
        let Some(pid) = self.guardian_pid() else { return GuardianWake::NotStopped };
        if !ProcessStat::read(pid).is_ok_and(|stat| stat.is_stopped()) {
            return GuardianWake::NotStopped;
        }
        let _ = kill_process(pid, Signal::CONT);
        GuardianWake::Resumed
    }

    /// The guardian's process, until it is reaped.
    fn guardian_pid(&self) -> Option<Pid> {
        self.guardian.id().and_then(|pid| i32::try_from(pid).ok()).and_then(positive_pid)
    }

    /// Delivers one report, if there is one.
    fn receive_report(&mut self) -> io::Result<PeerStatus> {
        match self.socket.try_io(Interest::READABLE, || self.buffer.receive(&self.socket)) {
            Ok(ReceivedPacket::Packet(report, _)) => deliver_report(&mut self.jobs, report),
            Ok(ReceivedPacket::Closed) => return Ok(PeerStatus::Gone),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
        Ok(PeerStatus::Connected)
    }

    /// Sends as much as the socket accepts.
    fn flush(&mut self) -> io::Result<()> {
        while let Some(packet) = self.outbox.front() {
            match self.socket.try_io(Interest::WRITABLE, || packet.send(&self.socket)) {
                Ok(()) => drop(self.outbox.pop_front()),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

impl Drop for ConnectionTask {
    /// A stopped guardian would not notice that its owner is gone.
    fn drop(&mut self) {
        if let Some(pid) = self.guardian_pid() {
            let _ = kill_process(pid, Signal::CONT);
        }
    }
}

/// How a guardian ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum GuardianExit {
    /// By itself, after everything it guarded.
    Clean,
    /// It died, and may have left processes behind.
    Dead,
}

/// Whether a guardian was stopped and has been resumed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum GuardianWake {
    Resumed,
    NotStopped,
}

/// Delivers a report to its waiter, if there is one.
fn deliver_report(jobs: &mut HashMap<JobId, PendingReply>, report: GuardianReport) {
    match report {
        GuardianReport::Started { job, pid } => {
            if let Some(PendingReply::ForStart(waiters)) = jobs.remove(&job) {
                let _ = waiters.started.send(Ok(pid.unsigned_abs()));
                jobs.insert(job, PendingReply::ForExit(waiters.exited));
            }
        }
        GuardianReport::Failed { job, fault, text } => {
            if let Some(PendingReply::ForStart(waiters)) = jobs.remove(&job) {
                let _ = waiters.started.send(Err((fault, text)));
            }
        }
        GuardianReport::Exited { job, exit } => {
            if let Some(PendingReply::ForExit(exited)) = jobs.remove(&job) {
                let _ = exited.send(exit);
            }
        }
    }
}

/// A live guardian of this process. Scans for leftovers of dead guardians spare it.
#[derive(Debug)]
struct RegisteredGuardian(Option<u32>);

static GUARDIANS: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

impl RegisteredGuardian {
    /// Locks the list of guardians. The lock is held while a guardian starts, so that no scan finds it before it is
    /// registered.
    fn lock() -> MutexGuard<'static, BTreeSet<u32>> {
        GUARDIANS.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(guardians: &mut BTreeSet<u32>, guardian: &Child) -> RegisteredGuardian {
        guardians.extend(guardian.id());
        RegisteredGuardian(guardian.id())
    }
}

impl Drop for RegisteredGuardian {
    fn drop(&mut self) {
        let mut guardians = RegisteredGuardian::lock();
        if let Some(pid) = self.0 {
            guardians.remove(&pid);
        }
    }
}

/// How long killed processes may take to be gone.
const MAX_KILL_WAIT: Duration = Duration::from_secs(5);
const KILL_RETRY: Duration = Duration::from_millis(2);

/// Kills and reaps the processes that this process inherited from a dead guardian, until there are none; fails with
/// those that do not end.
async fn kill_adopted() -> Result<(), Survivors> {
    let began = Instant::now();
    loop {
        // After an error, try again: there may be no free descriptor at this moment.
        let left = kill_adopted_once();
        match left {
            Ok(left) if left.is_empty() => return Ok(()),
            Ok(left) if began.elapsed() >= MAX_KILL_WAIT => {
                return Err(Survivors(left.iter().map(|pid| pid.as_raw_pid().unsigned_abs()).collect()));
            }
            Err(_) if began.elapsed() >= MAX_KILL_WAIT => return Err(Survivors(Vec::new())),
            Ok(_) | Err(_) => tokio::time::sleep(KILL_RETRY).await,
        }
    }
}

fn kill_adopted_once() -> io::Result<Vec<Pid>> {
    let guardians = RegisteredGuardian::lock();
    let all = ProcessTable::read()?;
    let adopted = adopted_children(&all, &guardians)?;
    kill_all(&all.live_descendants(adopted.iter().copied()));
    for pid in &adopted {
        let _ = waitpid(Some(*pid), WaitOptions::NOHANG);
    }
    Ok(adopted)
}

/// The children that this process did not start: they are in other sessions, and are not its guardians.
fn adopted_children(all: &ProcessTable, guardians: &BTreeSet<u32>) -> io::Result<Vec<Pid>> {
    let own_session = ProcessStat::read(getpid())?.session;
    let is_guardian = |pid: Pid| guardians.contains(&pid.as_raw_pid().unsigned_abs());
    let children = all.children(getpid()).filter(|(_, stat)| stat.session != own_session);
    Ok(children.map(|(pid, _)| pid).filter(|&pid| !is_guardian(pid)).collect())
}
