//! The Copilot SDKs with the binary: the same checks in both languages, with the same script.

use testkit::binary::{BinaryExit, BinaryFixture, BinaryInvocation, sdk};
use testkit::server::ModelServer;

use crate::fixture;

/// A language with an SDK.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Language {
    Node,
    Python,
}

/// A test program, with the adapter in place of the agent that the SDK would start.
pub(crate) fn program(fixture: &BinaryFixture, language: Language, name: &str) -> BinaryInvocation {
    let invocation = match language {
        Language::Node => sdk::node(fixture, &super::program(&format!("copilot_node/{name}.mjs"))),
        Language::Python => sdk::python(fixture, &super::program(&format!("copilot_py/{name}.py"))),
    };
    invocation.env("COPILOT_CLI_PATH", sdk::adapters(fixture).join("bosun-copilot"))
}

/// Runs a program and checks that all its checks passed.
#[track_caller]
pub(super) fn holds(language: Language, name: &str, script: &str) {
    let fixture = fixture();
    fixture.script(script);
    all_held(program(&fixture, language, name).run());
}

/// Fails unless the program succeeded and printed a line for each passed check.
#[track_caller]
pub(crate) fn all_held(ended: BinaryExit) {
    let ended = ended.expect(0);
    let lines = ended.json_lines();
    assert!(!lines.is_empty() && lines.iter().all(|line| line["held"].is_string()), "{ended:#?}");
}

const TALK: &str = r#"
version: 1
rules:
  - when: { prompt: "^stream" }
    answer: [drip: { every: 2ms, size: 5 }, say: These words come in pieces.]
  - when: { prompt: "^never end" }
    answer: [say: I begin, hang: true]
  - when: { prompt: "^fail" }
    fail: { class: terminal, message: the model is out of order }
  - when: { prompt: "^count slowly" }
    answer: [call: { tool: shell, input: { command: "until [ -e faster ]; do sleep 0.01; done" } }]
  - answer: [say: "You said: ${prompt}"]
"#;

#[test]
fn node_creates_streams_steers_aborts_lists_and_deletes() {
    holds(Language::Node, "talk", TALK);
}

#[test]
fn python_creates_streams_steers_aborts_lists_and_deletes() {
    holds(Language::Python, "talk", TALK);
}

const TOOLS: &str = r#"
version: 1
rules:
  - when: { answered: { tool: lookup_issue, status: done } }
    answer: [say: "The tracker says: ${answer}"]
  - when: { answered: { tool: lookup_issue } }
    answer: [say: "It failed: ${answer}"]
  - when: { answered: { status: denied } }
    answer: [say: "Denied: ${answer}"]
  - when: { answered: { tool: create } }
    answer: [say: It is written.]
  - when: { answered: { tool: shell } }
    answer: [say: "It ran: ${answer}"]
  - when: { answered: { tool: ask_user } }
    answer: [say: "You chose ${answer}"]
  - when: { prompt: "^look up (\\S+)" }
    answer: [call: { tool: lookup_issue, input: { id: "${1}" } }]
  - when: { prompt: "^write (\\S+)" }
    answer: [call: { tool: create, input: { path: "${1}", content: words } }]
  - when: { prompt: "^run (.*)" }
    answer: [call: { tool: shell, input: { command: "${1}" } }]
  - when: { prompt: "^ask me" }
    answer: [call: { tool: ask_user, input: { question: "Which colour?", choices: [red, green] } }]
  - answer: [say: "You said: ${prompt}"]
"#;

#[test]
fn node_runs_tools_decides_on_calls_and_answers_questions() {
    holds(Language::Node, "tools", TOOLS);
}

#[test]
fn python_runs_tools_decides_on_calls_and_answers_questions() {
    holds(Language::Python, "tools", TOOLS);
}

const HOOKS: &str = r#"
version: 1
rules:
  - when: { answered: { status: denied } }
    answer: [say: "Denied: ${answer}"]
  - when: { contains: "the password is (\\w+)" }
    answer: [say: "I know: ${1}."]
  - when: { answered: { tool: create } }
    answer: [say: It is written.]
  - when: { answered: { tool: task } }
    answer: [say: Somebody came back.]
  - when: { path: /root/somebody }
    answer: [say: Here I am.]
  - when: { prompt: "write (\\S+)" }
    answer: [call: { tool: create, input: { path: "${1}", content: words } }]
  - when: { prompt: "^view (\\S+)" }
    answer: [call: { tool: view, input: { path: "${1}" } }]
  - when: { prompt: "^send somebody" }
    answer:
      - call:
          tool: task
          input: { description: Goes, prompt: go, agent_type: general-purpose, name: somebody, mode: sync }
  - answer: [say: I know nothing.]
"#;

#[test]
fn node_hooks_block_change_and_add_context() {
    holds(Language::Node, "hooks", HOOKS);
}

#[test]
fn python_hooks_block_change_and_add_context() {
    holds(Language::Python, "hooks", HOOKS);
}

const SESSIONS: &str = r#"
version: 1
rules:
  - when: { prompt: "^what was it", contains: "remember (\\w+)" }
    answer: [say: "It was ${1}."]
  - when: { prompt: "^who are you" }
    answer: [say: I am the first.]
  - when: { prompt: "^add up" }
    answer: [say: '{"total": 42}']
  - when: { system: "word of the day is (\\w+)", prompt: "^which word" }
    answer: [say: "It is ${1}."]
  - when: { system: "^You are a parrot" }
    answer: [say: Parrots know no words.]
  - answer: [say: Noted.]
"#;

fn sessions(language: Language) {
    let fixture = fixture();
    fixture.script(SESSIONS);
    let other = fixture.path("other.yaml");
    std::fs::write(&other, "version: 1\nrules:\n  - answer: [say: I am the second.]\n").unwrap();
    let model = format!("script/{}", other.display());
    all_held(program(&fixture, language, "sessions").env("OTHER_MODEL", model).run());
}

#[test]
fn node_resumes_forks_switches_models_and_gets_structured_answers() {
    sessions(Language::Node);
}

#[test]
fn python_resumes_forks_switches_models_and_gets_structured_answers() {
    sessions(Language::Python);
}

const SERVERS: &str = r#"
version: 1
rules:
  - when: { answered: { tool: mcp__calc__add, status: done } }
    answer: [say: "The sum: ${answer}"]
  - when: { answered: { tool: mcp__calc__add } }
    answer: [say: "It failed: ${answer}"]
  - when: { answered: { tool: task } }
    answer: [say: "${answer}"]
  - when: { path: /root/adder }
    answer: [call: { tool: mcp__calc__add, input: { a: 2, b: 3 } }]
  - when: { prompt: "^add two and three" }
    answer: [call: { tool: mcp__calc__add, input: { a: 2, b: 3 } }]
  - when: { prompt: "^have it added" }
    answer:
      - call: { tool: task, input: { description: Adds, prompt: add, agent_type: adder, name: adder, mode: sync } }
  - answer: [say: "You said: ${prompt}"]
"#;

fn servers(language: Language) {
    let fixture = fixture();
    fixture.script(SERVERS);
    let (as_program, at_url) = super::calculators();
    let program = program(&fixture, language, "servers").env("MCP_SERVER", super::as_json(&as_program));
    all_held(program.env("MCP_URL", at_url.url()).run());
}

#[test]
fn node_has_servers_that_are_programs_and_addresses() {
    servers(Language::Node);
}

#[test]
fn python_has_servers_that_are_programs_and_addresses() {
    servers(Language::Python);
}

fn provider(language: Language) {
    let script = "version: 1\nrules:\n  - answer: [say: \"Served: ${prompt}\"]\n";
    let server = ModelServer::script(script).key("sk-client").start();
    let fixture = fixture();
    let program = program(&fixture, language, "byok").without_env("BOSUN_MODEL").env("PROVIDER_KEY", "sk-client");
    all_held(program.env("PROVIDER_URL", server.openai_url()).env("MESSAGES_URL", server.url()).run());
}

#[test]
fn node_brings_its_own_provider() {
    provider(Language::Node);
}

#[test]
fn python_brings_its_own_provider() {
    provider(Language::Python);
}

#[test]
fn node_serves_two_clients_on_a_port_with_a_token() {
    holds(Language::Node, "two_clients", TOOLS);
}

#[test]
fn python_serves_two_clients_on_a_port_with_a_token() {
    holds(Language::Python, "two_clients", TOOLS);
}

/// The programs name their own model; the model chosen by the user answers.
fn quick_start(language: Language) {
    let fixture = fixture();
    fixture.script("version: 1\nrules:\n  - answer: [say: \"2 + 2 = 4\"]\n");
    let ended = program(&fixture, language, "quick_start").run().expect(0);
    assert_eq!(ended.stdout, "2 + 2 = 4\n", "{ended:#?}");
}

#[test]
fn the_first_steps_with_node_run_unchanged() {
    quick_start(Language::Node);
}

#[test]
fn the_first_steps_with_python_run_unchanged() {
    quick_start(Language::Python);
}
