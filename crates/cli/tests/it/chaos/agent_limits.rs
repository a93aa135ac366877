//! A model that always starts five more agents stops exactly at each limit, and nothing starts after a stop.

use std::fs;

use protocol::{Envelope, Event, TaskId, TaskOutcome, TaskSpec, TaskType};
use testkit::binary::{BinaryFixture, PATIENCE, within};

use crate::fixture;

/// Every agent starts five more and waits for them.
fn always_five() -> String {
    let call = "      - call: { tool: task, input: { description: more, prompt: go, agent_type: general-purpose, name: kid } }\n";
    format!(
        "version: 1\nrules:\n  - when: {{ turn: 1 }}\n    answer:\n{}  - answer: [{{ say: enough }}]\n",
        call.repeat(5)
    )
}

fn limited(limits: &str) -> BinaryFixture {
    let fixture = fixture();
    fs::create_dir(fixture.home()).unwrap();
    fs::write(fixture.home().join("config.toml"), format!("[limits]\n{limits}\n")).unwrap();
    fixture
}

/// The started agents in order, with their start times.
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

/// The depth of the deepest agent, counted from the log.
fn deepest(log: &[Envelope]) -> usize {
    let all = agents(log);
    let parent = |id: TaskId| all.iter().find(|(other, ..)| *other == id).and_then(|(_, spec, _)| spec.parent);
    all.iter().map(|(id, ..)| std::iter::successors(parent(*id), |id| parent(*id)).count()).max().unwrap_or(0)
}

/// Runs to the end, with a kill in between if `death` names one.
fn run(fixture: &BinaryFixture, death: Option<&str>) -> Vec<Envelope> {
    fixture.script(&always_five());
    let ended = match death {
        Some(fault) => {
            fixture.prompt("go").env("BOSUN_FAULT", fault).discard_output().run().expect_killed();
            fixture.bosun(["--continue", "--allow-all"]).run()
        }
        None => fixture.prompt("go").run(),
    };
    assert_eq!(ended.expect(0).stdout, "enough\n");
    let log = fixture.log(&fixture.newest());
    let ended = log.iter().filter(|envelope| matches!(&envelope.entry.event, Event::ActivationEnded { outcome, .. } if *outcome == TaskOutcome::Completed));
    assert_eq!(ended.count(), agents(&log).len() + 1, "every started agent completed");
    log
}

#[test]
fn growing_tree_stops_at_the_depth_limit() {
    for death in [None, Some("after-commit:120")] {
        let log = run(&limited("depth = 2\nlive = 64"), death);
        assert_eq!((agents(&log).len(), deepest(&log)), (5 + 25, 2), "{death:?}");
    }
}

#[test]
fn growing_tree_stops_at_the_total_limit() {
    for death in [None, Some("before-commit:150")] {
        let log = run(&limited("total = 37\nlive = 64"), death);
        assert_eq!(agents(&log).len(), 37, "{death:?}");
    }
}

#[test]
fn subagents_respect_the_spawn_rate_limit() {
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
        assert!(log.iter().any(refused), "{death:?}: the model was told about the limit");
    }
}

#[test]
fn after_a_stop_nothing_starts() {
    let fixture = limited("live = 64");
    let running = fixture.script(&always_five()).prompt("go").args(["--output-format", "jsonl"]).start();
    let started = || running.stdout().matches("\"taskCreated\"").count();
    within(PATIENCE, "many agents", || started() > 40);
    let id = fixture.newest();
    fixture.bosun(["sessions", "stop", &id]).run().expect(0).says(&["delivered"]);
    let at_stop = fixture.log(&id);
    running.wait().expect(5);
    let at_end = fixture.log(&id);
    assert_eq!(agents(&at_end).len(), agents(&at_stop).len());
    assert!(agents(&at_end).len() < 2_000);
}

#[test]
fn one_slot_is_enough_for_agents_that_wait_for_agents() {
    let fixture = limited("live = 1\ndepth = 4");
    fixture.script(
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
    assert_eq!(fixture.prompt("go").run().expect(0).stdout, "Done by /root.\n");
    let log = fixture.log(&fixture.newest());
    assert_eq!((agents(&log).len(), deepest(&log)), (2 + 4 + 8 + 16, 4));
    assert_eq!(fs::read_to_string(fixture.path("witness")).unwrap().lines().count(), 1 + 2 + 4 + 8);
}
