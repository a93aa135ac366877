//! Tools and skills that a model loads on request.

use std::fs;
use std::sync::Arc;

use model::{Delta, ModelRequest};
use protocol::{AgentSpec, DefinitionSource, MailDelivery, SkillSpec, ToolResultStatus};
use runtime::SessionStart;
use serde_json::json;
use testkit::session::scenario;

use super::played::{answer, calls, played, requests_of, says, tools, with_fields, worker_input};

/// An agent that loads a tool, and calls another one that was not offered to it.
fn loads(request: &ModelRequest) -> Vec<Delta> {
    match (request.path.as_str(), request.turn) {
        ("/root", 1) => calls([("t", "task", worker_input("kid"))]),
        ("/root/kid", 1) => calls([
            ("name", "tool_search", json!({ "query": "sql" })),
            ("words", "tool_search", json!({ "query": "fetch a page of the web" })),
            ("none", "tool_search", json!({ "query": "zzz" })),
            ("direct", "list_shells", json!({})),
        ]),
        ("/root/kid", 2) => calls([("use", "sql", json!({ "query": "SELECT 1 AS one" }))]),
        (path, _) => says(format!("{path} is done")),
    }
}

#[tokio::test]
async fn tools_are_loaded_on_request_and_stay() {
    let (model, gate) = played(loads).holding(|request| request.path == "/root/kid" && request.turn == 3);
    let stage = scenario().model(Arc::new(model)).ready();
    let driver = stage.open(SessionStart::New).await;
    driver.send("go", MailDelivery::FollowUp).await;
    driver.asked(4).await;
    let id = driver.crash().await.id();
    let mut driver = stage.open(SessionStart::Resume(id)).await;
    driver.resume().await;
    gate.add_permits(1);
    driver.rest().await;
    let run = driver.leave().await;
    assert_eq!(answer(&run, "name").text, "loaded: sql; call them like any other tool", "{}", run.transcript());
    assert!(answer(&run, "words").text.contains("web_fetch"), "{}", answer(&run, "words").text);
    assert_eq!(answer(&run, "none").status, ToolResultStatus::Refused);
    assert_eq!(answer(&run, "direct").status, ToolResultStatus::Done);
    assert_eq!(answer(&run, "use").status, ToolResultStatus::Done);
    let requests = requests_of(&run, "/root/kid");
    assert_eq!(requests.len(), 4, "the owner that died asked once more");
    let offered: Vec<bool> = requests.iter().map(|request| tools(request).contains(&"sql")).collect();
    assert_eq!(offered, [false, true, true, true]);
    assert!(requests[0].tools.iter().any(|tool| tool.name == "tool_search" && tool.description.contains("sql")));
    assert_eq!(run.text(), "/root is done");
}

#[tokio::test]
async fn the_task_tool_explains_its_use_and_lists_custom_agents_first() {
    let custom = AgentSpec {
        name: "own".into(),
        description: "the project's".into(),
        model_invocable: true,
        ..AgentSpec::default()
    };
    let run = scenario().model(Arc::new(played(|_| says("hi")))).agent(custom).prompt("go").run().await;
    let request = &requests_of(&run, "/root")[0];
    let about = &request.tools.iter().find(|tool| tool.name == "task").unwrap().description;
    for phrase in ["sync", "background", "never poll", "Prefer a custom type"] {
        assert!(about.contains(phrase), "{about}");
    }
    assert!(about.find("- own: the project's").unwrap() < about.find("- worker: ").unwrap(), "{about}");
}

#[tokio::test]
async fn an_agent_is_given_the_skills_of_its_definition() {
    let folder = tempfile::TempDir::new().unwrap();
    let file = folder.path().join("SKILL.md");
    fs::write(&file, "---\nname: calm\n---\nCount to !`seq 10` first.\n").unwrap();
    let skill = SkillSpec { name: "calm".into(), file: file.display().to_string(), ..SkillSpec::default() };
    let path = folder.path().join("LINK.md").display().to_string();
    std::os::unix::fs::symlink(&file, &path).unwrap();
    let source = DefinitionSource::Project { path: path.clone() };
    let link = SkillSpec { name: "link".into(), file: path, source, ..SkillSpec::default() };
    let skilled = |name: &str, skill: &str| AgentSpec {
        name: name.into(),
        skills: vec![skill.into()],
        model_invocable: true,
        ..AgentSpec::default()
    };
    let model = played(|request| match (request.path.as_str(), request.turn) {
        ("/root", 1) => calls(
            ["monk", "thief", "spy"]
                .map(|name| (name, "task", with_fields(worker_input(name), json!({ "agent_type": name })))),
        ),
        (path, _) => says(format!("{path} is done")),
    });
    let scenario = scenario().model(Arc::new(model)).skill(skill).skill(link).agent(skilled("spy", "link"));
    let scenario = scenario.agent(skilled("monk", "calm")).agent(skilled("thief", "stealth"));
    let run = scenario.prompt("go").run().await;
    // The skill is only text: its command is not run.
    let given = ":\nCount to [not run here: seq 10] first.\n";
    assert!(requests_of(&run, "/root/monk")[0].system.contains(given), "{}", run.transcript());
    // The target of a link in the project may be outside the project.
    assert!(answer(&run, "spy").text.contains("LINK.md cannot be read"), "{}", answer(&run, "spy").text);
    assert!(requests_of(&run, "/root/spy").is_empty());
    assert_eq!(answer(&run, "thief").text, "`thief` needs the skill `stealth`, which does not exist (see built in)");
}

#[tokio::test]
async fn the_skill_of_a_definition_is_not_read_through_a_link() {
    let folder = tempfile::TempDir::new().unwrap();
    let file = folder.path().canonicalize().unwrap().join("SKILL.md");
    fs::write(file.with_file_name("secret"), "hunter2").unwrap();
    std::os::unix::fs::symlink("secret", &file).unwrap();
    let path = file.display().to_string();
    let source = protocol::DefinitionSource::Project { path: path.clone() };
    let skill = SkillSpec { name: "calm".into(), file: path, source, ..SkillSpec::default() };
    let monk =
        AgentSpec { name: "monk".into(), skills: vec!["calm".into()], model_invocable: true, ..AgentSpec::default() };
    let model = played(|request| match (request.path.as_str(), request.turn) {
        ("/root", 1) => calls([("t", "task", with_fields(worker_input("monk"), json!({ "agent_type": "monk" })))]),
        (path, _) => says(format!("{path} is done")),
    });
    let run = scenario().model(Arc::new(model)).skill(skill).agent(monk).prompt("go").run().await;
    assert!(requests_of(&run, "/root/monk").is_empty(), "{}", run.transcript());
    assert!(answer(&run, "t").text.contains("link"), "{}", answer(&run, "t").text);
}

#[tokio::test]
async fn skills_are_named_and_read_when_they_are_loaded() {
    let folder = tempfile::TempDir::new().unwrap();
    let file = folder.path().join("SKILL.md");
    fs::write(&file, "Count to ten first.\n").unwrap();
    let skill = |name: &str, file: String, model_invocable| SkillSpec {
        name: name.into(),
        description: "when you are angry".into(),
        file,
        model_invocable,
        ..SkillSpec::default()
    };
    let model = played(|request| match request.turn {
        1 => calls(["calm", "gone", "private", "none"].map(|name| (name, "skill", json!({ "name": name })))),
        _ => says("done"),
    });
    let there = file.display().to_string();
    let scenario = scenario().model(Arc::new(model)).skill(skill("calm", there.clone(), true));
    let scenario =
        scenario.skill(skill("gone", "/nowhere/SKILL.md".into(), true)).skill(skill("private", there, false));
    let run = scenario.prompt("go").run().await;
    assert!(answer(&run, "calm").text.ends_with(":\nCount to ten first."), "{}", answer(&run, "calm").text);
    assert!(answer(&run, "gone").text.starts_with("/nowhere/SKILL.md cannot be read: "));
    for id in ["private", "none"] {
        assert!(answer(&run, id).text.ends_with("available: calm, gone"), "{}", answer(&run, id).text);
    }
    let requests = requests_of(&run, "/root");
    let about = &requests[0].tools.iter().find(|tool| tool.name == "skill").unwrap().description;
    assert!(about.contains("- calm: when you are angry") && !about.contains("private"), "{about}");
}
