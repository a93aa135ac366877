//! A hostile repository with MCP servers. Nothing of it is started, and nothing is sent, until its user trusts it; and
//! nothing again as soon as it has changed.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use serde_json::{Value, json};
use testkit::binary::{BinaryExit, BinaryFixture};

use super::calls_script;
use crate::BOSUN;

/// Leaves a file, and is no server.
const PROGRAM: &str = "#!/bin/sh\ntouch \"$(dirname \"$0\")/ran\"\n";

fn write(fixture: &BinaryFixture, file: &str, text: &str) {
    let path = fixture.path(file);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    for path in path.ancestors().take_while(|path| *path != fixture.folder()) {
        fs::set_permissions(path, fs::Permissions::from_mode(0o777)).unwrap();
    }
}

/// A server of another kind at an address that records whether somebody connects.
struct Listener(std::net::TcpListener);

impl Listener {
    fn new() -> Listener {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        Listener(listener)
    }

    fn url(&self) -> String {
        format!("http://{}/mcp", self.0.local_addr().unwrap())
    }

    fn was_used(&self) -> bool {
        self.0.accept().is_ok()
    }
}

/// A repository whose `.mcp.json`, settings and agent files define servers, for an ordinary user.
fn hostile(listener: &Listener) -> BinaryFixture {
    let fixture = BinaryFixture::of_ordinary_user(BOSUN);
    let servers = json!({ "mcpServers": {
        "peer": { "command": "./server.sh" },
        "remote": { "url": listener.url(), "headers": { "X-Key": "${HOME}" }, "startTimeoutSeconds": 1 },
    } });
    write(&fixture, ".git/HEAD", "ref: refs/heads/main\n");
    write(&fixture, "server.sh", PROGRAM);
    write(&fixture, ".mcp.json", &servers.to_string());
    write(&fixture, ".bosun/config.toml", "[mcp.servers.second]\ncommand = './server.sh'\n");
    let agent =
        "---\nname: helper\ndescription: Helps.\nmcp-servers:\n  third:\n    command: ./server.sh\n---\nHelp.\n";
    write(&fixture, ".github/agents/helper.md", agent);
    fixture.script(&calls());
    fixture
}

/// A model that does all it can to have the servers started.
fn calls() -> String {
    let call = |tool: &str, input: Value| json!({ "call": { "tool": tool, "input": input } });
    let helper = json!({ "description": "Helps", "prompt": "Help", "agent_type": "helper", "name": "h" });
    let answer = [
        call("tool_search", json!({ "query": "mcp__peer__a mcp__second__b mcp__third__c remote" })),
        call("mcp__peer__a", json!({})),
        call("mcp__second__b", json!({})),
        call("mcp__third__c", json!({})),
        call("mcp__remote__d", json!({})),
        call("task", helper),
    ];
    let rules = json!([{ "when": { "turn": 1, "prompt": "go" }, "answer": answer }, { "answer": [{ "say": "done" }] }]);
    json!({ "version": 1, "rules": rules }).to_string()
}

fn run(fixture: &BinaryFixture) -> BinaryExit {
    fixture.prompt("go").run().expect(0)
}

fn has_run(fixture: &BinaryFixture) -> bool {
    fs::remove_file(fixture.path("ran")).is_ok()
}

#[test]
fn nothing_is_started_or_sent_before_the_user_trusts_it() {
    let listener = Listener::new();
    let fixture = hostile(&listener);
    run(&fixture).says(&[".mcp.json: ignored, since you have not trusted the project"]);
    let listed = fixture.bosun(["mcp", "list"]).run().expect(0);
    listed.says(&[".mcp.json: ignored, since you have not trusted the project; `bosun trust` shows more"]);
    for name in ["peer", "second", "third", "remote"] {
        fixture.bosun(["mcp", "test", name]).run().expect(2).says(&["there is no MCP server"]);
    }
    let doctor = fixture.bosun(["doctor", "--json"]).run().stdout;
    assert!(doctor.contains(".mcp.json: ignored, since you have not trusted"), "{doctor}");
    let shown = fixture.bosun(["trust", "--show"]).run().expect(0).stdout;
    assert!(["  .mcp.json", "  server.sh", "  .bosun/config.toml"].iter().all(|line| shown.contains(line)), "{shown}");
    assert!(!has_run(&fixture) && !listener.was_used());

    fixture.bosun(["trust", "--yes"]).run().expect(0);
    run(&fixture);
    assert!(has_run(&fixture) && listener.was_used(), "a trusted project's servers are used");
    while listener.was_used() {}

    // A change of each of the files, as a pull makes it.
    for (file, text) in [
        ("server.sh", "#!/bin/sh\ntouch ran\n"),
        (".bosun/config.toml", "[mcp.servers.second]\ncommand = 'touch'\nargs = ['ran']\n"),
        (".mcp.json", r#"{ "mcpServers": { "peer": { "command": "touch", "args": ["ran"] } } }"#),
    ] {
        let before = fs::read_to_string(fixture.path(file)).unwrap();
        write(&fixture, file, text);
        run(&fixture).says(&["ignored, since the project has changed since you trusted it"]);
        let doctor = fixture.bosun(["doctor", "--json"]).run().stdout;
        assert!(doctor.contains("the project has changed since you trusted it"), "{file}: {doctor}");
        assert!(!has_run(&fixture) && !listener.was_used(), "{file}");
        write(&fixture, file, &before);
    }
    run(&fixture);
    assert!(has_run(&fixture), "what the user has trusted is there again");
}

/// A link could lead to another file tomorrow without any change in the repository.
#[test]
fn linked_file_of_servers_is_not_read() {
    let listener = Listener::new();
    let fixture = hostile(&listener);
    fs::rename(fixture.path(".mcp.json"), fixture.path("elsewhere.json")).unwrap();
    symlink("elsewhere.json", fixture.path(".mcp.json")).unwrap();
    fs::remove_file(fixture.path(".bosun/config.toml")).unwrap();
    fixture.bosun(["trust", "--yes"]).run().expect(0);
    run(&fixture).says(&[".mcp.json: it is a link, or its path contains one"]);
    assert!(!has_run(&fixture) && !listener.was_used());
}

/// The program is a link, its folder is one, or it comes later: what it runs is trusted, not its name.
#[test]
fn program_behind_a_link_is_trusted_with_its_content() {
    for (command, link, target, program) in
        [("./server.sh", "server.sh", "real.sh", "real.sh"), ("./tools/server.sh", "tools", "real", "real/server.sh")]
    {
        let listener = Listener::new();
        let fixture = hostile(&listener);
        fs::remove_file(fixture.path("server.sh")).unwrap();
        fs::remove_file(fixture.path(".bosun/config.toml")).unwrap();
        write(&fixture, ".mcp.json", &json!({ "mcpServers": { "peer": { "command": command } } }).to_string());
        write(&fixture, program, PROGRAM);
        symlink(target, fixture.path(link)).unwrap();
        let ran = || {
            fs::remove_file(fixture.path(Path::new(command).parent().unwrap().to_str().unwrap()).join("ran")).is_ok()
        };
        fixture.bosun(["trust", "--yes"]).run().expect(0);
        run(&fixture);
        assert!(ran(), "{command}");
        write(&fixture, program, &format!("{PROGRAM}# changed\n"));
        run(&fixture).says(&["ignored, since the project has changed since you trusted it"]);
        assert!(!ran(), "{command}");
        write(&fixture, program, PROGRAM);
        write(&fixture, "other/server.sh", &format!("{PROGRAM}# other\n"));
        fs::remove_file(fixture.path(link)).unwrap();
        symlink(if link == "tools" { "other" } else { "other/server.sh" }, fixture.path(link)).unwrap();
        run(&fixture).says(&["ignored, since the project has changed since you trusted it"]);
        assert!(!ran() && !fixture.path("other/ran").exists(), "{command}");
    }
}

/// An agent cannot make a server of a trusted project run something else: the program is checked when it is started.
#[test]
fn program_that_an_agent_changes_is_not_started() {
    let listener = Listener::new();
    let fixture = hostile(&listener);
    fixture.bosun(["trust", "--yes"]).run().expect(0);
    let change = json!({ "call": { "tool": "shell", "input": { "command": "echo 'touch evil' >> server.sh" } } });
    let start = json!({ "call": { "id": "c1", "tool": "mcp__peer__a", "input": {} } });
    let rules = json!([
        { "when": { "turn": 1 }, "answer": [change] },
        { "when": { "turn": 2 }, "answer": [start] },
        { "answer": [{ "say": "${answer}" }] },
    ]);
    fixture.script(&json!({ "version": 1, "rules": rules }).to_string());
    let ended = run(&fixture);
    assert!(!fixture.path("evil").exists() && !has_run(&fixture), "{ended:?}");
}

/// A server that only the user has defined is used, whatever the repository says about the name.
#[test]
fn untrusted_repository_cannot_replace_the_server_of_its_user() {
    let listener = Listener::new();
    let fixture = hostile(&listener);
    let own = testkit::mcp::ScriptedMcpProgram::new(json!({}));
    fs::set_permissions(own.folder(), fs::Permissions::from_mode(0o777)).unwrap();
    let (command, args) = own.command();
    let words: Vec<&str> = std::iter::once(command.as_str()).chain(args.iter().map(String::as_str)).collect();
    fixture.bosun(["mcp", "add", "peer", "--"]).args(words).run().expect(0);
    fixture.script(&calls_script(&[("add", json!({ "a": 1, "b": 1 }))]));
    run(&fixture);
    assert_eq!((own.pids().len(), has_run(&fixture)), (1, false));
}
