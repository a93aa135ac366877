//! Agents in processes of their own: the same activation as in the session's process, with the store on this side.

use std::fs;
use std::sync::Arc;

use model::{Model, Providers};
use protocol::api::{DecideParams, SendParams, SessionCommand, StopTaskParams};
use protocol::{
    AgentSpec, AskDecision, CancelMode, Event, FailKind, Hinted as _, HookEvent, HookSpec, MailDelivery,
    ModelPreference, PlaceName, RuleEffect, SpawnPolicy, TaskId, TaskOutcome, ToolResultStatus,
};
use runtime::{ModelResolveError, ModelResolver, ModelSources, SessionStart};
use store::SessionReader;
use tempfile::TempDir;
use testkit::session::{PlayedSession, Scenario, SessionDriver, SessionFixture, scenario};

use crate::hooks::command_hook;
use crate::support::rules;

/// Models that are scripts in a folder, which any process can open.
#[derive(Debug)]
struct ScriptFolder(TempDir);

impl ScriptFolder {
    fn with(script: &str) -> Arc<ScriptFolder> {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("helper.yaml"), rules(script)).unwrap();
        Arc::new(ScriptFolder(folder))
    }
}

impl ModelResolver for ScriptFolder {
    fn open(&self, spec: &str) -> Result<Arc<dyn Model>, ModelResolveError> {
        Ok(model::open(spec, self.0.path(), &Providers::default())?)
    }

    fn available(&self) -> Vec<String> {
        vec!["script/helper.yaml".into()]
    }

    fn preferred(&self, _preference: ModelPreference) -> Option<String> {
        None
    }

    fn sources(&self) -> Option<ModelSources> {
        Some(ModelSources { providers: Providers::default(), folder: self.0.path().to_owned() })
    }
}

/// An agent of this place with a scripted model of its own.
fn helper(place: Option<PlaceName>) -> AgentSpec {
    AgentSpec {
        name: "helper".into(),
        description: "helps".into(),
        spawns: SpawnPolicy::Any,
        models: vec!["script/helper.yaml".into()],
        model_invocable: true,
        place,
        ..AgentSpec::default()
    }
}

/// A root that starts the helper and repeats its result.
const ROOT: &str = "
  - when: { agent: worker }
    answer: [say: 'the worker is done']
  - when: { turn: 1 }
    answer:
      - call: { id: t, tool: task, input: { description: some work, prompt: do it, agent_type: helper, name: kid } }
  - answer: [say: 'it was told ${answer}']
";

/// A session whose helper works at this place.
fn with_helper(place: Option<PlaceName>, script: &str) -> Scenario {
    let scenario = scenario().script(&rules(ROOT)).models(ScriptFolder::with(script)).agent(helper(place));
    scenario.rule(RuleEffect::Allow, "task")
}

/// Both places.
fn places() -> [Option<PlaceName>; 2] {
    [None, Some(PlaceName::own_process())]
}

async fn begun(stage: &SessionFixture) -> SessionDriver {
    let driver = stage.open(SessionStart::New).await;
    driver.send("go", MailDelivery::FollowUp).await;
    driver
}

/// The helper's task.
fn kid(driver: &SessionDriver) -> TaskId {
    driver.tasks()[1].id
}

fn started(call: &'static str) -> impl Fn(&Event) -> bool {
    move |event| matches!(event, Event::CallStarted { call: started } if started.0 == call)
}

/// A command that waits until the test has created the file `go`.
const WAITS: &str = "until test -e go; do sleep 0.05; done; echo gone";

/// The processes of runs below this one.
fn run_processes() -> Vec<u32> {
    let own = std::process::id();
    let parent = |pid: u32| -> Option<u32> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(1)?.parse().ok()
    };
    let is_below = |pid: u32| std::iter::successors(Some(pid), |pid| parent(*pid)).any(|pid| pid == own);
    let pids = fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let performs_run = |pid: &u32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0).nth(1).is_some_and(|argument| argument == runtime::RUN_ARGUMENT.as_bytes())
    };
    // A process that is about to start a program has a copy of itself below it for a moment.
    let is_copy = |pid: &u32| parent(*pid).is_some_and(|parent| performs_run(&parent));
    pids.filter(performs_run).filter(|pid| is_below(*pid) && !is_copy(pid)).collect()
}

/// Turns with text, a command, a permission, the session's tables, an agent below, and a stop that a hook blocks.
const WHOLE: &str = "
  - when: { turn: 1 }
    answer:
      - say: looking
      - call: { id: wait, tool: shell, input: { command: 'until test -e go; do sleep 0.05; done; echo gone' } }
    usage: { input: 100, output: 10 }
  - when: { turn: 2 }
    answer:
      - call: { id: make, tool: create, input: { path: made.txt, content: 'made' } }
      - call: { id: ask, tool: shell, input: { command: 'touch asked' } }
    usage: { input: 100, output: 10 }
  - when: { turn: 3 }
    answer:
      - call: { id: rows, tool: sql, input: { query: 'SELECT 6 * 7 AS answer' } }
      - call: { id: below, tool: task, input: { description: more, prompt: go on, agent_type: worker, name: grandkid } }
    usage: { input: 100, output: 10 }
  - when: { turn: 4 }
    answer: [say: 'first answer']
    usage: { input: 100, output: 10 }
  - answer: [say: 'heard ${prompt}']
    usage: { input: 100, output: 10 }
";

/// Blocks the first end of an agent.
const BLOCKS_ONCE: &str =
    r#"if [ -e once ]; then true; else touch once; echo '{"decision":"block","reason":"run the tests"}'; fi"#;

async fn whole_activation(place: Option<PlaceName>) -> PlayedSession {
    let is_remote = place.is_some();
    let allowed = ["create", "sql", "shell(until *)", "shell(test *)", "shell(sleep *)", "shell(echo *)"];
    let scenario = with_helper(place, WHOLE).ask_wait(None);
    let scenario = allowed.iter().fold(scenario, |scenario, rule| scenario.rule(RuleEffect::Allow, rule));
    let of_helper = HookSpec { matcher: Some("helper".into()), ..command_hook(HookEvent::SubagentStop, BLOCKS_ONCE) };
    let stage = scenario.hook(of_helper).ready();
    let mut driver = begun(&stage).await;
    driver.until("the command", started("wait")).await;
    assert_eq!(run_processes().len(), usize::from(is_remote));
    let message = SessionCommand::Send(SendParams {
        task: Some(kid(&driver)),
        text: "mind the gap".into(),
        images: Vec::new(),
        delivery: MailDelivery::Steer,
        display: None,
    });
    driver.command(&message).await;
    fs::write(stage.path("go"), "").unwrap();
    driver.until_status("the ask", |status| status.asks == 1).await;
    let asks = SessionReader::open(stage.home(), driver.id()).unwrap().asks(false).unwrap();
    let decision = AskDecision::Allow { rules: vec!["shell(touch *)".into()], input: None };
    driver.command(&SessionCommand::Decide(DecideParams { ask: asks[0].ask.id.clone(), decision })).await;
    driver.rest().await;
    let run = driver.leave().await;
    assert!(run_processes().is_empty());
    run
}

#[tokio::test]
async fn an_activation_in_another_process_leaves_the_same_transcript() {
    let [here, there] = places();
    let (here, there) = (whole_activation(here).await, whole_activation(there).await);
    // The file that ends the wait counts as changed by the command only if the command began before the test wrote it.
    let transcript = |run: &PlayedSession| run.transcript().replace("files changed: go, ", "files changed: ");
    assert_eq!(transcript(&here), transcript(&there));
    assert_eq!((there.file("made.txt").as_deref(), there.file("asked").as_deref()), (Some("made"), Some("")));
    insta::assert_snapshot!(transcript(&there));
}

#[tokio::test]
async fn the_process_of_an_agent_that_is_stopped_ends_with_everything_it_started() {
    for how in [CancelMode::Abort, CancelMode::WrapUp] {
        let script = format!(
            "
  - when: {{ turn: 1 }}
    answer:
      - call: {{ id: wait, tool: shell, input: {{ command: '{WAITS}' }} }}
  - answer: [say: 'stopped in time']
"
        );
        let stage = with_helper(Some(PlaceName::own_process()), &script).allow_all().ready();
        let mut driver = begun(&stage).await;
        driver.until("the command", started("wait")).await;
        driver.command(&SessionCommand::StopTask(StopTaskParams { task: kid(&driver), how })).await;
        driver.rest().await;
        let run = driver.leave().await;
        assert!(run_processes().is_empty());
        let ended = run.tasks()[1].result.as_deref().unwrap_or_default();
        assert_eq!(ended == "stopped in time", how == CancelMode::WrapUp, "{}", run.transcript());
    }
}

#[expect(clippy::disallowed_methods, reason = "a test kills a process as a person would")]
fn kill(pid: u32) {
    let killed = std::process::Command::new("kill").args(["-KILL", &pid.to_string()]).status().unwrap();
    assert!(killed.success());
}

#[tokio::test]
async fn a_killed_process_loses_no_finished_turn_and_repeats_no_call() {
    let script = format!(
        "
  - when: {{ turn: 1 }}
    answer:
      - say: counting
      - call: {{ id: count, tool: shell, input: {{ command: 'echo x >> count' }} }}
  - when: {{ turn: 2 }}
    answer:
      - call: {{ id: wait, tool: shell, input: {{ command: '{WAITS}' }} }}
  - answer: [say: 'done']
"
    );
    let stage = with_helper(Some(PlaceName::own_process()), &script).allow_all().ready();
    let mut driver = begun(&stage).await;
    driver.until("the command", started("wait")).await;
    let [process] = run_processes()[..] else { panic!("one process performs the run") };
    kill(process);
    driver.until("the interruption", |event| matches!(event, Event::TaskInterrupted)).await;
    driver.rest().await;
    let run = driver.leave().await;
    assert_eq!(stage.file("count").as_deref(), Some("x\n"));
    assert_eq!(run.tasks()[1].result.as_deref(), Some("done"), "{}", run.transcript());
    assert_eq!(run.tasks()[1].last_outcome, Some(TaskOutcome::Completed));
    let interrupted = |event: &Event| {
        matches!(event, Event::CallAnswered { call, answer, .. }
            if call.0 == "wait" && answer.status == ToolResultStatus::Interrupted)
    };
    assert_eq!(run.count(interrupted), 1);
    let kid = run.tasks()[1].id;
    let answers = run.events().iter().filter(|envelope| envelope.entry.task == kid);
    let answers = answers.filter(|envelope| matches!(envelope.entry.event, Event::TurnAnswered { .. })).count();
    assert_eq!(answers, 3, "no turn was asked twice");
}

#[tokio::test]
async fn an_agent_whose_process_dies_again_and_again_fails() {
    let script = format!(
        "
  - answer:
      - call: {{ id: wait, tool: shell, input: {{ command: '{WAITS}' }} }}
"
    );
    let stage = with_helper(Some(PlaceName::own_process()), &script).allow_all().ready();
    let mut driver = begun(&stage).await;
    for _death in 0..3 {
        driver
            .until("the command", |event| matches!(event, Event::CallStarted { call } if call.0.starts_with("wait")))
            .await;
        let [process] = run_processes()[..] else { panic!("one process performs the run") };
        kill(process);
    }
    driver.rest().await;
    let run = driver.leave().await;
    let outcome = run.tasks()[1].last_outcome.clone();
    assert!(
        matches!(&outcome, Some(TaskOutcome::Failed { kind: FailKind::Internal, message }) if message.contains("ended early")),
        "{outcome:?}"
    );
}

#[tokio::test]
async fn an_agent_whose_model_exists_only_here_is_told_so() {
    let stage = scenario().script(&rules(ROOT)).agent(AgentSpec { models: Vec::new(), ..helper(places()[1].clone()) });
    let run = stage.rule(RuleEffect::Allow, "task").prompt("go").run().await;
    assert!(run.text().contains("exist only in its own process"), "{}", run.transcript());
}

#[tokio::test]
async fn the_root_agent_has_no_process_of_its_own() {
    let main = AgentSpec { models: Vec::new(), ..helper(Some(PlaceName::own_process())) };
    let refused = scenario().main(main).ready().try_open(SessionStart::New).await.unwrap_err();
    assert!(refused.hint().unwrap().contains("start it as a subagent"), "{refused}");
}
