//! Many messages to owners that are killed: each is read once or expires, in the order of sending.

use std::collections::BTreeMap;
use std::thread;
use std::time::Duration;

use host::{Clock, Home, SystemClock};
use protocol::api::{CommandFate, Method, SendParams, SessionCommand, StopTaskParams};
use protocol::{CancelMode, Envelope, Event, MailDelivery, SessionId, TaskId, TaskType};
use testkit::binary::{BinaryFixture, BinaryInvocation, ProcessSignal};
use testkit::chaos::{check_mail, letters};

use crate::fixture;

const KILLS: u64 = 20;

/// The minimum number of messages in total.
const MIN_MESSAGES: usize = 10_000;

/// Messages per batch.
const BATCH_SIZE: u64 = 20;

/// Workers; a message that one passes on reaches all others.
const WORKERS: u64 = 8;

/// How often a worker passes a message on.
const ECHOES: u64 = 15;

/// Workers are idle until they get a message; some pass it on to all others. The root starts more workers.
fn script() -> String {
    let call = |tool: &str, input: String| format!("      - call: {{ tool: {tool}, input: {{ {input} }} }}\n");
    let task = |name: &str| {
        let input = format!("agent_type: general-purpose, name: {name}, description: hears, prompt: rest");
        call("task", input + ", mode: background")
    };
    let first: String = (0..WORKERS).map(|n| task(&format!("worker-{n}"))).collect();
    let more = task("'late-${1}'");
    let echo = |n: u64| call("write_agent", format!("to: [siblings], message: 'heard ${{1}} {n}'"));
    let echoes: String = (0..ECHOES).map(echo).collect();
    format!(
        "version: 1
rules:
  - when: {{ path: /root, turn: 1 }}
    answer:
{first}  - when: {{ path: /root, prompt: 'more (\\d+)', not: {{ answered: {{ tool: task }} }} }}
    answer:
{more}  - when: {{ path: '/root/.*', prompt: 'pass (\\d+)', not: {{ answered: {{ tool: write_agent }} }} }}
    answer:
{echoes}  - answer: [{{ say: So be it. }}]
"
    )
}

struct Storm {
    fixture: BinaryFixture,
    home: Home,
    id: SessionId,
    /// The posted messages and their recipients, in order.
    posted: Vec<(TaskId, String)>,
    /// Messages whose owner died before it answered.
    doubtful: Vec<(TaskId, String)>,
    rng_state: u64,
}

impl Storm {
    fn random(&mut self, max: u64) -> u64 {
        self.rng_state = self.rng_state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.rng_state >> 33) % max
    }

    fn log(&self) -> Vec<Envelope> {
        testkit::store::SessionReader::open(&self.home, self.id).unwrap().events_after(0, usize::MAX).unwrap()
    }

    /// Every task so far, the root first.
    fn tasks(&self) -> Vec<TaskId> {
        let made = |envelope: &Envelope| match &envelope.entry.event {
            Event::TaskCreated(spec) if spec.kind != TaskType::Shell => Some(envelope.entry.task),
            _other => None,
        };
        self.log().iter().filter_map(made).collect()
    }

    fn resume(&self) -> BinaryInvocation {
        self.fixture.bosun(["--resume", &self.id.to_string(), "--allow-all"])
    }

    /// Delivers a command to the owner of the session, or queues it if there is none.
    fn command(&self, command: &SessionCommand) -> DeliveryCertainty {
        loop {
            match testkit::store::post_command(&self.home, self.id, command, SystemClock.now()) {
                Ok(_row) => return DeliveryCertainty::Certain,
                Err(testkit::store::StoreError::Owned { .. }) => {}
                Err(error) => panic!("{error}"),
            }
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            let call = async {
                let (client, _notifications) = rpc::RpcClient::connect(&self.home.socket(self.id)).await.ok()?;
                Some(client.call::<CommandFate>(Method::SessionCommand, command).await)
            };
            match runtime.block_on(call) {
                Some(Ok(_fate)) => return DeliveryCertainty::Certain,
                // The owner was killed before it answered.
                Some(Err(_)) => return DeliveryCertainty::Uncertain,
                None => thread::sleep(Duration::from_millis(5)),
            }
        }
    }

    fn send(&mut self, task: TaskId, text: String) {
        let delivery = match self.random(20) {
            0 => MailDelivery::Interrupt,
            1..8 => MailDelivery::FollowUp,
            _ => MailDelivery::Steer,
        };
        let message = SendParams { task: Some(task), text: text.clone(), images: Vec::new(), delivery, display: None };
        match self.command(&SessionCommand::Send(message)) {
            DeliveryCertainty::Certain => self.posted.push((task, text)),
            DeliveryCertainty::Uncertain => self.doubtful.push((task, text)),
        }
    }

    /// Sends a batch of messages to random tasks.
    fn send_batch(&mut self, tasks: &[TaskId]) {
        for _ in 0..BATCH_SIZE {
            let n = self.posted.len() + self.doubtful.len();
            let to = tasks[1 + self.random(tasks.len() as u64 - 1) as usize];
            let text = if self.random(3) == 0 { format!("pass {n}") } else { format!("word {n}") };
            self.send(to, text);
        }
    }

    /// Checks that each posted message was accepted once, unless its recipient had ended.
    fn check(&self, stopped: &[TaskId]) {
        let log = self.log();
        let count = check_mail(&log);
        assert_eq!(count.waiting(), 0, "{count:?}");
        assert!(count.letters >= MIN_MESSAGES, "{count:?}");
        let mut accepted: BTreeMap<(TaskId, String), u32> = BTreeMap::new();
        for letter in letters(&log) {
            *accepted.entry(letter).or_default() += 1;
        }
        for posted in &self.posted {
            let times = accepted.get(posted).copied().unwrap_or(0);
            assert!(times == 1 || (times == 0 && stopped.contains(&posted.0)), "{posted:?} was accepted {times} times");
        }
        for doubtful in &self.doubtful {
            let times = accepted.get(doubtful).copied().unwrap_or(0);
            assert!(times <= 1, "{doubtful:?} was accepted {times} times");
        }
    }
}

/// Whether a command reached the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DeliveryCertainty {
    Certain,
    /// The owner died before it answered.
    Uncertain,
}

fn started_storm() -> Storm {
    let fixture = fixture();
    fixture.script(&script()).prompt("begin").run().expect(0);
    let home = Home::open(fixture.home()).unwrap();
    let id = fixture.newest().parse().unwrap();
    Storm { fixture, home, id, posted: Vec::new(), doubtful: Vec::new(), rng_state: 42 }
}

#[test]
fn ten_thousand_messages_survive_twenty_kills_once_and_in_order() {
    let mut storm = started_storm();
    let mut stopped = Vec::new();
    for life in 0..KILLS {
        let tasks = storm.tasks();
        if life % 5 == 0 {
            storm.send(tasks[0], format!("more {life}"));
        }
        // Half of the messages are sent before the owner starts, and half while it works.
        storm.send_batch(&tasks);
        let mut running = storm.resume().discard_output().start();
        storm.send_batch(&tasks);
        if life % 7 == 3 {
            let task = tasks[1 + storm.random(WORKERS) as usize];
            storm.command(&SessionCommand::StopTask(StopTaskParams { task, how: CancelMode::Abort }));
            stopped.push(task);
        }
        thread::sleep(Duration::from_millis(storm.random(500)));
        running.signal(ProcessSignal::Kill);
        running.wait();
    }
    for _ in 0..20 {
        assert_ne!(storm.resume().run().code(), Some(1));
        if check_mail(&storm.log()).letters >= MIN_MESSAGES {
            break;
        }
        let tasks = storm.tasks();
        storm.send_batch(&tasks);
    }
    storm.check(&stopped);
}
