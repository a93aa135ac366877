//! Kill -9 of a program that uses the Claude adapter, and of the adapter itself: durable events are kept, and another
//! program continues the session.

use testkit::binary::{BinaryFixture, PATIENCE, ProcessSignal, commands_with, sdk, within};

use super::claude::{SCRIPT, python, typescript};
use crate::fixture;

type Language = fn(&BinaryFixture, &str) -> testkit::binary::BinaryInvocation;

/// Kills a program in the middle of a turn; a program in the other language continues.
#[track_caller]
fn killed_and_continued(killed: Language, other: Language) {
    let fixture = fixture();
    fixture.script(SCRIPT);
    let mut client = killed(&fixture, "kills").args(["works_until_it_is_killed"]).discard_output().start();
    within(PATIENCE, "the turn is under way", || fixture.path("working").exists());
    client.signal(ProcessSignal::Kill);
    client.wait().expect_killed();
    let adapters = sdk::adapters(&fixture).display().to_string();
    within(PATIENCE, "the adapter leaves with its client", || commands_with(&adapters).is_empty());

    let id = fixture.newest();
    let before = fixture.log(&id);
    other(&fixture, "kills").args(["goes_on"]).run().expect(0);
    let after = fixture.log(&id);
    assert_eq!(after[..before.len()], before[..], "durable events are unchanged");
    let numbers: Vec<u64> = after.iter().map(|envelope| envelope.seq).collect();
    assert_eq!(numbers, (1..).take(after.len()).collect::<Vec<u64>>(), "no gaps");
}

#[test]
fn another_program_continues_the_session_of_a_killed_python_program() {
    killed_and_continued(python, typescript);
}

#[test]
fn another_program_continues_the_session_of_a_killed_typescript_program() {
    killed_and_continued(typescript, python);
}

#[test]
fn a_python_program_goes_on_when_its_adapter_is_killed() {
    super::claude::passes(python, "kills", "outlives_its_adapter");
}

#[test]
fn a_typescript_program_goes_on_when_its_adapter_is_killed() {
    super::claude::passes(typescript, "kills", "outlives_its_adapter");
}
