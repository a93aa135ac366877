//! The Claude Agent SDKs for Python and TypeScript: the same checks, written in both languages.

use std::fs;
use std::path::Path;

use testkit::binary::{BinaryFixture, BinaryInvocation, sdk};

use super::program;
use crate::fixture;

/// The script of the model for all of these programs.
pub(super) const SCRIPT: &str = include_str!("../../sdk/claude.yaml");

#[track_caller]
pub(super) fn passes(run: fn(&BinaryFixture, &str) -> BinaryInvocation, group: &str, check: &str) {
    let fixture = fixture();
    fixture.script(SCRIPT);
    let ended = run(&fixture, group).args([check]).run().expect(0);
    assert_eq!(ended.json()["passed"], check, "{ended:#?}");
}

#[track_caller]
pub(super) fn python(fixture: &BinaryFixture, group: &str) -> BinaryInvocation {
    sdk::python(fixture, &program(&format!("claude_py/{group}.py")))
}

#[track_caller]
pub(super) fn typescript(fixture: &BinaryFixture, group: &str) -> BinaryInvocation {
    sdk::node(fixture, &program(&format!("claude_ts/{group}.mjs")))
}

/// One test per check and language.
macro_rules! checks {
    ($($group:literal: $($test:ident $check:literal),+;)+) => {
        mod python {
            $($(#[test] fn $test() { super::passes(super::python, $group, $check); })+)+
        }
        mod typescript {
            $($(#[test] fn $test() { super::passes(super::typescript, $group, $check); })+)+
        }
    };
}

checks! {
    "talk":
        a_turn_streams "streams",
        a_session_has_many_turns "converses",
        prompts_come_as_a_stream "takes_a_stream_of_prompts",
        every_block_is_a_frame "sends_one_frame_per_block",
        the_model_is_switched "switches_the_model",
        a_turn_is_interrupted "interrupts",
        turns_are_limited "limits_turns",
        money_is_limited "limits_money";
    "tools":
        the_program_has_tools "calls_a_tool_of_the_program",
        tools_of_the_program_need_permission "asks_before_a_tool_of_the_program",
        the_program_allows_denies_and_changes_calls "asks_for_permission",
        a_denial_interrupts "stops_at_a_denial_that_interrupts",
        hooks_block_and_add_context "asks_hooks_before_and_after",
        output_is_structured "gives_structured_output";
    "modes":
        the_permission_mode_changes "changes_the_permission_mode",
        unpermitted_calls_are_denied "denies_unpermitted_calls",
        an_approved_plan_is_carried_out "leaves_plan_mode_when_a_plan_is_approved",
        a_refused_plan_keeps_plan_mode "stays_in_plan_mode_when_a_plan_is_refused",
        questions_are_answered "answers_questions_of_the_model";
    "agents":
        the_program_has_agents "starts_an_agent_of_the_program",
        an_agent_in_the_background_wakes_its_parent "wakes_for_an_agent_in_the_background",
        an_agent_is_stopped "stops_an_agent";
    "sessions":
        a_session_is_resumed "resumes",
        a_missing_session_is_not_resumed "refuses_to_resume_what_is_not_there",
        a_session_is_forked "forks",
        a_session_is_read_again "reads_sessions_again",
        a_conversation_is_cleared "starts_another_conversation",
        a_session_is_resumed_at_a_message "resumes_at_a_message",
        sessions_are_kept_in_a_store "keeps_sessions_in_a_store",
        files_are_rewound "rewinds_files",
        the_context_is_reported "reports_its_context";
}

#[track_caller]
fn passes_with_servers(run: fn(&BinaryFixture, &str) -> BinaryInvocation, check: &str) {
    let fixture = fixture();
    fixture.script(SCRIPT);
    let (as_program, at_url) = super::calculators();
    let program = run(&fixture, "servers").env("MCP_SERVER", super::as_json(&as_program)).env("MCP_URL", at_url.url());
    let ended = program.args([check]).run().expect(0);
    assert_eq!(ended.json()["passed"], check, "{ended:#?}");
}

/// One test per check and language, with MCP servers outside the program.
macro_rules! checks_with_servers {
    ($($python:ident, $typescript:ident: $check:literal;)+) => {
        $(#[test] fn $python() { passes_with_servers(python, $check); })+
        $(#[test] fn $typescript() { passes_with_servers(typescript, $check); })+
    };
}

checks_with_servers! {
    python_uses_servers_outside_the_program, typescript_uses_servers_outside_the_program:
        "uses_servers_outside_the_program";
    python_is_told_of_servers_that_do_not_work, typescript_is_told_of_servers_that_do_not_work:
        "reports_servers_that_do_not_work";
    python_switches_a_server_off_and_on, typescript_switches_a_server_off_and_on: "switches_a_server_off_and_on";
    python_gives_an_agent_a_server_of_its_own, typescript_gives_an_agent_a_server_of_its_own:
        "gives_an_agent_a_server_of_its_own";
}

/// The Python SDK has no call for it.
#[test]
fn typescript_sets_servers_while_the_session_runs() {
    passes_with_servers(typescript, "sets_servers_while_the_session_runs");
}

/// The output of the quick-start programs of both SDKs.
const FIRST_WORDS: &str = "\
Agent: Two and two is four.
Turns: 1
Agent: The file is there.
Turns: 2
Agent: The tool greets: Hello, Alice!
Turns: 2
Agent: A hook forbids it.
Turns: 2
";

#[track_caller]
fn says_first_words(run: fn(&BinaryFixture, &Path) -> BinaryInvocation, name: &str) {
    let fixture = fixture();
    fixture.script(include_str!("../../sdk/quickstart/claude.yaml"));
    assert_eq!(run(&fixture, &program(name)).run().expect(0).stdout, FIRST_WORDS);
    assert_eq!(fs::read_to_string(fixture.path("hello.txt")).unwrap(), "Hello!\n");
}

#[test]
fn the_first_program_in_python_runs_with_only_a_path_changed() {
    says_first_words(sdk::python, "quickstart/claude.py");
}

#[test]
fn the_first_program_in_typescript_runs_with_only_a_path_changed() {
    says_first_words(sdk::node, "quickstart/claude.mjs");
}
