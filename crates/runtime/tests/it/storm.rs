//! Messages to agents that start, become idle, end and lose their owner: each is read once or expires, and in order.

use protocol::api::{SendParams, SessionCommand, StopTaskParams};
use protocol::{CancelMode, MailDelivery, TaskId};
use runtime::SessionStart;
use testkit::chaos::{check_mail, letters};
use testkit::session::{SessionDriver, SessionFixture, scenario};

use crate::support::rules;

/// Six workers that are idle until they get a message, and forward some messages to the others.
fn workers() -> String {
    let call = |tool: &str, input: &str| format!("      - call: {{ tool: {tool}, input: {{ {input} }} }}\n");
    let task = |n: u32| {
        call("task", &format!("agent_type: worker, name: w{n}, description: hears, prompt: rest, mode: background"))
    };
    let tasks: String = (0..6).map(task).collect();
    let echo = |n: u32| call("write_agent", &format!("to: [siblings], message: 'heard ${{1}} {n}'"));
    let echoes: String = (0..4).map(echo).collect();
    rules(&format!(
        "  - when: {{ path: /root, turn: 1 }}
    answer:
{tasks}  - when: {{ path: '/root/.*', prompt: 'pass (\\d+)', not: {{ answered: {{ tool: write_agent }} }} }}
    answer:
{echoes}  - answer: [say: So be it.]
"
    ))
}

/// Random numbers that are the same in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    fn letter(&mut self, to: TaskId, n: u64) -> SendParams {
        let delivery = match self.roll(10) {
            0 => MailDelivery::Interrupt,
            1..5 => MailDelivery::FollowUp,
            _ => MailDelivery::Steer,
        };
        let word = if self.roll(4) == 0 { "pass" } else { "word" };
        SendParams { task: Some(to), text: format!("{word} {n}"), images: Vec::new(), delivery, display: None }
    }
}

async fn begun() -> (SessionFixture, SessionDriver) {
    let stage = scenario().script(&workers()).allow_all().ready();
    let mut driver = stage.open(SessionStart::New).await;
    driver.send("begin", MailDelivery::FollowUp).await;
    driver.rest().await;
    (stage, driver)
}

#[tokio::test]
async fn messages_over_twenty_deaths_are_each_read_once_and_in_order() {
    let (stage, mut driver) = begun().await;
    let mut dice = Dice(7);
    let (mut accepted, mut posted, mut stopped) = (Vec::new(), 0, None);
    for life in 0..20 {
        let tasks: Vec<TaskId> = driver.tasks().iter().map(|task| task.id).collect();
        for _ in 0..25 {
            posted += 1;
            let to = tasks[1 + dice.roll(tasks.len() as u64 - 1) as usize];
            let letter = dice.letter(to, posted);
            // About half of the messages come from other processes.
            if dice.roll(2) == 0 {
                driver.command(&SessionCommand::Send(letter)).await;
            } else if driver.session().post(letter.clone()).await.is_ok() {
                accepted.push((to, letter.text));
            } else {
                assert_eq!(stopped, Some(to), "only an agent that was stopped takes no mail");
            }
        }
        if life == 9 {
            let stop = StopTaskParams { task: tasks[1], how: CancelMode::Abort };
            driver.command(&SessionCommand::StopTask(stop)).await;
            stopped = Some(tasks[1]);
        }
        for _ in 0..dice.roll(400) {
            tokio::task::yield_now().await;
        }
        let id = driver.crash().await.id();
        driver = stage.open(SessionStart::Resume(id)).await;
        driver.resume().await;
    }
    driver.rest().await;
    let run = driver.leave().await;
    let count = check_mail(run.events());
    assert_eq!(count.waiting(), 0, "{count:?}");
    let read = letters(run.events());
    for letter in &accepted {
        assert_eq!(read.iter().filter(|other| *other == letter).count(), 1, "{letter:?}");
    }
}

#[tokio::test]
async fn a_delivered_result_never_changes() {
    let script = rules(
        "  - when: { path: /root, turn: 1 }
    answer:
      - call: { tool: task, input: { agent_type: worker, name: w, description: d, prompt: go, mode: background } }
  - when: { path: /root, prompt: 'again (\\d)', not: { answered: { tool: write_agent } } }
    answer:
      - call: { tool: write_agent, input: { to: [w], message: 'once more ${1}' } }
  - when: { path: /root/w, not: { answered: { tool: shell } } }
    answer:
      - call: { tool: shell, input: { command: 'true ${turn}' } }
  - answer: [say: 'turn ${turn}']
",
    );
    let stage = scenario().script(&script).allow_all().ready();
    let mut driver = stage.open(SessionStart::New).await;
    driver.send("begin", MailDelivery::FollowUp).await;
    driver.rest().await;
    for n in 1..=4 {
        driver.send(&format!("again {n}"), MailDelivery::FollowUp).await;
        driver.rest().await;
    }
    let id = driver.crash().await.id();
    let mut driver = stage.open(SessionStart::Resume(id)).await;
    driver.send("again 5", MailDelivery::FollowUp).await;
    driver.rest().await;
    // The test model has checked that every request starts with the previous one.
    driver.leave().await;
}
