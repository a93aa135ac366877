//! Conversations that outgrow the model's window: whenever they are compacted, the resulting work is the same.

mod windowed;

use protocol::{Event, MailDelivery, ModelFault, TaskOutcome};
use runtime::SessionStart;

use windowed::{FIRST_COMPACTABLE_TURN, PROMPT, TURNS, Windowed, compacted_turns, digests, inputs, window, work};

#[tokio::test]
async fn the_work_is_the_same_whichever_turn_is_compacted_first() {
    let unlimited = Windowed::with_context(None).run().await;
    assert_eq!((unlimited.outcome(), compacted_turns(&unlimited)), (Some(&TaskOutcome::Completed), Vec::new()));
    let (inputs, expected) = (inputs(&unlimited), work(&unlimited));
    assert_eq!(expected.1["all.txt"], "three\nbbuilt\n");
    assert_eq!(inputs.len(), TURNS as usize);
    let (mut first, mut without_digest) = (Vec::new(), 0);
    for turn in FIRST_COMPACTABLE_TURN..=TURNS {
        let run = Windowed::with_context(Some(window(&inputs, turn))).run().await;
        assert_eq!(run.outcome(), Some(&TaskOutcome::Completed), "{}", run.transcript());
        assert_eq!(work(&run), expected);
        first.push(compacted_turns(&run)[0]);
        without_digest += compacted_turns(&run).len() - digests(&run).len();
    }
    assert!(without_digest > 0);
    assert_eq!(first, (FIRST_COMPACTABLE_TURN..=TURNS).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_window_that_is_always_too_small_still_completes_the_work() {
    let unlimited = Windowed::with_context(None).run().await;
    let run = Windowed::with_context(Some(inputs(&unlimited)[0])).run().await;
    assert_eq!(run.outcome(), Some(&TaskOutcome::Completed));
    assert_eq!(work(&run), work(&unlimited));
    assert_eq!(compacted_turns(&run), (FIRST_COMPACTABLE_TURN..=TURNS).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_digest_names_the_task_the_todos_and_what_runs() {
    let unlimited = Windowed::with_context(None).run().await;
    let run = Windowed::with_context(Some(inputs(&unlimited)[0])).run().await;
    let digests = digests(&run);
    let of_turn = |turn: u32| digests[(turn - FIRST_COMPACTABLE_TURN) as usize];
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
async fn the_next_owner_sends_the_same_request_after_a_compaction() {
    let unlimited = Windowed::with_context(None).run().await;
    let inputs = inputs(&unlimited);
    // In the turns between, the background command runs, which no new owner takes over.
    for turn in [FIRST_COMPACTABLE_TURN, 8, 9, TURNS] {
        let windowed = Windowed::with_context(Some(window(&inputs, turn))).hanging_at(turn);
        let stage = windowed.stage();
        let driver = stage.open(SessionStart::New).await;
        driver.send(PROMPT, MailDelivery::FollowUp).await;
        driver.asked(turn as usize).await;
        let dead = driver.crash().await;
        assert_eq!(compacted_turns(&dead), [turn]);
        let mut driver = stage.open(SessionStart::Resume(dead.id())).await;
        driver.resume().await;
        driver.asked(turn as usize + 1).await;
        let requests = driver.model().requests();
        let [.., before, after] = &requests[..=turn as usize] else { panic!() };
        assert_eq!(before.messages, after.messages);
        driver.rest().await;
        let run = driver.leave().await;
        assert_eq!(work(&run), work(&unlimited));
    }
}

#[tokio::test]
async fn a_request_that_is_too_long_is_sent_again_compacted() {
    let unlimited = Windowed::with_context(None).run().await;
    let run = Windowed::with_context(None).refusing(|request| request.messages.len() > 8).run().await;
    assert_eq!(run.outcome(), Some(&TaskOutcome::Completed), "{}", run.transcript());
    assert_eq!(work(&run), work(&unlimited));
    let failed = |event: &Event| matches!(event, Event::TurnFailed { fault: ModelFault::TooLong, .. });
    assert_eq!(run.count(failed), compacted_turns(&run).len());
    assert!(digests(&run).len() >= 2);
}

#[tokio::test]
async fn requests_that_stay_too_long_end_the_run_with_advice() {
    let run = Windowed::with_context(None).refusing(|request| request.turn >= 2).run().await;
    assert_eq!(compacted_turns(&run), [] as [u32; 0]);
    let Some(TaskOutcome::Failed { message, .. }) = run.outcome() else { panic!("{}", run.transcript()) };
    assert_eq!(
        message,
        "the conversation is too long for windowed and cannot be compacted further: that is too long for me; \
         continue with a model that has a larger context window, or start a new session"
    );
    let run = Windowed::with_context(None).refusing(|request| request.turn >= 3).run().await;
    assert_eq!((compacted_turns(&run), inputs(&run).len()), (vec![3], 4));
    let Some(TaskOutcome::Failed { message, .. }) = run.outcome() else { panic!("{}", run.transcript()) };
    assert!(message.contains("cannot be compacted further"), "{message}");
}

#[tokio::test]
async fn a_window_too_small_for_the_first_request_gets_no_request() {
    let mut driver = Windowed::with_context(Some(300)).stage().open(SessionStart::New).await;
    driver.send(PROMPT, MailDelivery::FollowUp).await;
    driver.rest().await;
    assert_eq!(driver.model().requests().len(), 0);
    let run = driver.leave().await;
    let Some(TaskOutcome::Failed { message, .. }) = run.outcome() else { panic!("{}", run.transcript()) };
    assert!(message.starts_with("windowed accepts 300 tokens, but the conversation has at least "), "{message}");
}

#[tokio::test]
async fn an_answer_is_limited_to_the_rest_of_the_window() {
    let mut driver = Windowed::with_context(Some(20_000)).answering(19_000).stage().open(SessionStart::New).await;
    driver.send(PROMPT, MailDelivery::FollowUp).await;
    driver.rest().await;
    let requests = driver.model().requests();
    let run = driver.leave().await;
    let input = inputs(&run)[0];
    assert_eq!(requests[0].max_output_tokens, Some(u32::try_from(20_000 - input).unwrap()));
    assert!(requests.iter().all(|request| request.max_output_tokens >= Some(4_000)));
}
