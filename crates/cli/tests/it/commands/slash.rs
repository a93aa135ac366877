//! Slash commands on the command line.

use std::fs;

use insta::assert_snapshot;
use protocol::{Event, MailBody};
use testkit::binary::{BinaryFixture, BinaryInvocation};
use testkit::server::ModelServer;

use crate::stage;

/// Repeats what it is told.
const ECHO: &str = "
version: 1
rules:
  - when: { agent: explore }
    answer: [say: found it]
  - answer: [say: \"<${prompt}>\"]
";

fn write(stage: &BinaryFixture, file: &str, text: &str) {
    let path = stage.path(file);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// What the first message of the newest session says to the model, and to people.
fn message(stage: &BinaryFixture) -> (String, Option<String>) {
    let message = |event| match event {
        Event::MailAdmitted { body: MailBody::Text { text, display, .. }, .. } => Some((text, display)),
        _other => None,
    };
    stage.log(&stage.newest()).into_iter().find_map(|envelope| message(envelope.entry.event)).unwrap()
}

#[test]
fn a_command_that_does_not_exist_is_told_without_asking_a_model() {
    let stage = stage();
    let server = ModelServer::script(ECHO).key(BinaryInvocation::KEY).start();
    let run = |prompt: &str| stage.prompt_over(&server, "anthropic/test-model", prompt).run().expect(2);
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
    assert!(stage.sessions().is_empty(), "no session is left behind");
}

#[test]
fn commands_that_tell_something_leave_no_session() {
    let stage = stage();
    stage.script(ECHO);
    let told = |prompt: &str| stage.bosun(["-p", prompt]).run().expect(0).stdout;
    assert!(told("/help").contains("/fleet [PROMPT]"));
    assert!(told("/agents").contains("explore: "));
    assert_eq!(told("/todos"), "there are no todos\n");
    assert_eq!(told("/tasks"), "/root (main): idle, 0 turns\n");
    assert!(told("/model").starts_with("the model is script/"));
    assert!(told("/context").contains("tokens"));
    assert!(told("/cost").starts_with("turns: 0; "));
    assert!(told("/compact").contains("too short"));
    assert!(told("/share page.md").ends_with("page.md\n"));
    assert!(fs::read_to_string(stage.path("page.md")).unwrap().starts_with("# Session "));
    assert!(stage.sessions().is_empty());
    let json = stage.bosun(["-p", "/todos", "--output-format", "json"]).run().expect(0).json();
    assert_eq!(json, serde_json::json!({ "type": "command", "text": "there are no todos" }));
}

#[test]
fn commands_that_are_prompts_reach_the_model_and_people_see_what_they_typed() {
    let stage = stage();
    stage.script(ECHO);
    for (prompt, words, display) in [
        ("/fleet port it", "User request: port it", "Fleet deployed: port it"),
        ("/fleet", "You lead a fleet", "Fleet deployed"),
        ("/review main..HEAD", "`code-review` agent", "/review main..HEAD"),
        ("/security-review", "`security-review` agent", "/security-review"),
        ("/research tides", "Topic: tides", "/research tides"),
    ] {
        let said = stage.prompt(prompt).run().expect(0).stdout;
        assert!(said.contains(words), "{prompt}: {said}");
        let (text, shown) = message(&stage);
        assert!(text.contains(words) && shown.as_deref() == Some(display), "{prompt}: {shown:?}");
        assert_eq!(stage.sessions()[0]["title"], display);
    }
    let exported = stage.bosun(["sessions", "export", &stage.newest()]).run().expect(0).stdout;
    assert!(exported.contains("## User\n\n/research tides\n"), "{exported}");
}

#[test]
fn commands_go_on_with_a_session_and_change_nothing_in_it() {
    let stage = stage();
    stage.script(ECHO);
    stage.prompt("hello").run().expect(0);
    let told = |prompt: &str| stage.bosun(["--continue", "-p", prompt]).run().expect(0).stdout;
    assert_eq!(told("/tasks"), "/root (main): idle, 1 turn\n");
    assert!(told("/cost").starts_with("turns: 1; "));
    assert_eq!(stage.sessions().len(), 1);
}

#[test]
fn an_agent_that_a_command_starts_is_waited_for() {
    let stage = stage();
    stage.script(ECHO);
    let ended = stage.prompt("/agent explore find it").run().expect(0);
    assert!(ended.stdout.contains("found it") && ended.stderr.contains("works in the background"), "{ended:?}");
    stage.prompt("/agent nobody find it").run().expect(2).says(&["there is no agent `nobody`"]);
    assert_eq!(stage.sessions().len(), 1);
}

#[test]
fn a_project_s_commands_run_when_the_project_is_trusted() {
    let stage = stage();
    stage.script(ECHO);
    write(&stage, ".claude/commands/git/ship.md", "---\nargument-hint: WHAT\n---\nShip $1. !`cat version`\n");
    write(&stage, ".claude/commands/fleet.md", "Mine.\n");
    write(&stage, ".claude/commands/broken.md", "---\ndescription: x\n");
    write(&stage, "version", "1.2\n");
    let refused = stage.bosun(["-p", "/git:ship it"]).run().expect(2);
    refused.says(&["/git:ship is in ", "you have not trusted the project", "`bosun trust`"]);
    let check = stage.bosun(["catalog", "check"]).run().expect(0).stdout;
    assert!(
        check.contains("ship.md: this slash command is ignored, since you have not trusted the project"),
        "{check}"
    );
    stage.bosun(["trust", "--yes"]).run().expect(0);
    let said = stage.prompt("/git:ship it").run().expect(0).stdout;
    assert!(said.contains("<Ship it. ") && said.contains("> 1.2"), "{said}");
    let check = stage.bosun(["catalog", "check"]).run().expect(1).stdout;
    assert!(check.contains("broken.md:1:1: its frontmatter is not closed"), "{check}");
    assert!(check.contains("/fleet is built in, so this one is not used; rename it"), "{check}");
    let list = stage.bosun(["catalog", "list", "--json"]).run().expect(0).json();
    let names: Vec<&str> = list["commands"].as_array().unwrap().iter().filter_map(|one| one["name"].as_str()).collect();
    assert_eq!(names, ["fleet", "git:ship"]);
    let shown = stage.bosun(["catalog", "show", "/git:ship"]).run().expect(0).stdout;
    assert!(shown.contains("/git:ship WHAT") && shown.contains("Ship $1."), "{shown}");
    assert!(stage.bosun(["-p", "/help"]).run().expect(0).stdout.contains("/git:ship WHAT"));
    // What is changed after it was trusted is not run.
    write(&stage, ".claude/commands/git/ship.md", "!`touch ran`\n");
    stage.prompt("/git:ship it").run().expect(2).says(&["`bosun trust`"]);
    assert!(!stage.path("ran").exists());
}

#[test]
fn whoever_manages_the_machine_forbids_commands_in_texts() {
    let stage = stage();
    stage.script(ECHO);
    // The first run makes a home that nobody else can read.
    stage.bosun(["-p", "/help"]).run().expect(0);
    fs::create_dir(stage.home().join("commands")).unwrap();
    fs::write(stage.home().join("commands/where.md"), "On !`cat branch`.").unwrap();
    write(&stage, "branch", "main\n");
    let managed = stage.path("managed.toml");
    fs::write(&managed, "[managed]\nforbid = ['skill-shell']\n").unwrap();
    let said = stage.prompt("/where").env("BOSUN_MANAGED", &managed).run().expect(0).stdout;
    assert!(said.contains("[not run: cat branch: the administrator of this machine forbids"), "{said}");
    assert!(stage.prompt("/where").run().expect(0).stdout.contains("> main"));
}

#[test]
fn commands_are_listed_and_unknown_ones_told_without_a_model() {
    let stage = stage();
    assert!(stage.bosun(["-p", "/help"]).run().expect(0).stdout.contains("/fleet [PROMPT]"));
    stage.bosun(["-p", "/flete port it"]).run().expect(2).says(&["did you mean /fleet?"]);
    stage.bosun(["-p", "/fleet port it"]).run().expect(2).says(&["cannot read the script"]);
}
