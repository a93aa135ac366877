//! The built-in agents as providers see them.

use std::collections::BTreeSet;

use serde_json::Value;
use testkit::binary::BinaryFixture;
use testkit::server::{ModelServer, RecordedRequest};

use super::MODELS;
use crate::fixture;

const BUILT_IN: [&str; 8] =
    ["explore", "task", "general-purpose", "rubber-duck", "code-review", "security-review", "research", "rem-agent"];

/// A root that starts each built-in agent; the agents say who they are.
fn script() -> String {
    let start = |agent: &&str| {
        format!(
            "      - call: {{ tool: task, input: {{ description: d, prompt: your part as {agent}, \
             agent_type: {agent}, name: {agent} }} }}\n"
        )
    };
    let starts: String = BUILT_IN.iter().map(start).collect();
    format!(
        "version: 1
rules:
  - when: {{ prompt: ^your part as (.*) }}
    answer: [say: \"I am ${{1}}.\"]
  - when: {{ turn: 1 }}
    answer:
{starts}  - answer: [say: All have spoken.]
"
    )
}

/// The tools that a request offers, for any wire format.
fn offered_tools(request: &RecordedRequest) -> BTreeSet<String> {
    let body = request.json();
    let name = |tool: &Value| tool["name"].as_str().or(tool["function"]["name"].as_str()).unwrap().to_owned();
    body["tools"].as_array().unwrap().iter().map(name).collect()
}

/// The tools that the definition of an agent names; none if it may use all.
fn defined_tools(fixture: &BinaryFixture, agent: &str) -> Option<BTreeSet<String>> {
    let spec = fixture.bosun(["catalog", "show", agent, "--json"]).run().expect(0).json();
    let tools = spec["tools"].as_array()?;
    Some(tools.iter().map(|tool| tool.as_str().unwrap().to_owned()).collect())
}

#[test]
fn built_in_agents_send_small_requests_with_their_own_tools() {
    for model in MODELS {
        let fixture = fixture();
        let server = ModelServer::script(&script()).start();
        let ended = fixture.prompt_over(&server, model, "go").args(["--output-format", "json"]).run().expect(0).json();
        assert_eq!((&ended["text"], ended["tasks"].as_array().unwrap().len()), (&"All have spoken.".into(), 9));
        let requests = server.requests();
        for agent in BUILT_IN {
            let expected = format!("your part as {agent}\"");
            let first = requests[1..].iter().find(|seen| String::from_utf8_lossy(&seen.body).contains(&expected));
            let first = first.unwrap_or_else(|| panic!("{model}: nothing was asked for {agent}"));
            assert!(first.body.len() < 4 * 1024, "{model}: {agent} asks with {} bytes", first.body.len());
            let (offered, text) = (offered_tools(first), String::from_utf8_lossy(&first.body));
            // A tool that is not offered is named, so that it can be loaded.
            let named = |tool: &str| offered.contains(tool) || text.contains(tool) && offered.contains("tool_search");
            let Some(defined) = defined_tools(&fixture, agent) else {
                assert!(["view", "edit", "shell", "task"].iter().all(|tool| named(tool)), "{model}: {agent}: {text}");
                continue;
            };
            let more: Vec<&String> = offered.difference(&defined).filter(|tool| *tool != "tool_search").collect();
            assert_eq!(more, Vec::<&String>::new(), "{model}: {agent} is offered more than its file names");
            assert!(defined.iter().all(|tool| named(tool)), "{model}: {agent} lacks tools: {offered:?}");
        }
    }
}
