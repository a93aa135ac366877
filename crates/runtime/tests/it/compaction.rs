//! A conversation that outgrows its model: whenever it is compacted, the work comes out the same.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::{StreamExt, stream};
use model::{Deltas, Facts, Model, ModelError, Request};
use protocol::{Block, Delivery, Event, ModelFault, Outcome};
use runtime::Start;
use testkit::session::{Run, Stage, scenario};

use crate::support::{UNTIL_GO, script, turns};

/// The output that each answer may have, so that windows can be small.
const OUTPUT: u32 = 200;

const PROMPT: &str = "Build it, then tidy up: the release is today.";

/// A job of many turns, each with a long answer, and a command that ends much later than it starts.
fn job() -> String {
    let look = "      - call: { tool: view, input: { path: big.txt } }";
    turns(&format!(
        "    - - say: I look around.
      - call: {{ tool: view, input: {{ path: a.txt }} }}
{look}
    - - call: {{ tool: sql, input: {{ query: \"INSERT INTO todos (id, title) VALUES ('t1', 'edit'), ('t2', 'tidy up')\" }} }}
{look}
    - - call: {{ tool: shell, input: {{ background: true, command: '{UNTIL_GO}; echo built > built.txt' }} }}
{look}
    - - call: {{ tool: view, input: {{ path: a.txt }} }}
      - call: {{ tool: edit, input: {{ path: a.txt, old: one, new: two }} }}
{look}
    - - call: {{ tool: sql, input: {{ query: \"UPDATE todos SET status = 'done' WHERE id = 't1'\" }} }}
      - call: {{ tool: create, input: {{ path: b.txt, content: b }} }}
{look}
    - - call: {{ tool: shell, input: {{ command: mkdir sub && echo c > sub/c.txt }} }}
{look}
    - - call: {{ tool: shell, input: {{ command: touch go }} }}
      - call: {{ tool: read_shell, input: {{ name: until, wait_secs: 300 }} }}
{look}
    - - say: It is built.
      - call: {{ tool: view, input: {{ path: a.txt }} }}
      - call: {{ tool: edit, input: {{ path: a.txt, old: two, new: three }} }}
{look}
    - - call: {{ tool: shell, input: {{ command: cat a.txt b.txt built.txt > all.txt; rm go }} }}
{look}
    - - say: All is done.
"
    ))
}

/// The number of the job's turns.
const TURNS: u32 = 10;

/// The first turn before which something is there to be left out.
const FIRST: u32 = 3;

/// A model that has a window, or says that it has one.
#[derive(Debug)]
struct Windowed {
    model: Arc<dyn Model>,
    facts: Facts,
    /// The turn that it does not answer when it is first asked.
    hangs_at: Option<u32>,
    hung: AtomicBool,
    /// Whether it says that a request is too long.
    is_too_long: fn(&Request) -> bool,
}

impl Windowed {
    fn of(context: Option<u64>) -> Windowed {
        let facts = Facts { context, max_output: OUTPUT, ..Facts::UNKNOWN };
        Windowed { model: script(&job()), facts, hangs_at: None, hung: AtomicBool::new(false), is_too_long: |_| false }
    }

    fn stage(self) -> Stage {
        let big: String = (0..150).map(|n| format!("line {n} of a file that is long for its meaning\n")).collect();
        scenario().model(Arc::new(self)).file("a.txt", "one\n").file("big.txt", &big).allow_all().ready()
    }

    async fn run(self) -> Run {
        let mut driver = self.stage().open(Start::New).await;
        driver.send(PROMPT, Delivery::FollowUp).await;
        driver.rest().await;
        driver.leave().await
    }
}

impl Model for Windowed {
    fn name(&self) -> &'static str {
        "windowed"
    }

    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn ask(&self, request: Request) -> Deltas {
        if self.hangs_at == Some(request.turn) && !self.hung.swap(true, Ordering::SeqCst) {
            return stream::pending().boxed();
        }
        if (self.is_too_long)(&request) {
            let error = ModelError::new(ModelFault::TooLong, "that is too long for me");
            return stream::iter([Err(error)]).boxed();
        }
        self.model.ask(request)
    }
}

/// Everything in the working folder.
fn tree(run: &Run) -> BTreeMap<String, String> {
    fn read(folder: &Path, files: &mut BTreeMap<String, String>) {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            if entry.file_type().unwrap().is_dir() {
                read(&entry.path(), files);
            } else {
                let text = fs::read_to_string(entry.path()).unwrap();
                files.insert(entry.file_name().into_string().unwrap(), text);
            }
        }
    }
    let mut files = BTreeMap::new();
    read(&run.stage().path(""), &mut files);
    files
}

/// How many tokens each turn was thought to read.
fn inputs(run: &Run) -> Vec<u64> {
    let input = |event: &Event| match event {
        Event::TurnBegun { reserved, max_output: Some(output), .. } => Some(reserved.tokens - u64::from(*output)),
        _other => None,
    };
    run.events().iter().filter_map(|envelope| input(&envelope.entry.event)).collect()
}

/// The turns before which the conversation was compacted.
fn compacted(run: &Run) -> Vec<u32> {
    let (mut next, mut found) = (1, Vec::new());
    for envelope in run.events() {
        match &envelope.entry.event {
            Event::TurnAnswered { .. } => next += 1,
            Event::Compacted(_) => found.push(next),
            _other => {}
        }
    }
    found
}

fn digests(run: &Run) -> Vec<&str> {
    let events = run.events().iter().map(|envelope| &envelope.entry.event);
    let compactions = events.filter_map(|event| match event {
        Event::Compacted(compaction) => Some(compaction),
        _other => None,
    });
    compactions.filter_map(|compaction| compaction.digest.as_deref()).collect()
}

/// What the model said and called, turn by turn, and what became of the files.
fn work(run: &Run) -> (Vec<&[Block]>, BTreeMap<String, String>) {
    let events = run.events().iter().map(|envelope| &envelope.entry.event);
    let said = events.filter_map(|event| match event {
        Event::TurnAnswered { content, .. } => Some(content.as_slice()),
        _other => None,
    });
    (said.collect(), tree(run))
}

/// The window that a run first outgrows before this turn.
fn window(inputs: &[u64], turn: u32) -> u64 {
    let (before, this) = (inputs[..turn as usize - 1].iter().max().unwrap(), inputs[turn as usize - 1]);
    assert!(*before < this, "{inputs:?}");
    (before.midpoint(this) + u64::from(OUTPUT)) * 100 / 85
}

#[tokio::test]
async fn whichever_turn_is_the_first_to_be_compacted_the_work_is_the_same() {
    let free = Windowed::of(None).run().await;
    assert_eq!((free.outcome(), compacted(&free)), (Some(&Outcome::Completed), Vec::new()));
    let (inputs, expected) = (inputs(&free), work(&free));
    assert_eq!(expected.1["all.txt"], "three\nbbuilt\n");
    assert_eq!(inputs.len(), TURNS as usize);
    let (mut first, mut without_digest) = (Vec::new(), 0);
    for turn in FIRST..=TURNS {
        let run = Windowed::of(Some(window(&inputs, turn))).run().await;
        assert_eq!(run.outcome(), Some(&Outcome::Completed), "{}", run.transcript());
        assert_eq!(work(&run), expected);
        first.push(compacted(&run)[0]);
        without_digest += compacted(&run).len() - digests(&run).len();
    }
    assert!(without_digest > 0);
    assert_eq!(first, (FIRST..=TURNS).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_window_that_is_always_too_small_is_made_the_most_of() {
    let free = Windowed::of(None).run().await;
    let run = Windowed::of(Some(inputs(&free)[0])).run().await;
    assert_eq!(run.outcome(), Some(&Outcome::Completed));
    assert_eq!(work(&run), work(&free));
    assert_eq!(compacted(&run), (FIRST..=TURNS).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_digest_names_the_task_the_todos_and_what_runs() {
    let free = Windowed::of(None).run().await;
    let run = Windowed::of(Some(inputs(&free)[0])).run().await;
    let digests = digests(&run);
    let of_turn = |turn: u32| digests[(turn - FIRST) as usize];
    let while_it_runs = of_turn(6);
    assert!(while_it_runs.contains(PROMPT) && while_it_runs.contains("> - t2 (pending): tidy up\n"), "{while_it_runs}");
    assert!(!while_it_runs.contains("t1 ("), "{while_it_runs}");
    let id = run.events().iter().find_map(|envelope| match &envelope.entry.event {
        Event::TaskCreated(spec) if spec.parent.is_some() => Some(envelope.entry.task),
        _other => None,
    });
    let command = format!("> - background command (see read_shell) `until`, {}: running\n", id.unwrap());
    assert!(while_it_runs.contains(&command), "{while_it_runs}");
    let ended = format!("`until`, {}: completed; its result comes as your next message\n", id.unwrap());
    assert!(of_turn(8).contains(&ended), "{}", of_turn(8));
    let at_the_end = of_turn(TURNS);
    assert!(
        at_the_end.contains(PROMPT) && at_the_end.contains("> Files you wrote:\n> - b.txt\n> - a.txt\n"),
        "{at_the_end}"
    );
    assert!(
        at_the_end.contains("> - view a.txt: done\n") && at_the_end.contains("> - I look around.\n"),
        "{at_the_end}"
    );
    insta::assert_snapshot!(run.stage().plain(at_the_end));
}

#[tokio::test]
async fn an_owner_that_dies_after_a_compaction_is_followed_by_one_that_asks_the_same() {
    let free = Windowed::of(None).run().await;
    let inputs = inputs(&free);
    // In between the command runs, which no new owner takes over.
    for turn in [FIRST, 8, 9, TURNS] {
        let windowed = Windowed { hangs_at: Some(turn), ..Windowed::of(Some(window(&inputs, turn))) };
        let stage = windowed.stage();
        let driver = stage.open(Start::New).await;
        driver.send(PROMPT, Delivery::FollowUp).await;
        driver.asked(turn as usize).await;
        let dead = driver.crash().await;
        assert_eq!(compacted(&dead), [turn]);
        let mut driver = stage.open(Start::Resume(dead.id())).await;
        driver.resume().await;
        driver.asked(turn as usize + 1).await;
        let requests = driver.model().requests();
        let [.., before, after] = &requests[..=turn as usize] else { panic!() };
        assert_eq!(before.messages, after.messages);
        driver.rest().await;
        let run = driver.leave().await;
        assert_eq!(work(&run), work(&free));
    }
}

#[tokio::test]
async fn a_model_that_says_it_is_too_long_is_asked_again_with_less() {
    let free = Windowed::of(None).run().await;
    let run = Windowed { is_too_long: |request| request.messages.len() > 8, ..Windowed::of(None) }.run().await;
    assert_eq!(run.outcome(), Some(&Outcome::Completed), "{}", run.transcript());
    assert_eq!(work(&run), work(&free));
    let failed = |event: &Event| matches!(event, Event::TurnFailed { fault: ModelFault::TooLong, .. });
    assert_eq!(run.count(failed), compacted(&run).len());
    assert!(digests(&run).len() >= 2);
}

#[tokio::test]
async fn a_model_that_always_says_it_is_too_long_ends_the_run_with_advice() {
    let run = Windowed { is_too_long: |request| request.turn >= 2, ..Windowed::of(None) }.run().await;
    assert_eq!(compacted(&run), [] as [u32; 0]);
    let Some(Outcome::Failed { message, .. }) = run.outcome() else { panic!("{}", run.transcript()) };
    assert_eq!(
        message,
        "the conversation is too long for windowed, and no more of it can be left out: that is too long for me; \
         go on with a model that has a larger context, or begin a new session"
    );
    let run = Windowed { is_too_long: |request| request.turn >= 3, ..Windowed::of(None) }.run().await;
    assert_eq!((compacted(&run), inputs(&run).len()), (vec![3], 4));
    let Some(Outcome::Failed { message, .. }) = run.outcome() else { panic!("{}", run.transcript()) };
    assert!(message.contains("no more of it can be left out"), "{message}");
}

#[tokio::test]
async fn a_window_that_holds_not_even_the_beginning_is_not_asked_for_nothing() {
    let mut driver = Windowed::of(Some(300)).stage().open(Start::New).await;
    driver.send(PROMPT, Delivery::FollowUp).await;
    driver.rest().await;
    assert_eq!(driver.model().requests().len(), 0);
    let run = driver.leave().await;
    let Some(Outcome::Failed { message, .. }) = run.outcome() else { panic!("{}", run.transcript()) };
    assert!(message.starts_with("windowed takes 300 tokens, and the conversation has about "), "{message}");
}

#[tokio::test]
async fn an_answer_is_no_longer_than_the_window_leaves() {
    let mut windowed = Windowed::of(Some(20_000));
    windowed.facts.max_output = 19_000;
    let mut driver = windowed.stage().open(Start::New).await;
    driver.send(PROMPT, Delivery::FollowUp).await;
    driver.rest().await;
    let asked = driver.model().requests();
    let run = driver.leave().await;
    let input = inputs(&run)[0];
    assert_eq!(asked[0].max_output, Some(u32::try_from(20_000 - input).unwrap()));
    assert!(asked.iter().all(|request| request.max_output >= Some(4_000)));
}
