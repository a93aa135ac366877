//! The catalogue through the command line: which agents there are, what is wrong, and what a run makes of it.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;

use serde_json::Value;
use testkit::binary::BinaryFixture;

use crate::scripts::HELLO;
use crate::{BOSUN, stage};

fn write(stage: &BinaryFixture, file: &str, text: &str) {
    let path = stage.path(file);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn agent(description: &str) -> String {
    format!("---\ndescription: {description}\n---\nDo it.\n")
}

fn names(listed: &Value, kind: &str) -> Vec<String> {
    let all = listed[kind].as_array().unwrap().iter();
    all.map(|one| one["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn the_catalogue_lists_what_there_is_and_what_stands_in_for_what() {
    let stage = stage();
    let built_in = stage.bosun(["catalog", "list", "--json"]).run().expect(0).json();
    assert_eq!(names(&built_in, "agents").len(), 8);
    write(&stage, ".claude/agents/explore.md", &agent("mine"));
    write(&stage, ".claude/skills/pdf/SKILL.md", &agent("x"));
    let ignored = stage.bosun(["catalog", "list"]).run().expect(0).says(&["there are 2 problems"]);
    let (used, unused) = ignored.stdout.split_once("ignored, since you have not trusted the project").unwrap();
    assert!(!used.contains("pdf") && unused.contains(".claude/skills/pdf/SKILL.md"), "{}", ignored.stdout);
    stage.bosun(["trust", "--yes"]).run().expect(0);
    let listed = stage.bosun(["catalog", "list", "--json"]).run().expect(0).json();
    assert_eq!((names(&listed, "agents").len(), names(&listed, "skills")), (9, vec!["pdf".to_owned()]));
    assert_eq!(listed["agents"][1]["shadowedBy"]["type"], "project");
    let shown = stage.bosun(["catalog", "list"]).run().expect(0).stdout;
    assert!(shown.contains("built in  (not used: replaced by ") && shown.contains("explore.md)"), "{shown}");
    let shown = stage.bosun(["catalog", "show", "Explore"]).run().expect(0).stdout;
    assert!(shown.contains("description   mine") && shown.ends_with("\nDo it.\n"), "{shown}");
    let shown = stage.bosun(["catalog", "show", "pdf"]).run().expect(0).stdout;
    assert!(shown.contains("description   x") && shown.ends_with("\n\nDo it.\n"), "{shown}");
    let shown = stage.bosun(["catalog", "show", "rubber-duck"]).run().expect(0).stdout;
    assert!(shown.contains("prefers       a model of another family"), "{shown}");
    let spec = stage.bosun(["catalog", "show", "code-review", "--json"]).run().expect(0).json();
    assert_eq!(spec["tools"].as_array().unwrap().len(), 4);
    stage
        .bosun(["catalog", "show", "nobody"])
        .run()
        .expect(2)
        .says(&["no agent, skill or command `nobody`", "catalog list"]);
}

#[test]
fn check_names_file_line_and_remedy_and_fails_for_errors_only() {
    let stage = stage();
    let fine = stage.bosun(["catalog", "check"]).run().expect(0).stdout;
    assert_eq!(fine, "8 agents and 0 skills, no problems\n");
    let home = stage.home();
    fs::create_dir_all(home.join("agents")).unwrap();
    fs::write(home.join("agents/odd.md"), "---\ndescription: x\ncoler: red\n---\nDo it.\n").unwrap();
    let odd = stage.bosun(["catalog", "check"]).run().expect(0).stdout;
    assert!(odd.contains("odd.md:3:1: unknown key `coler`; did you mean `color`?"), "{odd}");
    stage.bosun(["catalog", "check", "--strict"]).run().expect(1);
    fs::write(home.join("agents/bad.md"), "---\nname: bad\n---\nDo it.\n").unwrap();
    let checked = stage.bosun(["catalog", "check", "--json"]).run().expect(1).json();
    assert_eq!(checked["problems"].as_array().unwrap().len(), 2);
    let bad = &checked["problems"][0];
    assert_eq!((&bad["severity"], &bad["at"]["line"]), (&"error".into(), &2.into()), "{bad}");
    assert!(bad["remedy"].as_str().unwrap().contains("add `description`"), "{bad}");
}

/// A22: what keeps an agent from being started is found before somebody starts it.
#[test]
fn isolation_is_shown_and_check_finds_agents_and_models_that_cannot_be_used() {
    let stage = stage();
    let agents = stage.home().join("agents");
    fs::create_dir_all(&agents).unwrap();
    fs::write(agents.join("apart.md"), "---\ndescription: x\nisolation: worktree\n---\nDo it.\n").unwrap();
    let shown = stage.bosun(["catalog", "show", "apart"]).run().expect(0).stdout;
    assert!(shown.contains("isolation     worktree"), "{shown}");
    stage.bosun(["catalog", "check", "--strict"]).run().expect(0);
    fs::write(agents.join("odd.md"), "---\ndescription: x\nmodel: nosuch/model-9\n---\nDo it.\n").unwrap();
    let odd = stage.bosun(["catalog", "check"]).run().expect(0).stdout;
    assert!(odd.contains("warning: ") && odd.contains("`odd` names no available model"), "{odd}");
    fs::write(agents.join("far.md"), "---\ndescription: x\nisolation: remote\n---\nDo it.\n").unwrap();
    let far = stage.bosun(["catalog", "check"]).run().expect(1).stdout;
    assert!(far.contains("error: ") && far.contains("`far` cannot be started: "), "{far}");
    write(&stage, ".claude/commands/hello.md", "Say hello.\n");
    let report = stage.bosun(["doctor", "--json"]).run().json();
    let later = report["checks"].as_array().unwrap().iter().find(|check| check["topic"] == "later");
    assert_eq!(later, None, "commands are read");
}

#[test]
fn a_run_tells_what_is_wrong_and_fails_when_that_is_asked_for() {
    let stage = stage();
    stage.script(HELLO);
    // Whoever runs it first makes the home.
    stage.bosun(["catalog", "list"]).run().expect(0);
    fs::create_dir_all(stage.home().join("agents")).unwrap();
    fs::write(stage.home().join("agents/bad.md"), "---\nname: bad\n---\nDo it.\n").unwrap();
    write(&stage, ".github/agents/theirs.agent.md", &agent("x"));
    let ran = stage.prompt("hi").run().expect(0);
    let ran = ran.says(&["agents/bad.md:2:1: it has no description", "1 of the project's agents", "`bosun trust`"]);
    assert!(!ran.stderr.contains("theirs"), "{}", ran.stderr);
    stage.prompt("hi").args(["--strict"]).run().expect(2).says(&["bad.md:2:1", "theirs.agent.md", "catalog check"]);
    fs::remove_file(stage.home().join("agents/bad.md")).unwrap();
    stage.bosun(["trust", "--yes"]).run().expect(0);
    stage.prompt("hi").args(["--strict"]).run().expect(0);
}

#[test]
fn agents_of_the_command_line_are_checked_before_anything_runs() {
    let stage = stage();
    stage.script(HELLO);
    for (given, words) in [
        ("{bad", "--agents:1:2: it is not JSON"),
        ("nowhere.json", "cannot read nowhere.json: it does not exist"),
        (r#"{"a": {"prompt": "x"}}"#, "agent `a`: it has no description"),
    ] {
        stage.prompt("hi").args(["--agents", given]).run().expect(2).says(&[words]);
    }
    let given = r#"[{"name": "A B", "description": "x", "prompt": "y"}]"#;
    stage.prompt("hi").args(["--agents", given]).run().expect(0);
    write(&stage, "given.json", given);
    let listed = stage.bosun(["catalog", "list", "--json", "--agents", "given.json"]).run().expect(0).json();
    assert_eq!(names(&listed, "agents")[0], "a-b");
}

#[test]
fn one_agent_can_be_talked_to_and_an_unknown_one_is_answered_with_a_list() {
    let stage = stage();
    stage.script(HELLO);
    stage.prompt("hi").args(["--agent", "Rubber_Duck"]).run().expect(0);
    let refused = stage.prompt("hi").args(["--agent", "nobody"]).run().expect(2);
    refused.says(&["no agent `nobody` that you can start", "explore, task, general-purpose, rubber-duck"]);
    let hidden = r#"{"hidden": {"description": "x", "prompt": "y", "userInvocable": false},
        "wants": {"description": "x", "prompt": "y", "isolation": "worktree"},
        "costly": {"description": "x", "prompt": "y", "model": "nonsense"}}"#;
    for (name, words) in [("hidden", "no agent `hidden`"), ("wants", "its own checkout"), ("costly", "nonsense")] {
        stage.prompt("hi").args(["--agents", hidden, "--agent", name]).run().expect(2).says(&[words]);
    }
    // What is typed stands above what the agent's file says.
    let model = format!("script/{}", stage.script_path().display());
    stage.prompt("hi").args(["--agents", hidden, "--agent", "costly", "--model", &model]).run().expect(0);
    stage.bosun(["--continue", "-p", "hi", "--agent", "explore"]).run().expect(2).says(&["keeps the agent"]);
}

#[test]
fn plugins_bring_agents_and_skills_and_stay_inside_of_their_folder() {
    let stage = stage();
    write(&stage, "tools/plugin.json", r#"{"name": "tools", "version": "1.0"}"#);
    write(&stage, "tools/agents/linter.md", &agent("lints"));
    write(&stage, "tools/skills/lint/SKILL.md", &agent("x"));
    let listed = stage.bosun(["catalog", "list", "--json", "--plugin-dir", "tools"]).run().expect(0).json();
    assert_eq!((names(&listed, "plugins"), names(&listed, "skills")), (vec!["tools".into()], vec!["lint".into()]));
    assert_eq!(listed["agents"][0]["source"]["plugin"], "tools");
    let gone = stage.bosun(["catalog", "check", "--plugin-dir", "gone"]).run().expect(1).stdout;
    assert_eq!(gone, "error: gone: there is no such folder; correct --plugin-dir\n");
    write(&stage, "tools/plugin.json", r#"{"name": "tools", "skills": "../elsewhere"}"#);
    let left = stage.bosun(["catalog", "check", "--plugin-dir", "tools"]).run().expect(1).stdout;
    assert!(left.contains("`../elsewhere`, which is outside the plugin's folder"), "{left}");
}

#[test]
fn a_remote_catalogue_that_is_down_is_told_and_ends_nothing() {
    let stage = stage();
    stage.script(HELLO);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    fs::create_dir_all(stage.home()).unwrap();
    fs::write(stage.home().join("config.toml"), format!("[agents]\ncatalog = '{url}'\ncatalog-token-env = 'ORG'\n"))
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
    let listed = stage.bosun(["catalog", "list", "--json"]).env("ORG", "t-123456").run().expect(0).json();
    assert_eq!((&names(&listed, "agents")[0], &listed["remote"]["state"]), (&"org".to_owned(), &"fresh".into()));
    assert!(server.join().unwrap().contains("bearer t-123456"));
    let ran = stage.prompt("hi").env("ORG", "t-123456").run().expect(0);
    ran.says(&[&url, "its agents from", "ago are used"]);
    stage.prompt("hi").env("ORG", "t-123456").args(["--strict"]).run().expect(2).says(&[&url]);
    // Another user has no earlier answer.
    stage.prompt("hi").run().expect(0).says(&["its agents are missing"]);
}

#[test]
fn descriptions_that_take_too_much_of_every_request_are_told() {
    let stage = stage();
    stage.script(HELLO);
    let given = format!(r#"{{"long": {{"description": "{}", "prompt": "y"}}}}"#, "word ".repeat(4_000));
    let ran = stage.prompt("hi").args(["--agents", &given]).run().expect(0);
    ran.says(&["agent descriptions take about 5", "more than the recommended 3750; the largest: long (5000)"]);
    let checked = stage.bosun(["catalog", "check", "--agents", &given]).run().expect(0);
    assert!(checked.stdout.contains("warning: agent descriptions take"), "{}", checked.stdout);
}

#[test]
fn settings_of_agents_are_shown_and_bad_variables_named() {
    let stage = stage();
    stage.script(HELLO);
    let shown = stage.bosun(["config", "show"]).env("BOSUN_SUBAGENT_MAX_CONCURRENT", "3").run().expect(0).stdout;
    for line in
        ["limits.live = 3", "limits.spawns-per-minute = 200", "features.multi-turn = true", "agents.cost-factor = 4.0"]
    {
        assert!(shown.contains(line), "{line}: {shown}");
    }
    let bad = stage.prompt("hi").env("BOSUN_SUBAGENT_MAX_DEPTH", "deep").run().expect(2);
    bad.says(&["BOSUN_SUBAGENT_MAX_DEPTH must be a whole number from 0 to 4096"]);
    stage.prompt("hi").args(["--max-agents", "0"]).run().expect(2);
    stage.prompt("hi").args(["--max-agents", "2", "--max-depth", "0", "--max-total-agents", "9"]).run().expect(0);
    let report = stage.bosun(["doctor", "--json"]).env("OLLAMA_HOST", "http://10.0.0.1").run().json();
    let checks = report["checks"].as_array().unwrap();
    let of = |topic: &str| checks.iter().find(|check| check["topic"] == topic).unwrap()["text"].to_string();
    assert!(of("features").contains("multi-turn is on") && of("agents").contains("8 agents, 0 skills"));
}

#[test]
fn an_agent_of_a_file_is_started_with_its_own_words_and_tools() {
    let stage = stage();
    stage.script(
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
    write(&stage, ".github/agents/counter.agent.md", "---\ndescription: x\ntools: [search]\n---\nCount to three.\n");
    write(&stage, ".claude/agents/stuck.md", "---\ndescription: x\nisolation: worktree\n---\nDo it.\n");
    stage.bosun(["trust", "--yes"]).run().expect(0);
    let answer = stage.prompt("count").run().expect(0).stdout;
    assert!(answer.contains("one two three"), "{answer}");
    let start = "version: 1\nrules:\n  - when: { turn: 1 }\n    answer:\n      - call: { tool: task, input: \
                 { description: d, prompt: p, agent_type: stuck, name: c } }\n  - answer:\n      - say: \"${answer}\"\n";
    let refused = stage.script(start).prompt("go").run().expect(3).stdout;
    assert!(refused.contains("failed") && refused.contains("not in a git repository"), "{refused}");
}

#[test]
fn a_skill_is_loaded_when_it_is_asked_for() {
    let stage = stage();
    stage.script(
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
    write(&stage, ".claude/skills/commit/SKILL.md", skill);
    stage.bosun(["trust", "--yes"]).run().expect(0);
    let answer = stage.prompt("go").run().expect(0).stdout;
    assert!(answer.contains("The state is [not run here: touch ran]. Be brief."), "{answer}");
    assert!(!answer.contains("description") && !stage.path("ran").exists(), "{answer}");
}

#[test]
fn what_may_not_be_read_is_told() {
    let stage = BinaryFixture::of_ordinary_user(BOSUN);
    stage.bosun(["catalog", "list"]).run().expect(0);
    let folder = stage.home().join("agents");
    fs::create_dir_all(folder.join("closed")).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(folder.join("secret.md"), agent("x")).unwrap();
    for path in ["secret.md", "closed"] {
        fs::set_permissions(folder.join(path), fs::Permissions::from_mode(0o000)).unwrap();
    }
    let told = stage.bosun(["catalog", "check"]).run().expect(1).stdout;
    assert!(told.contains("closed: it cannot be listed: Permission denied"), "{told}");
    assert!(told.contains("secret.md: it cannot be read: Permission denied"), "{told}");
}
