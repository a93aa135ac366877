//! A machine that is short of memory.

use std::fs;
use std::path::Path;

use protocol::{Event, TaskOutcome, TaskState};
use runtime::WatchdogSettings;
use testkit::session::{SessionDriver, SessionFixture, scenario};

use super::{begin, starts};
use crate::support::{UNTIL_GO, eventually, pass_seconds, rules};

/// Sets the available memory of the simulated machine.
fn set_memory(root: &Path, available_mib: u64) {
    let text = format!("MemTotal: {} kB\nMemAvailable: {} kB\n", 16 << 20, available_mib << 10);
    fs::create_dir_all(root.join("proc")).unwrap();
    fs::write(root.join("proc/new"), text).unwrap();
    // Renamed into place: the watchdog must not read half a file.
    fs::rename(root.join("proc/new"), root.join("proc/meminfo")).unwrap();
}

fn working(stage: &SessionFixture) -> usize {
    let files = fs::read_dir(stage.path(".")).unwrap();
    files.filter(|file| file.as_ref().unwrap().file_name().to_string_lossy().starts_with("at-work")).count()
}

#[tokio::test]
async fn while_memory_is_short_one_agent_at_a_time_starts_and_the_others_queue() {
    let machine = tempfile::tempdir().unwrap();
    set_memory(machine.path(), 100);
    let script = rules(&format!(
        "  - when: {{ agent: worker, turn: 1 }}
    answer:
      - call: {{ tool: shell, input: {{ command: 'mktemp at-work-XXXXXX; {UNTIL_GO}' }} }}
  - when: {{ agent: worker }}
    answer: [say: done]
  - when: {{ turn: 1 }}
    answer:
{}  - answer: [say: started]
",
        starts(&["a", "b", "c", "d", "e"], "background")
    ));
    let gauge = host::memory::MemoryGauge::at(machine.path().to_owned());
    let watch = WatchdogSettings { gauge, ..WatchdogSettings::default() };
    let mut driver = begin(scenario().script(&script).allow_all().watch(watch)).await;
    let stage = driver.stage().clone();
    driver.until_status("the root at rest", |status| status.root == Some(TaskState::Idle)).await;
    eventually("one at work", || working(&stage) == 1).await;
    pass_seconds(5).await;
    let states =
        |driver: &SessionDriver, wanted: TaskState| driver.tasks().iter().filter(|task| task.state == wanted).count();
    assert_eq!((states(&driver, TaskState::Running), states(&driver, TaskState::Queued)), (1, 4));
    set_memory(machine.path(), 8 << 10);
    pass_seconds(2).await;
    eventually("all at work", || working(&stage) == 5).await;
    fs::write(stage.path("go"), "").unwrap();
    driver.rest().await;
    let run = driver.leave().await;
    let completed = |event: &Event| matches!(event, Event::TaskFinished { .. });
    assert_eq!(run.count(completed), 0, "agents become idle when they are done");
    assert!(run.tasks().iter().all(|task| task.last_outcome == Some(TaskOutcome::Completed)), "{}", run.transcript());
}
