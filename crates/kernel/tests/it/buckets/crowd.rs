//! Simulates many callers in several processes that share one bucket, in simulated time.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, VecDeque};

use bosun_kernel::RateBucket;
use bosun_kernel::bucket::{AdmitDecision, PermitHolder, RequestOutcome, RequestPermit};
use protocol::Timestamp;

use super::dice::SeededRng;
use super::plan::{CrowdPlan, CrowdReport};
use super::server::Server;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum CrowdEvent {
    /// A process checks the bucket.
    Wake(usize),
    /// A parked caller is resumed.
    Resume(usize),
    /// A request reaches the server.
    Arrive(usize),
    /// The answer to a request arrives.
    Answered(usize),
    /// Another process notices that a process died.
    Noticed(PermitHolder),
}

#[derive(Debug)]
struct CrowdRequest {
    caller: usize,
    permit: RequestPermit,
    outcome: RequestOutcome,
    latency: u64,
    /// Whether its process has died.
    lost: bool,
}

#[derive(Debug)]
struct CrowdProcess {
    holder: PermitHolder,
    /// The callers that wait to start a request.
    waiting: VecDeque<usize>,
    /// How often it died and was restarted.
    incarnation: u32,
    /// Requests in progress.
    in_progress: u32,
}

pub(crate) struct Crowd {
    plan: CrowdPlan,
    pub(crate) bucket: RateBucket,
    server: Server,
    rng: SeededRng,
    now: u64,
    /// Future events: time, number and event.
    agenda: BinaryHeap<Reverse<(u64, u64, CrowdEvent)>>,
    /// How many events were scheduled.
    scheduled_events: u64,
    processes: Vec<CrowdProcess>,
    /// The remaining turns of each caller.
    turns_left: Vec<u32>,
    requests: Vec<CrowdRequest>,
    /// Requests without an answer yet.
    open: BTreeSet<usize>,
    /// The requests of dead processes whose death was not noticed yet.
    unnoticed_deaths: BTreeMap<PermitHolder, u32>,
    report: CrowdReport,
}

impl Crowd {
    /// The time at which it begins.
    pub(crate) const START: u64 = 1_800_000_000_000;

    pub(crate) fn new(plan: CrowdPlan, server: Server) -> Crowd {
        let processes = (0..plan.processes)
            .map(|n| CrowdProcess { holder: name(n, 0), waiting: VecDeque::new(), incarnation: 0, in_progress: 0 })
            .collect();
        let report = CrowdReport { turns_by_process: vec![0; plan.processes], ..CrowdReport::default() };
        Crowd {
            bucket: RateBucket::default(),
            server,
            rng: SeededRng(plan.seed),
            now: 0,
            agenda: BinaryHeap::new(),
            scheduled_events: 0,
            processes,
            turns_left: vec![plan.turns; plan.callers],
            requests: Vec::new(),
            open: BTreeSet::new(),
            unnoticed_deaths: BTreeMap::new(),
            report,
            plan,
        }
    }

    /// Runs until all callers have had their turns.
    pub(crate) fn play(mut self) -> CrowdReport {
        for caller in 0..self.plan.callers {
            let process = caller % self.plan.processes;
            self.processes[process].waiting.push_back(caller);
        }
        for process in 0..self.plan.processes {
            let soon = self.rng.below(20);
            self.schedule(soon, CrowdEvent::Wake(process));
        }
        while let Some(Reverse((at, _, event))) = self.agenda.pop() {
            self.now = at;
            assert!(at < 3_600_000, "a caller waits forever: {:?}", self.report);
            match event {
                CrowdEvent::Wake(process) => self.wake(process),
                CrowdEvent::Resume(caller) => self.enqueue(caller),
                CrowdEvent::Arrive(request) => self.arrive(request),
                CrowdEvent::Answered(request) => self.handle_answer(request),
                CrowdEvent::Noticed(holder) => {
                    self.unnoticed_deaths.remove(&holder);
                    self.bucket.forget(self.timestamp(), &holder);
                }
            }
            match self.rng.below(400) {
                0 if self.plan.deaths > 0 => self.kill(),
                1 => self.check_round_trip(),
                _ => {}
            }
        }
        assert_eq!(self.turns_left.iter().sum::<u32>(), 0, "{:?}", self.bucket);
        assert_eq!(self.bucket.requests_in_progress(), 0);
        self.report.ended_at = self.now;
        self.report
    }

    fn schedule(&mut self, after: u64, event: CrowdEvent) {
        self.scheduled_events += 1;
        self.agenda.push(Reverse((self.now + after, self.scheduled_events, event)));
    }

    fn timestamp(&self) -> Timestamp {
        Timestamp(Crowd::START + self.now)
    }

    fn enqueue(&mut self, caller: usize) {
        let process = caller % self.plan.processes;
        self.processes[process].waiting.push_back(caller);
        self.wake(process);
    }

    fn wake(&mut self, process: usize) {
        let now = self.timestamp();
        while let Some(&caller) = self.processes[process].waiting.front() {
            let holder = self.processes[process].holder.clone();
            let before = (self.bucket.closed_until(), self.bucket.window());
            match self.bucket.admit(now, &holder, self.plan.server_limit) {
                AdmitDecision::Go(permit) => {
                    self.check_admission(before, permit);
                    self.processes[process].waiting.pop_front();
                    self.processes[process].in_progress += 1;
                    self.start(caller, permit);
                }
                AdmitDecision::Wait(at) => {
                    let later = at.0.saturating_sub(now.0) + 1 + self.rng.below(3);
                    return self.schedule(later, CrowdEvent::Wake(process));
                }
                AdmitDecision::Park(at) => {
                    self.processes[process].waiting.pop_front();
                    self.report.parked += 1;
                    let later = at.0 - now.0 + self.rng.below(3000);
                    self.schedule(later, CrowdEvent::Resume(caller));
                }
            }
        }
        let holder = self.processes[process].holder.clone();
        self.bucket.leave(&holder);
    }

    fn start(&mut self, caller: usize, permit: RequestPermit) {
        let (min, max) = self.plan.latency;
        let latency = min + self.rng.below(max - min + 1);
        self.requests.push(CrowdRequest { caller, permit, outcome: RequestOutcome::Abandoned, latency, lost: false });
        let request = self.requests.len() - 1;
        self.open.insert(request);
        self.schedule(latency / 2, CrowdEvent::Arrive(request));
    }

    fn arrive(&mut self, request: usize) {
        let outcome = self.server.handle_request(Crowd::START + self.now);
        self.requests[request].outcome = outcome;
        let rest = self.requests[request].latency.div_ceil(2);
        self.schedule(rest, CrowdEvent::Answered(request));
    }

    fn handle_answer(&mut self, request: usize) {
        let (now, jitter) = (self.timestamp(), self.rng.fraction());
        self.open.remove(&request);
        let CrowdRequest { caller, permit, outcome: news, lost, .. } = self.requests[request];
        let process = caller % self.plan.processes;
        let open = self.bucket.closed_until().is_none();
        if news == RequestOutcome::Answered {
            self.server.done();
        }
        if !lost {
            let holder = self.processes[process].holder.clone();
            self.bucket.settle(now, &holder, permit, news, jitter);
            self.processes[process].in_progress -= 1;
        }
        if open && self.bucket.closed_until().is_some() {
            self.report.closings += 1;
        }
        match (news, lost) {
            (RequestOutcome::Answered, false) => {
                self.report.answered += 1;
                self.turns_left[caller] -= 1;
                if self.turns_left.iter().all(|left| *left > 0) {
                    self.report.turns_by_process[process] += 1;
                }
            }
            _ => self.report.wasted += 1,
        }
        match self.turns_left[caller] {
            0 => self.wake(process),
            _ => self.enqueue(caller),
        }
    }

    /// Checks that another process reads the same state that this one wrote.
    fn check_round_trip(&mut self) {
        let text = serde_json::to_string(&self.bucket).unwrap();
        assert_eq!(serde_json::from_str::<RateBucket>(&text).unwrap(), self.bucket);
    }

    /// Lets a process die with all its requests. Its callers continue in a new process, and after a while another
    /// process notices the death.
    fn kill(&mut self) {
        let index = usize::try_from(self.rng.below(self.plan.processes as u64)).unwrap();
        self.plan.deaths -= 1;
        let process = &mut self.processes[index];
        process.incarnation += 1;
        let dead = std::mem::replace(&mut process.holder, name(index, process.incarnation));
        self.unnoticed_deaths.insert(dead.clone(), std::mem::take(&mut process.in_progress));
        for request in &self.open {
            let request = &mut self.requests[*request];
            request.lost |= request.caller % self.plan.processes == index;
        }
        let later = self.rng.below(2000);
        self.schedule(later, CrowdEvent::Noticed(dead));
    }

    /// Checks the invariants when a request is admitted.
    fn check_admission(&self, (closed_until, window): (Option<Timestamp>, u32), permit: RequestPermit) {
        let size = self.plan.server_limit.unwrap_or(u32::MAX).min(window);
        match closed_until {
            None => assert!(self.bucket.requests_in_progress() <= size, "{:?}", self.bucket),
            Some(until) => {
                assert!(self.timestamp() >= until, "a request started before {until}");
                assert!(self.bucket.is_probe(permit));
            }
        }
        let mut in_progress = self.open.iter().map(|request| &self.requests[*request]).filter(|request| !request.lost);
        assert!(!in_progress.any(|request| self.bucket.is_probe(request.permit)), "a second probe");
        let living = self.processes.iter().map(|process| process.in_progress);
        let held: u32 = living.chain(self.unnoticed_deaths.values().copied()).sum();
        assert_eq!(self.bucket.requests_in_progress(), held + 1);
    }
}

fn name(process: usize, incarnation: u32) -> PermitHolder {
    PermitHolder(format!("{process}.{incarnation}"))
}
