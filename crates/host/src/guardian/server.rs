//! The guardian process: a loop over its socket and its children. It has one thread and no runtime, and it
//! ends only when its owner does.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{getpid, set_child_subreaper, setsid};
use signal_hook::consts::{SIGALRM, SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};

use super::jobs::{ChildProcesses, Jobs, kill_all};
use super::mark::{GuardianId, ProcessMarks, lower_lock_limit};
use super::packet::{Packet, PacketBuffer, PeerStatus, ReceivedPacket};
use super::record::GuardianRecord;
use super::wire::{GuardianReport, GuardianRequest};
use crate::machine;
use crate::proc::ProcessTable;

/// Runs a guardian on the socket that is this process's standard input; returns when its owner is gone and none of its
/// processes is alive.
pub fn guardian_main() -> ExitCode {
    let Ok(mut server) = GuardianServer::open() else { return ExitCode::FAILURE };
    let served = server.serve();
    server.ask_to_end();
    let left = server.kill_everything();
    server.write_record();
    // To the owner, success means that no process started here is alive.
    if served.is_ok() && left == ChildProcesses::None { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Signals that the guardian catches. It does not ignore them, because jobs would inherit that.
const CAUGHT_SIGNALS: [i32; 8] = [SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGALRM, SIGUSR1, SIGUSR2];
/// How long the guardian waits for killed processes to end before it ends itself.
const MAX_KILL_WAIT: Duration = Duration::from_secs(60);
/// How long programs may take to end by themselves when their owner is gone.
const EXIT_GRACE: Duration = Duration::from_millis(200);
/// The same for programs with [`ExitGrace::Patient`](super::ExitGrace); all waits for a guardian are longer.
const PATIENT_EXIT_GRACE: Duration = Duration::from_secs(3);
/// How long to wait for a child before looking again.
const CHILD_POLL: Duration = Duration::from_millis(5);

#[derive(Debug)]
struct GuardianServer {
    socket: OwnedFd,
    signals: UnixStream,
    buffer: PacketBuffer,
    jobs: Jobs,
    outbox: VecDeque<Packet>,
    record: Option<GuardianRecord>,
}

impl GuardianServer {
    fn open() -> io::Result<GuardianServer> {
        machine::seal_process()?;
        let socket = io::stdin().as_fd().try_clone_to_owned()?;
        set_child_subreaper(Some(getpid()))?;
        // Leave the owner's terminal, so that Ctrl-C reaches only the owner. This fails only for the leader of a
        // process group, which has already left it.
        let _ = setsid();
        // `pkill -9 bosun` should kill the owner but not the process that cleans up after it.
        rustix::thread::set_name(c"guardian")?;
        std::env::set_current_dir("/")?;
        let (signals, handler) = UnixStream::pair()?;
        signals.set_nonblocking(true)?;
        for signal in CAUGHT_SIGNALS {
            signal_hook::low_level::pipe::register(signal, handler.try_clone()?)?;
        }
        lower_lock_limit(GuardianId::of_this_process());
        let jobs = Jobs::new(ProcessMarks::of_this_process());
        let record = GuardianRecord::of_this_process();
        let server =
            GuardianServer { socket, signals, buffer: PacketBuffer::new(), jobs, outbox: VecDeque::new(), record };
        server.write_record();
        Ok(server)
    }

    /// Records in the session's folder that programs run or ran. If that fails, they run anyway.
    fn write_record(&self) {
        if let Some(record) = &self.record {
            let _unrecorded = record.write();
        }
    }

    /// Handles requests until the owner is gone.
    fn serve(&mut self) -> io::Result<()> {
        loop {
            self.sleep(self.jobs.next_check(Instant::now()))?;
            self.jobs.reap(Instant::now());
            if self.handle_request()? == PeerStatus::Gone {
                return Ok(());
            }
            for report in self.jobs.advance(Instant::now()) {
                self.queue_report(&report)?;
            }
            if self.flush()? == PeerStatus::Gone {
                return Ok(());
            }
        }
    }

    /// Sleeps until a request arrives, a child has ended, a report can be sent or the time is up.
    fn sleep(&mut self, limit: Option<Duration>) -> io::Result<()> {
        let events = if self.outbox.is_empty() { PollFlags::IN } else { PollFlags::IN | PollFlags::OUT };
        let mut sources = [PollFd::new(&self.socket, events), PollFd::new(&self.signals, PollFlags::IN)];
        let timeout = limit.and_then(|limit| Timespec::try_from(limit).ok());
        match poll(&mut sources, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        while matches!(self.signals.read(&mut [0; 256]), Ok(1..)) {}
        Ok(())
    }

    /// Handles one request, if there is one.
    fn handle_request(&mut self) -> io::Result<PeerStatus> {
        match self.buffer.receive(&self.socket) {
            Ok(ReceivedPacket::Packet(GuardianRequest::Spawn(request), descriptors)) => {
                let report = self.jobs.spawn(request, descriptors);
                self.queue_report(&report)?;
            }
            Ok(ReceivedPacket::Packet(GuardianRequest::Kill { job, how: mode }, _)) => {
                self.jobs.kill(job, mode, Instant::now())
            }
            Ok(ReceivedPacket::Closed) => return Ok(PeerStatus::Gone),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
        Ok(PeerStatus::Connected)
    }

    fn queue_report(&mut self, report: &GuardianReport) -> io::Result<()> {
        self.outbox.push_back(Packet::new(report, Vec::new())?);
        Ok(())
    }

    /// Sends as much as the socket accepts.
    fn flush(&mut self) -> io::Result<PeerStatus> {
        while let Some(packet) = self.outbox.front() {
            match packet.send(&self.socket) {
                Ok(()) => drop(self.outbox.pop_front()),
                Err(error) => match error.kind() {
                    io::ErrorKind::WouldBlock => break,
                    io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => return Ok(PeerStatus::Gone),
                    _ => return Err(error),
                },
            }
        }
        Ok(PeerStatus::Connected)
    }

    /// Asks running programs to end, and waits a moment: a killed program leaves its locks and half-written files
    /// behind.
    fn ask_to_end(&mut self) {
        let began = Instant::now();
        self.jobs.ask_all_to_end(began);
        while self.jobs.reap(Instant::now()) == ChildProcesses::Some {
            let grace = if self.jobs.has_patient_program() { PATIENT_EXIT_GRACE } else { EXIT_GRACE };
            if began.elapsed() >= grace {
                break;
            }
            self.await_child();
        }
    }

    /// Kills everything below this process, repeatedly, until there is nothing left.
    fn kill_everything(&mut self) -> ChildProcesses {
        let began = Instant::now();
        while self.jobs.reap(Instant::now()) == ChildProcesses::Some {
            if began.elapsed() >= MAX_KILL_WAIT {
                return ChildProcesses::Some;
            }
            if let Ok(all) = ProcessTable::read() {
                kill_all(&all.live_descendants(all.children(getpid()).map(|(pid, _)| pid)));
            }
            self.await_child();
        }
        ChildProcesses::None
    }

    fn await_child(&mut self) {
        let mut sources = [PollFd::new(&self.signals, PollFlags::IN)];
        let timeout = Timespec::try_from(CHILD_POLL).ok();
        let _ = poll(&mut sources, timeout.as_ref());
        while matches!(self.signals.read(&mut [0; 256]), Ok(1..)) {}
    }
}
