//! Background commands.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use std::{fs, io};

use insta::assert_snapshot;
use protocol::{Event, MailDelivery, TaskOutcome, TaskState};
use runtime::{Disk, SessionStart, SessionStatus};
use testkit::session::{SessionDriver, scenario};

use crate::support::{UNTIL_GO, eventually, rules};

/// Rules that start `command` in the background, followed by the rules in `then`.
fn starting(command: &str, then: &str) -> String {
    rules(&format!(
        "  - when: {{ turn: 1 }}
    answer:
      - call: {{ tool: shell, input: {{ background: true, description: a command, command: '{command}' }} }}
{then}"
    ))
}

fn root_rests(status: &SessionStatus) -> bool {
    status.root == Some(TaskState::Idle)
}

async fn begin(script: &str) -> SessionDriver {
    let driver = scenario().script(script).allow_all().ready().open(SessionStart::New).await;
    driver.send("go", MailDelivery::FollowUp).await;
    driver
}

fn go(driver: &SessionDriver) {
    fs::write(driver.stage().path("go"), "").unwrap();
}

#[tokio::test]
async fn the_end_of_a_command_wakes_the_root_exactly_once() {
    let then = "  - when: { prompt: completed }
    answer: [say: noted]
  - answer: [say: started]
";
    let mut driver = begin(&starting(&format!("{UNTIL_GO}; echo hello"), then)).await;
    driver.until_status("the root at rest", root_rests).await;
    assert_eq!(driver.session().status().borrow().background, 1);
    go(&driver);
    driver.rest().await;
    let run = driver.leave().await;
    assert_eq!(run.count(|event| matches!(event, Event::ActivationEnded { .. })), 3);
    assert_snapshot!(run.transcript());
}

#[tokio::test]
async fn a_call_waits_for_a_command_and_reads_all_of_it() {
    let then = "  - when: { turn: 2 }
    answer:
      - call: { id: wait, tool: read_shell, input: { name: until, wait_secs: 300 } }
  - answer: [say: \"it said ${answer}\"]
";
    let mut driver = begin(&starting(&format!("{UNTIL_GO}; echo hello"), then)).await;
    driver.until("a wait", |event| matches!(event, Event::WaitBegan { .. })).await;
    go(&driver);
    driver.rest().await;
    assert_snapshot!(driver.leave().await.transcript());
}

#[tokio::test]
async fn a_wait_ends_at_its_time_also_when_the_machine_slept_through_it() {
    let then = "  - when: { turn: 2 }
    answer:
      - call: { id: wait, tool: read_shell, input: { name: until, wait_secs: 300 } }
  - when: { turn: 3 }
    answer:
      - call: { id: stop, tool: stop_shell, input: { name: until } }
  - answer: [say: stopped]
";
    let mut driver = begin(&starting(UNTIL_GO, then)).await;
    driver.until("a wait", |event| matches!(event, Event::WaitBegan { .. })).await;
    driver.stage().clock().advance(Duration::from_secs(8 * 3600));
    driver.rest().await;
    assert_snapshot!(driver.leave().await.transcript());
}

#[tokio::test]
async fn commands_are_listed_and_stopped_by_name() {
    let then = format!(
        "  - when: {{ turn: 2 }}
    answer:
      - call: {{ tool: shell, input: {{ background: true, command: '{UNTIL_GO}' }} }}
  - when: {{ turn: 3 }}
    answer:
      - call: {{ id: list, tool: list_shells }}
      - call: {{ id: none, tool: read_shell, input: {{ name: nobody }} }}
  - when: {{ turn: 4 }}
    answer:
      - call: {{ id: stop, tool: stop_shell, input: {{ name: until }} }}
      - call: {{ id: stop-2, tool: stop_shell, input: {{ name: until-2 }} }}
      - call: {{ id: again, tool: stop_shell, input: {{ name: until-2 }} }}
      - call: {{ id: list, tool: list_shells }}
  - answer: [say: done]
"
    );
    let mut driver = begin(&starting(UNTIL_GO, &then)).await;
    driver.rest().await;
    assert_snapshot!(driver.leave().await.transcript());
}

#[tokio::test]
async fn the_output_of_a_command_is_limited_on_disk_and_in_the_answer() {
    const CAP: u64 = 30_000;
    let then = "  - when: { turn: 2 }
    answer:
      - call: { id: wait, tool: read_shell, input: { name: seq, wait_secs: 300 } }
  - answer: [say: done]
";
    let stage = scenario().script(&starting("seq 1 100000", then)).allow_all().spool(CAP).ready();
    let mut driver = stage.open(SessionStart::New).await;
    driver.send("go", MailDelivery::FollowUp).await;
    driver.rest().await;
    let task = driver.tasks()[1].id;
    let folder = stage.home().output_dir(driver.id()).join(task.to_string());
    let kept: u64 = fs::read_dir(folder).unwrap().map(|file| file.unwrap().metadata().unwrap().len()).sum();
    assert!(kept <= CAP && kept > CAP / 3, "{kept} bytes");
    let run = driver.leave().await;
    let answer = run.events().iter().find_map(|envelope| match &envelope.entry.event {
        Event::CallAnswered { call, answer, .. } if call.0 == "wait" => Some(answer.text.clone()),
        _other => None,
    });
    let answer = answer.unwrap();
    assert!(answer.contains("\n1\n2\n") && answer.contains("left out") && answer.trim_end().ends_with("100000"));
}

/// A disk with no room left.
#[derive(Debug)]
struct Full;

impl Disk for Full {
    fn free_bytes(&self, _path: &Path) -> io::Result<u64> {
        Ok(999)
    }
}

#[tokio::test]
async fn a_full_disk_drops_the_output_of_a_command_but_not_the_session() {
    let then = "  - when: { turn: 2 }
    answer:
      - call: { id: wait, tool: read_shell, input: { name: seq, wait_secs: 300 } }
  - answer: [say: done]
";
    let stage = scenario().script(&starting("seq 1 9", then)).allow_all().disk(Arc::new(Full), 1_000).ready();
    let mut driver = stage.open(SessionStart::New).await;
    driver.send("go", MailDelivery::FollowUp).await;
    driver.rest().await;
    let command = driver.tasks()[1].clone();
    let note = "[output after this point is not stored: the disk has 999 bytes left, and 1000 must stay free]";
    assert_eq!(command.state, TaskState::Finished { outcome: TaskOutcome::Completed });
    assert_eq!(command.result.as_deref().map(str::trim), Some(note));
    assert_eq!(client::task_output(stage.home(), driver.id(), &command).trim(), note);
    assert_eq!(driver.leave().await.outcome(), Some(&TaskOutcome::Completed));
}

#[tokio::test]
async fn a_command_that_fails_says_how() {
    let then = "  - when: { prompt: failed }
    answer: [say: noted]
  - answer: [say: started]
";
    let mut driver = begin(&starting(&format!("{UNTIL_GO}; echo oops; exit 3"), then)).await;
    driver.until_status("the root at rest", root_rests).await;
    go(&driver);
    driver.rest().await;
    assert_snapshot!(driver.leave().await.transcript());
}

#[tokio::test]
async fn an_interrupt_of_the_turn_leaves_commands_alone_and_a_stop_does_not() {
    let then = "  - when: { turn: 2 }
    answer:
      - call: { id: wait, tool: read_shell, input: { name: sh, wait_secs: 300 } }
  - answer: [say: done]
";
    let mut driver = begin(&starting("sh -c \"echo $$ > pid; exec sleep 1000\"", then)).await;
    driver.until("a wait", |event| matches!(event, Event::WaitBegan { .. })).await;
    let pid = driver.stage().path("pid");
    eventually("a pid", || fs::read_to_string(&pid).is_ok_and(|pid| pid.ends_with('\n'))).await;
    let process = format!("/proc/{}", fs::read_to_string(&pid).unwrap().trim());
    driver.interrupt().await;
    driver.until_status("the root at rest", root_rests).await;
    assert_eq!(driver.session().status().borrow().background, 1);
    assert!(fs::exists(&process).unwrap());
    driver.stop().await.unwrap();
    driver.rest().await;
    eventually("the command's end", || !fs::exists(&process).unwrap()).await;
    let outcomes: Vec<Option<TaskOutcome>> = driver.tasks().into_iter().map(|task| task.last_outcome).collect();
    let by_user = || Some(TaskOutcome::Cancelled { by: protocol::CancelBy::User });
    assert_eq!(outcomes, [by_user(), by_user()]);
    driver.leave().await;
}
