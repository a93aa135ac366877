use protocol::{Attempt, CancelBy, Kind, StopReason, Turn};

use super::*;

fn id(n: u128) -> TaskId {
    TaskId::new(format!("{n:032x}").parse().unwrap())
}

/// A roster with a root and an agent of it, which has read these events.
fn roster(events: Vec<Event>) -> Roster {
    let agent = TaskSpec { parent: Some(id(1)), ..TaskSpec::new(Kind::Agent, "worker", "one") };
    let roster = Roster::default();
    let made = [(1, TaskSpec::new(Kind::Main, "main", "root")), (2, agent)];
    let made = made.into_iter().map(|(task, spec)| (task, Event::TaskCreated(Box::new(spec))));
    for (task, event) in made.chain(events.into_iter().map(|event| (2, event))) {
        roster.read(&Entry { task: id(task), at: At(7), event });
    }
    roster
}

fn started(activation: u32) -> Event {
    Event::ActivationStarted { activation: Activation(activation), attempt: Attempt(1) }
}

fn said(text: &str) -> Event {
    Event::TurnAnswered {
        turn: Turn(1),
        content: vec![Block::Text { text: text.into() }],
        stop: StopReason::End,
        usage: Usage::default(),
        cost: Cost::ZERO,
        model: "m".into(),
    }
}

fn ended(activation: u32, text: &str) -> Event {
    Event::ActivationEnded { activation: Activation(activation), outcome: Outcome::Completed, text: text.into() }
}

fn finished() -> Event {
    Event::TaskFinished { outcome: Outcome::Cancelled { by: CancelBy::User } }
}

fn endings(roster: &Roster) -> Vec<(u32, &'static str)> {
    let all = |known: &Known| known.endings.iter().map(|(at, ending)| (at.0, ending.outcome.word())).collect();
    roster.known(id(2), all).unwrap()
}

#[test]
fn the_call_that_started_a_task_hears_its_first_result_whatever_came_after() {
    let roster = roster(vec![started(1), ended(1, "first"), Event::TaskRequeued, started(2), ended(2, "second")]);
    let first = roster.known(id(2), |known| known.first().map(|ending| ending.text.as_str().to_owned()));
    assert_eq!(first.flatten().as_deref(), Some("first"));
}

#[test]
fn an_activation_that_never_began_has_an_end_and_one_at_rest_has_no_other() {
    assert_eq!(endings(&roster(vec![finished()])), [(1, "cancelled")]);
    assert_eq!(endings(&roster(vec![started(1), ended(1, "done"), finished()])), [(1, "completed")]);
    let waiting = roster(vec![started(1), ended(1, "done"), Event::TaskRequeued, finished()]);
    assert_eq!(endings(&waiting), [(1, "completed"), (2, "cancelled")]);
}

#[test]
fn the_latest_words_of_an_activation_are_known_until_it_ends() {
    let events = vec![started(1), said("a"), said(""), said("b"), Event::TaskInterrupted, Event::TaskRequeued];
    assert_eq!(roster(events.clone()).said(id(2)), "b");
    let over = events.into_iter().chain([ended(1, "b")]).collect();
    assert_eq!(roster(over).said(id(2)), "");
}
