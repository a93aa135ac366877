//! A crowd of callers in several processes, all at one bucket, in simulated time.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, VecDeque};

use bosun_kernel::RateBucket;
use bosun_kernel::bucket::{AdmitDecision, PermitHolder, RequestOutcome, RequestPermit};
use protocol::Timestamp;

use super::dice::Dice;
use super::plan::{Plan, Report};
use super::server::Server;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A process looks at the bucket.
    Wake(usize),
    /// A parked caller is back.
    Resume(usize),
    Arrive(usize),
    Back(usize),
    /// Somebody notices that a process died.
    Noticed(PermitHolder),
}

#[derive(Debug)]
struct Request {
    caller: usize,
    permit: RequestPermit,
    news: RequestOutcome,
    latency: u64,
    lost: bool,
}

#[derive(Debug)]
struct Process {
    holder: PermitHolder,
    waiting: VecDeque<usize>,
    incarnation: u32,
    under_way: u32,
}

pub(crate) struct Crowd {
    plan: Plan,
    pub(crate) bucket: RateBucket,
    server: Server,
    dice: Dice,
    now: u64,
    agenda: BinaryHeap<Reverse<(u64, u64, Event)>>,
    tick: u64,
    processes: Vec<Process>,
    left: Vec<u32>,
    requests: Vec<Request>,
    /// Those that are not back yet.
    open: BTreeSet<usize>,
    /// What those held who died and were not missed yet.
    ghosts: BTreeMap<PermitHolder, u32>,
    report: Report,
}

impl Crowd {
    /// The moment at which it begins.
    pub(crate) const START: u64 = 1_800_000_000_000;

    pub(crate) fn new(plan: Plan, server: Server) -> Crowd {
        let processes = (0..plan.processes)
            .map(|n| Process { holder: name(n, 0), waiting: VecDeque::new(), incarnation: 0, under_way: 0 })
            .collect();
        let report = Report { shares: vec![0; plan.processes], ..Report::default() };
        Crowd {
            bucket: RateBucket::default(),
            server,
            dice: Dice(plan.seed),
            now: 0,
            agenda: BinaryHeap::new(),
            tick: 0,
            processes,
            left: vec![plan.turns; plan.callers],
            requests: Vec::new(),
            open: BTreeSet::new(),
            ghosts: BTreeMap::new(),
            report,
            plan,
        }
    }

    /// Plays until everybody had its turns.
    pub(crate) fn play(mut self) -> Report {
        for caller in 0..self.plan.callers {
            let process = caller % self.plan.processes;
            self.processes[process].waiting.push_back(caller);
        }
        for process in 0..self.plan.processes {
            let soon = self.dice.below(20);
            self.schedule(soon, Event::Wake(process));
        }
        while let Some(Reverse((at, _, event))) = self.agenda.pop() {
            self.now = at;
            assert!(at < 3_600_000, "somebody waits for ever: {:?}", self.report);
            match event {
                Event::Wake(process) => self.wake(process),
                Event::Resume(caller) => self.want(caller),
                Event::Arrive(request) => self.arrive(request),
                Event::Back(request) => self.back(request),
                Event::Noticed(holder) => {
                    self.ghosts.remove(&holder);
                    self.bucket.forget(self.at(), &holder);
                }
            }
            match self.dice.below(400) {
                0 if self.plan.deaths > 0 => self.kill(),
                1 => self.hand_over(),
                _ => {}
            }
        }
        assert_eq!(self.left.iter().sum::<u32>(), 0, "{:?}", self.bucket);
        assert_eq!(self.bucket.requests_in_progress(), 0);
        self.report.ended_at = self.now;
        self.report
    }

    fn schedule(&mut self, after: u64, event: Event) {
        self.tick += 1;
        self.agenda.push(Reverse((self.now + after, self.tick, event)));
    }

    fn at(&self) -> Timestamp {
        Timestamp(Crowd::START + self.now)
    }

    fn want(&mut self, caller: usize) {
        let process = caller % self.plan.processes;
        self.processes[process].waiting.push_back(caller);
        self.wake(process);
    }

    fn wake(&mut self, process: usize) {
        let now = self.at();
        while let Some(&caller) = self.processes[process].waiting.front() {
            let holder = self.processes[process].holder.clone();
            let before = (self.bucket.closed_until(), self.bucket.window());
            match self.bucket.admit(now, &holder, self.plan.most) {
                AdmitDecision::Go(permit) => {
                    self.audit(before, permit);
                    self.processes[process].waiting.pop_front();
                    self.processes[process].under_way += 1;
                    self.start(caller, permit);
                }
                AdmitDecision::Wait(at) => {
                    let later = at.0.saturating_sub(now.0) + 1 + self.dice.below(3);
                    return self.schedule(later, Event::Wake(process));
                }
                AdmitDecision::Park(at) => {
                    self.processes[process].waiting.pop_front();
                    self.report.parked += 1;
                    let later = at.0 - now.0 + self.dice.below(3000);
                    self.schedule(later, Event::Resume(caller));
                }
            }
        }
        let holder = self.processes[process].holder.clone();
        self.bucket.leave(&holder);
    }

    fn start(&mut self, caller: usize, permit: RequestPermit) {
        let (least, most) = self.plan.latency;
        let latency = least + self.dice.below(most - least + 1);
        self.requests.push(Request { caller, permit, news: RequestOutcome::Nothing, latency, lost: false });
        let request = self.requests.len() - 1;
        self.open.insert(request);
        self.schedule(latency / 2, Event::Arrive(request));
    }

    fn arrive(&mut self, request: usize) {
        let news = self.server.take(Crowd::START + self.now);
        self.requests[request].news = news;
        let rest = self.requests[request].latency.div_ceil(2);
        self.schedule(rest, Event::Back(request));
    }

    fn back(&mut self, request: usize) {
        let (now, dice) = (self.at(), self.dice.share());
        self.open.remove(&request);
        let Request { caller, permit, news, lost, .. } = self.requests[request];
        let process = caller % self.plan.processes;
        let open = self.bucket.closed_until().is_none();
        if news == RequestOutcome::Answered {
            self.server.done();
        }
        if !lost {
            let holder = self.processes[process].holder.clone();
            self.bucket.settle(now, &holder, permit, news, dice);
            self.processes[process].under_way -= 1;
        }
        if open && self.bucket.closed_until().is_some() {
            self.report.closings += 1;
        }
        match (news, lost) {
            (RequestOutcome::Answered, false) => {
                self.report.answered += 1;
                self.left[caller] -= 1;
                if self.left.iter().all(|left| *left > 0) {
                    self.report.shares[process] += 1;
                }
            }
            _ => self.report.wasted += 1,
        }
        match self.left[caller] {
            0 => self.wake(process),
            _ => self.want(caller),
        }
    }

    /// Another process reads what this one wrote.
    fn hand_over(&mut self) {
        let text = serde_json::to_string(&self.bucket).unwrap();
        assert_eq!(serde_json::from_str::<RateBucket>(&text).unwrap(), self.bucket);
    }

    /// A process dies with all it holds, its callers begin again in another, and after a while somebody notices.
    fn kill(&mut self) {
        let index = usize::try_from(self.dice.below(self.plan.processes as u64)).unwrap();
        self.plan.deaths -= 1;
        let process = &mut self.processes[index];
        process.incarnation += 1;
        let dead = std::mem::replace(&mut process.holder, name(index, process.incarnation));
        self.ghosts.insert(dead.clone(), std::mem::take(&mut process.under_way));
        for request in &self.open {
            let request = &mut self.requests[*request];
            request.lost |= request.caller % self.plan.processes == index;
        }
        let later = self.dice.below(2000);
        self.schedule(later, Event::Noticed(dead));
    }

    /// What must be true of everybody who is let in.
    fn audit(&self, (closed_until, window): (Option<Timestamp>, u32), permit: RequestPermit) {
        let size = self.plan.most.unwrap_or(u32::MAX).min(window);
        match closed_until {
            None => assert!(self.bucket.requests_in_progress() <= size, "{:?}", self.bucket),
            Some(until) => {
                assert!(self.at() >= until, "somebody came before {until}");
                assert!(self.bucket.is_probe(permit));
            }
        }
        let mut under_way = self.open.iter().map(|request| &self.requests[*request]).filter(|request| !request.lost);
        assert!(!under_way.any(|request| self.bucket.is_probe(request.permit)), "a second probe");
        let living = self.processes.iter().map(|process| process.under_way);
        let held: u32 = living.chain(self.ghosts.values().copied()).sum();
        assert_eq!(self.bucket.requests_in_progress(), held + 1);
    }
}

fn name(process: usize, incarnation: u32) -> PermitHolder {
    PermitHolder(format!("{process}.{incarnation}"))
}
