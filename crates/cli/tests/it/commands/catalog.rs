//! The catalogue on the command line: listing, checking, and its use in a run.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;

use serde_json::Value;
use testkit::binary::BinaryFixture;

use crate::scripts::HELLO;
use crate::{BOSUN, fixture};

fn write(fixture: &BinaryFixture, file: &str, text: &str) {
    let path = fixture.path(file);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn agent(description: &str) -> String {
    format!("---\ndescription: {description}\n---\nDo it.\n")
}

fn names(listed: &Value, kind: &str) -> Vec<String> {
    let all = listed[kind].as_array().unwrap().iter();
    all.map(|entry| entry["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn catalog_lists_definitions_and_what_replaces_them() {
    let fixture = fixture();
    let built_in = fixture.bosun(["catalog", "list", "--json"]).run().expect(0).json();
    assert_eq!(names(&built_in, "agents").len(), 8);
    write(&fixture, ".claude/agents/explore.md", &agent("mine"));
    write(&fixture, ".claude/skills/pdf/SKILL.md", &agent("x"));
    let ignored = fixture.bosun(["catalog", "list"]).run().expect(0).says(&["2 problems: see `bosun catalog check`"]);
    let (used, unused) = ignored.stdout.split_once("ignored, since you have not trusted the project").unwrap();
    assert!(!used.contains("pdf") && unused.contains(".claude/skills/pdf/SKILL.md"), "{}", ignored.stdout);
    fixture.bosun(["trust", "--yes"]).run().expect(0);
    let listed = fixture.bosun(["catalog", "list", "--json"]).run().expect(0).json();
    assert_eq!((names(&listed, "agents").len(), names(&listed, "skills")), (9, vec!["pdf".to_owned()]));
    assert_eq!(listed["agents"][1]["shadowedBy"]["type"], "project");
    let shown = fixture.bosun(["catalog", "list"]).run().expect(0).stdout;
    assert!(shown.contains("built in  (not used: replaced by ") && shown.contains("explore.md)"), "{shown}");
    let shown = fixture.bosun(["catalog", "show", "Explore"]).run().expect(0).stdout;
    assert!(shown.contains("description   mine") && shown.ends_with("\nDo it.\n"), "{shown}");
    let shown = fixture.bosun(["catalog", "show", "pdf"]).run().expect(0).stdout;
    assert!(shown.contains("description   x") && shown.ends_with("\n\nDo it.\n"), "{shown}");
    let shown = fixture.bosun(["catalog", "show", "rubber-duck"]).run().expect(0).stdout;
    assert!(shown.contains("prefers       a model of another family"), "{shown}");
    let spec = fixture.bosun(["catalog", "show", "code-review", "--json"]).run().expect(0).json();
    assert_eq!(spec["tools"].as_array().unwrap().len(), 4);
    fixture
        .bosun(["catalog", "show", "nobody"])
        .run()
        .expect(2)
        .says(&["no agent, skill or command `nobody`", "catalog list"]);
}

#[test]
fn check_names_file_line_and_remedy_and_fails_for_errors_only() {
    let fixture = fixture();
    let fine = fixture.bosun(["catalog", "check"]).run().expect(0).stdout;
    assert_eq!(fine, "8 agents and 0 skills, no problems\n");
    let home = fixture.home();
    fs::create_dir_all(home.join("agents")).unwrap();
    fs::write(home.join("agents/odd.md"), "---\ndescription: x\ncoler: red\n---\nDo it.\n").unwrap();
    let odd = fixture.bosun(["catalog", "check"]).run().expect(0).stdout;
    assert!(odd.contains("odd.md:3:1: unknown key `coler`; did you mean `color`?"), "{odd}");
    fixture.bosun(["catalog", "check", "--strict"]).run().expect(1);
    fs::write(home.join("agents/bad.md"), "---\nname: bad\n---\nDo it.\n").unwrap();
    let checked = fixture.bosun(["catalog", "check", "--json"]).run().expect(1).json();
    assert_eq!(checked["problems"].as_array().unwrap().len(), 2);
    let bad = &checked["problems"][0];
    assert_eq!((&bad["severity"], &bad["at"]["line"]), (&"error".into(), &2.into()), "{bad}");
    assert!(bad["remedy"].as_str().unwrap().contains("add `description`"), "{bad}");
}

/// Problems that prevent starting an agent are found before it is started.
#[test]
fn isolation_is_shown_and_check_finds_unusable_agents_and_models() {
    let fixture = fixture();
    let agents = fixture.home().join("agents");
    fs::create_dir_all(&agents).unwrap();
    fs::write(agents.join("apart.md"), "---\ndescription: x\nisolation: worktree\n---\nDo it.\n").unwrap();
    let shown = fixture.bosun(["catalog", "show", "apart"]).run().expect(0).stdout;
    assert!(shown.contains("isolation     worktree"), "{shown}");
    fixture.bosun(["catalog", "check", "--strict"]).run().expect(0);
    fs::write(agents.join("odd.md"), "---\ndescription: x\nmodel: nosuch/model-9\n---\nDo it.\n").unwrap();
    let odd = fixture.bosun(["catalog", "check"]).run().expect(0).stdout;
    assert!(odd.contains("warning: ") && odd.contains("`odd` names no available model"), "{odd}");
    fs::write(agents.join("far.md"), "---\ndescription: x\nisolation: remote\n---\nDo it.\n").unwrap();
    let far = fixture.bosun(["catalog", "check"]).run().expect(1).stdout;
    assert!(far.contains("error: ") && far.contains("`far` cannot be started: "), "{far}");
    write(&fixture, ".claude/commands/hello.md", "Say hello.\n");
    let report = fixture.bosun(["doctor", "--json"]).run().json();
    let later = report["checks"].as_array().unwrap().iter().find(|check| check["topic"] == "later");
    assert_eq!(later, None, "commands are read");
}

#[test]
fn run_reports_problems_and_fails_with_strict() {
    let fixture = fixture();
    fixture.script(HELLO);
    // The first command creates the home.
    fixture.bosun(["catalog", "list"]).run().expect(0);
    fs::create_dir_all(fixture.home().join("agents")).unwrap();
    fs::write(fixture.home().join("agents/bad.md"), "---\nname: bad\n---\nDo it.\n").unwrap();
    write(&fixture, ".github/agents/theirs.agent.md", &agent("x"));
    let ran = fixture.prompt("hi").run().expect(0);
    let ran = ran.says(&["agents/bad.md:2:1: it has no description", "1 of the project's agents", "`bosun trust`"]);
    assert!(!ran.stderr.contains("theirs"), "{}", ran.stderr);
    fixture.prompt("hi").args(["--strict"]).run().expect(2).says(&["bad.md:2:1", "theirs.agent.md", "catalog check"]);
    fs::remove_file(fixture.home().join("agents/bad.md")).unwrap();
    fixture.bosun(["trust", "--yes"]).run().expect(0);
    fixture.prompt("hi").args(["--strict"]).run().expect(0);
}

#[test]
fn agents_flag_is_checked_before_the_run() {
    let fixture = fixture();
    fixture.script(HELLO);
    for (given, expected) in [
        ("{bad", "--agents:1:2: it is not JSON"),
        ("nowhere.json", "cannot read nowhere.json: it does not exist"),
        (r#"{"a": {"prompt": "x"}}"#, "agent `a`: it has no description"),
    ] {
        fixture.prompt("hi").args(["--agents", given]).run().expect(2).says(&[expected]);
    }
    let given = r#"[{"name": "A B", "description": "x", "prompt": "y"}]"#;
    fixture.prompt("hi").args(["--agents", given]).run().expect(0);
    write(&fixture, "given.json", given);
    let listed = fixture.bosun(["catalog", "list", "--json", "--agents", "given.json"]).run().expect(0).json();
    assert_eq!(names(&listed, "agents")[0], "a-b");
}

#[test]
fn agent_flag_selects_an_agent_and_an_unknown_one_lists_them() {
    let fixture = fixture();
    fixture.script(HELLO);
    fixture.prompt("hi").args(["--agent", "Rubber_Duck"]).run().expect(0);
    let refused = fixture.prompt("hi").args(["--agent", "nobody"]).run().expect(2);
    refused.says(&["no agent `nobody` that you can start", "explore, task, general-purpose, rubber-duck"]);
    let hidden = r#"{"hidden": {"description": "x", "prompt": "y", "userInvocable": false},
        "wants": {"description": "x", "prompt": "y", "isolation": "worktree"},
        "costly": {"description": "x", "prompt": "y", "model": "nonsense"}}"#;
    for (name, expected) in [("hidden", "no agent `hidden`"), ("wants", "its own checkout"), ("costly", "nonsense")] {
        fixture.prompt("hi").args(["--agents", hidden, "--agent", name]).run().expect(2).says(&[expected]);
    }
    // Flags override the agent's file.
    let model = format!("script/{}", fixture.script_path().display());
    fixture.prompt("hi").args(["--agents", hidden, "--agent", "costly", "--model", &model]).run().expect(0);
    fixture.bosun(["--continue", "-p", "hi", "--agent", "explore"]).run().expect(2).says(&["keeps the agent"]);
}

#[test]
fn plugins_add_agents_and_skills_from_their_own_folder() {
    let fixture = fixture();
    write(&fixture, "tools/plugin.json", r#"{"name": "tools", "version": "1.0"}"#);
    write(&fixture, "tools/agents/linter.md", &agent("lints"));
    write(&fixture, "tools/skills/lint/SKILL.md", &agent("x"));
    let listed = fixture.bosun(["catalog", "list", "--json", "--plugin-dir", "tools"]).run().expect(0).json();
    assert_eq!((names(&listed, "plugins"), names(&listed, "skills")), (vec!["tools".into()], vec!["lint".into()]));
    assert_eq!(listed["agents"][0]["source"]["plugin"], "tools");
    for command in [&["catalog", "check"][..], &["-p", "hi"]] {
        fixture.bosun([command, &["--plugin-dir", "gone"]].concat()).run().expect(2).says(&["there is no folder gone"]);
    }
    write(&fixture, "tools/plugin.json", r#"{"name": "tools", "skills": "../elsewhere"}"#);
    let left = fixture.bosun(["catalog", "check", "--plugin-dir", "tools"]).run().expect(1).stdout;
    assert!(left.contains("`../elsewhere`, which is outside the plugin's folder"), "{left}");
}

#[test]
fn unreachable_remote_catalogue_is_reported_and_the_run_continues() {
    let fixture = fixture();
    fixture.script(HELLO);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    fs::create_dir_all(fixture.home()).unwrap();
    fs::write(fixture.home().join("config.toml"), format!("[agents]\ncatalog = '{url}'\ncatalog-token-env = 'ORG'\n"))
        .unwrap();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = Vec::new();
        let mut part = [0; 4096];
        while !request.ends_with(b"\r\n\r\n") {
            let read = stream.read(&mut part).unwrap();
            request.extend_from_slice(&part[..read]);
        }
        let body = r#"{"agents": [{"name": "org", "description": "x", "prompt": "y"}]}"#;
        write!(stream, "HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len()).unwrap();
        String::from_utf8(request).unwrap().to_lowercase()
    });
    let listed = fixture.bosun(["catalog", "list", "--json"]).env("ORG", "t-123456").run().expect(0).json();
    assert_eq!((&names(&listed, "agents")[0], &listed["remote"]["state"]), (&"org".to_owned(), &"fresh".into()));
    assert!(server.join().unwrap().contains("bearer t-123456"));
    let ran = fixture.prompt("hi").env("ORG", "t-123456").run().expect(0);
    ran.says(&[&url, "its agents from", "ago are used"]);
    fixture.prompt("hi").env("ORG", "t-123456").args(["--strict"]).run().expect(2).says(&[&url]);
    // Another user has no earlier answer.
    fixture.prompt("hi").run().expect(0).says(&["its agents are missing"]);
}

#[test]
fn too_long_descriptions_are_reported() {
    let fixture = fixture();
    fixture.script(HELLO);
    let given = format!(r#"{{"long": {{"description": "{}", "prompt": "y"}}}}"#, "word ".repeat(4_000));
    let ran = fixture.prompt("hi").args(["--agents", &given]).run().expect(0);
    ran.says(&["agent descriptions take about 5", "more than the recommended 3750; the largest: long (5000)"]);
    let checked = fixture.bosun(["catalog", "check", "--agents", &given]).run().expect(0);
    assert!(checked.stdout.contains("warning: agent descriptions take"), "{}", checked.stdout);
}

#[test]
fn settings_of_agents_are_shown_and_bad_variables_named() {
    let fixture = fixture();
    fixture.script(HELLO);
    let shown = fixture.bosun(["config", "show"]).env("BOSUN_SUBAGENT_MAX_CONCURRENT", "3").run().expect(0).stdout;
    for line in
        ["limits.live = 3", "limits.spawns-per-minute = 200", "features.multi-turn = true", "agents.cost-factor = 4.0"]
    {
        assert!(shown.contains(line), "{line}: {shown}");
    }
    let bad = fixture.prompt("hi").env("BOSUN_SUBAGENT_MAX_DEPTH", "deep").run().expect(2);
    bad.says(&["BOSUN_SUBAGENT_MAX_DEPTH must be a whole number from 0 to 4096"]);
    fixture.prompt("hi").args(["--max-agents", "0"]).run().expect(2);
    fixture.prompt("hi").args(["--max-agents", "2", "--max-depth", "0", "--max-total-agents", "9"]).run().expect(0);
    let report = fixture.bosun(["doctor", "--json"]).env("OLLAMA_HOST", "http://10.0.0.1").run().json();
    let checks = report["checks"].as_array().unwrap();
    let text_of = |topic: &str| checks.iter().find(|check| check["topic"] == topic).unwrap()["text"].to_string();
    assert!(text_of("features").contains("on: multi-turn") && text_of("agents").contains("8 agents, 0 skills"));
}

#[test]
fn agent_from_a_file_has_its_own_prompt_and_tools() {
    let fixture = fixture();
    fixture.script(
        "
version: 1
rules:
  - when: { agent: counter, system: Count to three, tools: glob, not: { tools: shell|task } }
    answer:
      - say: one two three
  - when: { turn: 1 }
    answer:
      - call: { tool: task, input: { description: d, prompt: p, agent_type: Counter, name: c } }
  - answer:
      - say: \"${answer}\"
",
    );
    write(&fixture, ".github/agents/counter.agent.md", "---\ndescription: x\ntools: [search]\n---\nCount to three.\n");
    write(&fixture, ".claude/agents/stuck.md", "---\ndescription: x\nisolation: worktree\n---\nDo it.\n");
    fixture.bosun(["trust", "--yes"]).run().expect(0);
    let answer = fixture.prompt("count").run().expect(0).stdout;
    assert!(answer.contains("one two three"), "{answer}");
    let start = "version: 1\nrules:\n  - when: { turn: 1 }\n    answer:\n      - call: { tool: task, input: \
                 { description: d, prompt: p, agent_type: stuck, name: c } }\n  - answer:\n      - say: \"${answer}\"\n";
    let refused = fixture.script(start).prompt("go").run().expect(3).stdout;
    assert!(refused.contains("failed") && refused.contains("not in a git repository"), "{refused}");
}

#[test]
fn skill_is_loaded_on_request() {
    let fixture = fixture();
    fixture.script(
        "
version: 1
rules:
  - when: { turn: 1 }
    answer:
      - call: { tool: skill, input: { name: commit } }
  - answer:
      - say: \"${answer}\"
",
    );
    let skill = "---\ndescription: x\n---\nThe state is !`touch ran`. Be brief.\n";
    write(&fixture, ".claude/skills/commit/SKILL.md", skill);
    fixture.bosun(["trust", "--yes"]).run().expect(0);
    let answer = fixture.prompt("go").run().expect(0).stdout;
    assert!(answer.contains("The state is [not run here: touch ran]. Be brief."), "{answer}");
    assert!(!answer.contains("description") && !fixture.path("ran").exists(), "{answer}");
}

#[test]
fn unreadable_definitions_are_reported() {
    let fixture = BinaryFixture::of_ordinary_user(BOSUN);
    fixture.bosun(["catalog", "list"]).run().expect(0);
    let folder = fixture.home().join("agents");
    fs::create_dir_all(folder.join("closed")).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(folder.join("secret.md"), agent("x")).unwrap();
    for path in ["secret.md", "closed"] {
        fs::set_permissions(folder.join(path), fs::Permissions::from_mode(0o000)).unwrap();
    }
    let output = fixture.bosun(["catalog", "check"]).run().expect(1).stdout;
    assert!(output.contains("closed: it cannot be listed: Permission denied"), "{output}");
    assert!(output.contains("secret.md: it cannot be read: Permission denied"), "{output}");
}
