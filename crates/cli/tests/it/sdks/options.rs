//! Every option of the SDKs' published types: the programs send what the tables in `tests/sdk/options` say, and fail if
//! an SDK has an option that its table lacks. `docs/adapters.md` is made of the same tables.

use testkit::binary::{BinaryFixture, BinaryInvocation};

use super::claude;
use super::copilot::{Language, all_held, program as copilot_program};
use super::program;
use crate::fixture;

/// A model that answers at once.
const HELLO: &str = "version: 1\nrules:\n  - answer: [say: Hello.]\n";

#[track_caller]
fn claude_fits(run: fn(&BinaryFixture, &str) -> BinaryInvocation) {
    let fixture = fixture();
    fixture.script(claude::SCRIPT);
    let check = "serves_refuses_or_warns_of_every_option";
    let ended = run(&fixture, "options").env("OPTIONS", program("options/claude.jsonl")).args([check]).run().expect(0);
    assert_eq!(ended.json()["passed"], check, "{ended:#?}");
}

#[track_caller]
fn copilot_fits(language: Language) {
    let fixture = fixture();
    fixture.script(HELLO);
    let options = program("options/copilot.jsonl");
    all_held(copilot_program(&fixture, language, "options").env("OPTIONS", options).run());
}

#[test]
fn every_option_of_claude_in_python_is_served_refused_or_warned_of() {
    claude_fits(claude::python);
}

#[test]
fn every_option_of_claude_in_typescript_is_served_refused_or_warned_of() {
    claude_fits(claude::typescript);
}

#[test]
fn every_option_of_copilot_in_node_is_served_refused_or_warned_of() {
    copilot_fits(Language::Node);
}

#[test]
fn every_option_of_copilot_in_python_is_served_refused_or_warned_of() {
    copilot_fits(Language::Python);
}
