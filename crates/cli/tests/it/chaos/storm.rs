//! A storm of messages over owners that are killed: each is read once or expires, in the order it was written.

use std::collections::BTreeMap;
use std::thread;
use std::time::Duration;

use host::{Clock, Home, SystemClock};
use protocol::api::{CommandOutcome, Method, SendParams, SessionCommand, StopTaskParams};
use protocol::{CancelMode, Envelope, Event, MailDelivery, SessionId, TaskId, TaskType};
use testkit::binary::{BinaryFixture, BinaryInvocation, ProcessSignal};
use testkit::chaos::{check_mail, letters};

use crate::stage;

const KILLS: u64 = 20;

/// Fewest messages in all.
const MESSAGES: usize = 10_000;

/// How many people write at a time.
const BATCH: u64 = 20;

/// Every one of them hears what one of them passes on.
const WORKERS: u64 = 8;

/// How often one passes a word on.
const ECHOES: u64 = 15;

/// Workers rest until they are written to; now and then one passes a word on to all others. The root starts more.
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
    stage: BinaryFixture,
    home: Home,
    id: SessionId,
    /// What was posted to whom, in order.
    posted: Vec<(TaskId, String)>,
    /// Those whose reader died before it answered.
    doubtful: Vec<(TaskId, String)>,
    dice: u64,
}

impl Storm {
    fn roll(&mut self, most: u64) -> u64 {
        self.dice = self.dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.dice >> 33) % most
    }

    fn log(&self) -> Vec<Envelope> {
        store::SessionReader::open(&self.home, self.id).unwrap().events_after(0, usize::MAX).unwrap()
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
        self.stage.bosun(["--resume", &self.id.to_string(), "--allow-all"])
    }

    /// Gives a command to whoever runs the session, or leaves it where nobody does.
    fn command(&self, command: &SessionCommand) -> Given {
        loop {
            match store::post_command(&self.home, self.id, command, SystemClock.now()) {
                Ok(_row) => return Given::Certainly,
                Err(store::StoreError::Owned { .. }) => {}
                Err(error) => panic!("{error}"),
            }
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            let call = async {
                let (client, _notifications) = rpc::RpcClient::connect(&self.home.socket(self.id)).await.ok()?;
                Some(client.call::<CommandOutcome>(Method::SessionCommand, command).await)
            };
            match runtime.block_on(call) {
                Some(Ok(_fate)) => return Given::Certainly,
                // It was killed before it answered.
                Some(Err(_)) => return Given::Perhaps,
                None => thread::sleep(Duration::from_millis(5)),
            }
        }
    }

    fn send(&mut self, task: TaskId, text: String) {
        let delivery = match self.roll(20) {
            0 => MailDelivery::Interrupt,
            1..8 => MailDelivery::FollowUp,
            _ => MailDelivery::Steer,
        };
        let letter = SendParams { task: Some(task), text: text.clone(), images: Vec::new(), delivery, display: None };
        match self.command(&SessionCommand::Send(letter)) {
            Given::Certainly => self.posted.push((task, text)),
            Given::Perhaps => self.doubtful.push((task, text)),
        }
    }

    /// Writes to whoever is there.
    fn blow(&mut self, tasks: &[TaskId]) {
        for _ in 0..BATCH {
            let n = self.posted.len() + self.doubtful.len();
            let to = tasks[1 + self.roll(tasks.len() as u64 - 1) as usize];
            let text = if self.roll(3) == 0 { format!("pass {n}") } else { format!("word {n}") };
            self.send(to, text);
        }
    }

    /// Each posted message was accepted once, unless its reader had ended.
    fn check(&self, stopped: &[TaskId]) {
        let log = self.log();
        let count = check_mail(&log);
        assert_eq!(count.waiting(), 0, "{count:?}");
        assert!(count.letters >= MESSAGES, "{count:?}");
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

/// Whether a session has a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Given {
    Certainly,
    /// Its process died before it answered.
    Perhaps,
}

fn begun() -> Storm {
    let stage = stage();
    stage.script(&script()).prompt("begin").run().expect(0);
    let home = Home::open(stage.home()).unwrap();
    let id = stage.newest().parse().unwrap();
    Storm { stage, home, id, posted: Vec::new(), doubtful: Vec::new(), dice: 42 }
}

#[test]
fn ten_thousand_messages_over_twenty_kills_are_each_read_once_and_in_order() {
    let mut storm = begun();
    let mut stopped = Vec::new();
    for life in 0..KILLS {
        let tasks = storm.tasks();
        if life % 5 == 0 {
            storm.send(tasks[0], format!("more {life}"));
        }
        // Half of it is there before the owner is, and half comes while it works.
        storm.blow(&tasks);
        let mut running = storm.resume().discard_output().start();
        storm.blow(&tasks);
        if life % 7 == 3 {
            let task = tasks[1 + storm.roll(WORKERS) as usize];
            storm.command(&SessionCommand::StopTask(StopTaskParams { task, how: CancelMode::Abort }));
            stopped.push(task);
        }
        thread::sleep(Duration::from_millis(storm.roll(500)));
        running.signal(ProcessSignal::Kill);
        running.wait();
    }
    for _ in 0..20 {
        assert_ne!(storm.resume().run().code(), Some(1));
        if check_mail(&storm.log()).letters >= MESSAGES {
            break;
        }
        let tasks = storm.tasks();
        storm.blow(&tasks);
    }
    storm.check(&stopped);
}
