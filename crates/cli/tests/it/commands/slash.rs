//! Slash commands on the command line.

use std::fs;

use insta::assert_snapshot;
use protocol::{Event, MailBody};
use testkit::binary::{BinaryFixture, BinaryInvocation};
use testkit::server::ModelServer;

use crate::fixture;

/// Repeats the prompt.
const ECHO: &str = "
version: 1
rules:
  - when: { agent: explore }
    answer: [say: found it]
  - answer: [say: \"<${prompt}>\"]
";

fn write(fixture: &BinaryFixture, file: &str, text: &str) {
    let path = fixture.path(file);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// The text of the newest session's first message for the model, and for users.
fn message(fixture: &BinaryFixture) -> (String, Option<String>) {
    let message = |event| match event {
        Event::MailAdmitted { body: MailBody::Text { text, display, .. }, .. } => Some((text, display)),
        _other => None,
    };
    fixture.log(&fixture.newest()).into_iter().find_map(|envelope| message(envelope.entry.event)).unwrap()
}

#[test]
fn unknown_command_is_reported_without_a_model_request() {
    let fixture = fixture();
    let server = ModelServer::script(ECHO).key(BinaryInvocation::KEY).start();
    let run = |prompt: &str| fixture.prompt_over(&server, "anthropic/test-model", prompt).run().expect(2);
    let unknown = run("/flete port it");
    assert_snapshot!(unknown.stderr, @r"
    error: there is no /flete; did you mean /fleet?
    hint: `bosun -p /help` lists all commands; start with a space to send it to the model
    ");
    assert_eq!(unknown.stdout, "");
    run("/frobnicate").says(&["there is no /frobnicate; /help lists all commands"]);
    run("/every 5m look").says(&["/every is not in this version"]);
    run("/after 5m look").says(&["/after is not in this version"]);
    run("/subconscious run").says(&["/subconscious is not in this version"]);
    run("/exit").says(&["/exit works only in a conversation at a terminal"]);
    run("/model a/b").says(&["the model `a/b` cannot be used: "]);
    run("/research").says(&["/research: name the topic"]);
    assert_eq!(server.requests().len(), 0);
    assert!(fixture.sessions().is_empty(), "no session is left behind");
}

#[test]
fn informational_commands_leave_no_session() {
    let fixture = fixture();
    fixture.script(ECHO);
    let output = |prompt: &str| fixture.bosun(["-p", prompt]).run().expect(0).stdout;
    assert!(output("/help").contains("/fleet [PROMPT]"));
    assert!(output("/agents").contains("explore: "));
    assert_eq!(output("/todos"), "there are no todos\n");
    assert_eq!(output("/tasks"), "/root (main): idle, 0 turns\n");
    assert!(output("/model").starts_with("the model is script/"));
    assert!(output("/context").contains("tokens"));
    assert!(output("/cost").starts_with("turns: 0; "));
    assert!(output("/compact").contains("too short"));
    assert!(output("/share page.md").ends_with("page.md\n"));
    assert!(fs::read_to_string(fixture.path("page.md")).unwrap().starts_with("# Session "));
    assert!(fixture.sessions().is_empty());
    let json = fixture.bosun(["-p", "/todos", "--output-format", "json"]).run().expect(0).json();
    assert_eq!(json, serde_json::json!({ "type": "command", "text": "there are no todos" }));
}

#[test]
fn prompt_commands_reach_the_model_and_show_the_typed_text() {
    let fixture = fixture();
    fixture.script(ECHO);
    for (prompt, expected, display) in [
        ("/review main..HEAD", "`code-review` agent", "/review main..HEAD"),
        ("/security-review", "`security-review` agent", "/security-review"),
        ("/research tides", "Topic: tides", "/research tides"),
    ] {
        let output = fixture.prompt(prompt).run().expect(0).stdout;
        assert!(output.contains(expected), "{prompt}: {output}");
        let (text, shown) = message(&fixture);
        assert!(text.contains(expected) && shown.as_deref() == Some(display), "{prompt}: {shown:?}");
        assert_eq!(fixture.sessions()[0]["title"], display);
    }
    let exported = fixture.bosun(["sessions", "export", &fixture.newest()]).run().expect(0).stdout;
    assert!(exported.contains("## User\n\n/research tides\n"), "{exported}");
}

#[test]
fn informational_commands_do_not_change_a_resumed_session() {
    let fixture = fixture();
    fixture.script(ECHO);
    fixture.prompt("hello").run().expect(0);
    let output = |prompt: &str| fixture.bosun(["--continue", "-p", prompt]).run().expect(0).stdout;
    assert_eq!(output("/tasks"), "/root (main): idle, 1 turn\n");
    assert!(output("/cost").starts_with("turns: 1; "));
    assert_eq!(fixture.sessions().len(), 1);
}

#[test]
fn a_session_is_shared_after_a_command_too() {
    let fixture = fixture();
    fixture.script(ECHO);
    fixture.prompt("/context").args(["--share", "none.md"]).run().expect(0).says(&["nothing is shared"]);
    fixture.prompt("/help").args(["--share", "none.md"]).run().expect(0).says(&["nothing is shared"]);
    assert!(!fixture.path("none.md").exists());
    fixture.prompt("hello").run().expect(0);
    fixture.bosun(["--continue", "-p", "/cost", "--share", "run.md"]).run().expect(0).says(&["shared as run.md"]);
    assert!(fs::read_to_string(fixture.path("run.md")).unwrap().contains("<hello>"));
}

#[test]
fn run_waits_for_an_agent_started_by_a_command() {
    let fixture = fixture();
    fixture.script(ECHO);
    let ended = fixture.prompt("/agent explore find it").run().expect(0);
    assert!(ended.stdout.contains("found it") && ended.stderr.contains("works in the background"), "{ended:?}");
    fixture.prompt("/agent nobody find it").run().expect(2).says(&["there is no agent `nobody`"]);
    assert_eq!(fixture.sessions().len(), 1);
}

#[test]
fn project_commands_need_trust() {
    let fixture = fixture();
    fixture.script(ECHO);
    write(&fixture, ".claude/commands/git/ship.md", "---\nargument-hint: WHAT\n---\nShip $1. !`cat version`\n");
    write(&fixture, ".claude/commands/fleet.md", "Mine.\n");
    write(&fixture, ".claude/commands/broken.md", "---\ndescription: x\n");
    write(&fixture, "version", "1.2\n");
    let refused = fixture.bosun(["-p", "/git:ship it"]).run().expect(2);
    refused.says(&["/git:ship is in ", "you have not trusted the project", "`bosun trust`"]);
    let check = fixture.bosun(["catalog", "check"]).run().expect(0).stdout;
    assert!(
        check.contains("ship.md: this slash command is ignored, since you have not trusted the project"),
        "{check}"
    );
    fixture.bosun(["trust", "--yes"]).run().expect(0);
    let output = fixture.prompt("/git:ship it").run().expect(0).stdout;
    assert!(output.contains("<Ship it. ") && output.contains("> 1.2"), "{output}");
    let check = fixture.bosun(["catalog", "check"]).run().expect(1).stdout;
    assert!(check.contains("broken.md:1:1: its frontmatter is not closed"), "{check}");
    assert!(check.contains("/fleet is built in, so this one is not used; rename it"), "{check}");
    let list = fixture.bosun(["catalog", "list", "--json"]).run().expect(0).json();
    let names: Vec<&str> = list["commands"].as_array().unwrap().iter().filter_map(|one| one["name"].as_str()).collect();
    assert_eq!(names, ["fleet", "git:ship"]);
    let shown = fixture.bosun(["catalog", "show", "/git:ship"]).run().expect(0).stdout;
    assert!(shown.contains("/git:ship WHAT") && shown.contains("Ship $1."), "{shown}");
    assert!(fixture.bosun(["-p", "/help"]).run().expect(0).stdout.contains("/git:ship WHAT"));
    // A file changed after it was trusted is not run.
    write(&fixture, ".claude/commands/git/ship.md", "!`touch ran`\n");
    fixture.prompt("/git:ship it").run().expect(2).says(&["`bosun trust`"]);
    assert!(!fixture.path("ran").exists());
}

#[test]
fn managed_settings_forbid_inline_shell_commands() {
    let fixture = fixture();
    fixture.script(ECHO);
    // The first run creates the home.
    fixture.bosun(["-p", "/help"]).run().expect(0);
    fs::create_dir(fixture.home().join("commands")).unwrap();
    fs::write(fixture.home().join("commands/where.md"), "On !`cat branch`.").unwrap();
    write(&fixture, "branch", "main\n");
    let managed = fixture.path("managed.toml");
    fs::write(&managed, "[managed]\nforbid = ['skill-shell']\n").unwrap();
    let output = fixture.prompt("/where").env("BOSUN_MANAGED", &managed).run().expect(0).stdout;
    assert!(output.contains("[not run: cat branch: the administrator of this machine forbids"), "{output}");
    assert!(fixture.prompt("/where").run().expect(0).stdout.contains("> main"));
}

#[test]
fn commands_are_listed_and_checked_without_a_model() {
    let fixture = fixture();
    assert!(fixture.bosun(["-p", "/help"]).run().expect(0).stdout.contains("/fleet [PROMPT]"));
    fixture.bosun(["-p", "/flete port it"]).run().expect(2).says(&["did you mean /fleet?"]);
    fixture.bosun(["-p", "/fleet port it"]).run().expect(2).says(&["cannot read the script"]);
}
