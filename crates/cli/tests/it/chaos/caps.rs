//! A model that always starts five more stops exactly at each cap, and nobody starts anything once it was stopped.

use std::fs;

use protocol::{Envelope, Event, TaskId, TaskOutcome, TaskSpec, TaskType};
use testkit::binary::{BinaryFixture, PATIENCE, within};

use crate::stage;

/// Every agent starts five more and waits for them.
fn always_five() -> String {
    let call = "      - call: { tool: task, input: { description: more, prompt: go, agent_type: general-purpose, name: kid } }\n";
    format!(
        "version: 1\nrules:\n  - when: {{ turn: 1 }}\n    answer:\n{}  - answer: [{{ say: enough }}]\n",
        call.repeat(5)
    )
}

fn limited(limits: &str) -> BinaryFixture {
    let stage = stage();
    fs::create_dir(stage.home()).unwrap();
    fs::write(stage.home().join("config.toml"), format!("[limits]\n{limits}\n")).unwrap();
    stage
}

/// The agents that were started, in their order, with when.
fn agents(log: &[Envelope]) -> Vec<(TaskId, &TaskSpec, u64)> {
    let mut agents = Vec::new();
    for envelope in log {
        match &envelope.entry.event {
            Event::TaskCreated(spec) if spec.kind == TaskType::Agent => {
                agents.push((envelope.entry.task, &**spec, envelope.entry.at.0))
            }
            _other => {}
        }
    }
    agents
}

/// How deep each agent is, counted from the log.
fn deepest(log: &[Envelope]) -> usize {
    let all = agents(log);
    let parent = |id: TaskId| all.iter().find(|(other, ..)| *other == id).and_then(|(_, spec, _)| spec.parent);
    all.iter().map(|(id, ..)| std::iter::successors(parent(*id), |id| parent(*id)).count()).max().unwrap_or(0)
}

/// Runs to the end, with a death in between if one is ordered.
fn run(stage: &BinaryFixture, death: Option<&str>) -> Vec<Envelope> {
    stage.script(&always_five());
    let ended = match death {
        Some(fault) => {
            stage.prompt("go").env("BOSUN_FAULT", fault).discard_output().run().expect_killed();
            stage.bosun(["--continue", "--allow-all"]).run()
        }
        None => stage.prompt("go").run(),
    };
    assert_eq!(ended.expect(0).stdout, "enough\n");
    let log = stage.log(&stage.newest());
    let ended = log.iter().filter(|envelope| matches!(&envelope.entry.event, Event::ActivationEnded { outcome, .. } if *outcome == TaskOutcome::Completed));
    assert_eq!(ended.count(), agents(&log).len() + 1, "everybody who was started ended well");
    log
}

#[test]
fn a_tree_that_always_grows_stops_at_its_depth() {
    for death in [None, Some("after-commit:120")] {
        let log = run(&limited("depth = 2\nlive = 64"), death);
        assert_eq!((agents(&log).len(), deepest(&log)), (5 + 25, 2), "{death:?}");
    }
}

#[test]
fn a_tree_that_always_grows_stops_at_its_total() {
    for death in [None, Some("before-commit:150")] {
        let log = run(&limited("total = 37\nlive = 64"), death);
        assert_eq!(agents(&log).len(), 37, "{death:?}");
    }
}

#[test]
fn subagents_start_no_more_in_a_minute_than_they_may() {
    const RATE: usize = 200;
    for death in [None, Some("after-commit:900")] {
        let log = run(&limited("live = 64"), death);
        let all = agents(&log);
        let root = all[0].1.parent;
        let times: Vec<u64> = all.iter().filter(|(_, spec, _)| spec.parent != root).map(|(.., at)| *at).collect();
        assert!(times.len() >= RATE, "{death:?}: {}", times.len());
        let within_a_minute = |first: &[u64]| first[RATE] >= first[0] + 60_000;
        assert!(times.windows(RATE + 1).all(within_a_minute), "{death:?}");
        let refused = |envelope: &Envelope| matches!(&envelope.entry.event, Event::CallAnswered { answer, .. } if answer.text.contains("200"));
        assert!(log.iter().any(refused), "{death:?}: the model was told of the cap");
    }
}

#[test]
fn after_a_stop_nothing_starts() {
    let stage = limited("live = 64");
    let running = stage.script(&always_five()).prompt("go").args(["--output-format", "jsonl"]).start();
    let started = || running.stdout().matches("\"taskCreated\"").count();
    within(PATIENCE, "many agents", || started() > 40);
    let id = stage.newest();
    stage.bosun(["sessions", "stop", &id]).run().expect(0).says(&["delivered"]);
    let then = stage.log(&id);
    running.wait().expect(5);
    let now = stage.log(&id);
    assert_eq!(agents(&now).len(), agents(&then).len());
    assert!(agents(&now).len() < 2_000);
}

#[test]
fn one_slot_is_enough_for_agents_that_wait_for_agents() {
    let stage = limited("live = 1\ndepth = 4");
    stage.script(
        "
version: 1
rules:
  - when: { turn: 1, not: { path: '(/[^/]+){5}' } }
    answer:
      - call: { tool: task, input: { description: a, prompt: go, agent_type: general-purpose, name: a } }
      - call: { tool: task, input: { description: b, prompt: go, agent_type: general-purpose, name: b } }
      - call: { tool: shell, input: { command: \"echo '${path}' >> witness\" } }
  - answer: [{ say: \"Done by ${path}.\" }]
",
    );
    assert_eq!(stage.prompt("go").run().expect(0).stdout, "Done by /root.\n");
    let log = stage.log(&stage.newest());
    assert_eq!((agents(&log).len(), deepest(&log)), (2 + 4 + 8 + 16, 4));
    assert_eq!(fs::read_to_string(stage.path("witness")).unwrap().lines().count(), 1 + 2 + 4 + 8);
}
