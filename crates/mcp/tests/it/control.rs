//! Servers that are listed, switched, connected and replaced while a session runs.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bosun_mcp::{
    DefinedMcpServer, McpAddress, McpProgram, McpServerDefiner, McpServerSettings, McpServers, McpServersConfig,
};
use host::Guardian;
use protocol::api::{McpServerScope, McpServerStatus, McpServerView};
use protocol::{AgentSpec, Event, McpServerSpec};
use serde_json::json;
use testkit::mcp::ScriptedMcpProgram;
use testkit::session::{guardian, scenario};
use tools::{McpControlError, McpServerControl, ToolCatalog};

fn settings(name: &str, address: McpAddress) -> McpServerSettings {
    McpServerSettings {
        name: name.into(),
        address,
        start_timeout: Duration::from_secs(20),
        call_timeout: Duration::from_secs(20),
        task_timeout: Duration::from_secs(60),
        tools: Some(vec!["add".into(), "view".into()]),
        denied_tools: vec!["view".into()],
        revision: None,
        sampling: false,
    }
}

fn program(name: &str, server: &ScriptedMcpProgram) -> DefinedMcpServer {
    let (command, args) = server.command();
    let program = McpProgram { command, args, env: Vec::new(), cwd: server.folder(), pinned: Vec::new() };
    settings(name, McpAddress::Program(program)).into()
}

fn config(servers: Vec<DefinedMcpServer>) -> McpServersConfig {
    let env = vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())];
    McpServersConfig { servers, env, ..McpServersConfig::default() }
}

fn servers(servers: Vec<DefinedMcpServer>) -> Arc<McpServers> {
    Arc::new(McpServers::new(config(servers)))
}

fn view(servers: &McpServers, name: &str) -> McpServerView {
    servers.servers().into_iter().find(|server| server.name == name).unwrap()
}

#[tokio::test]
async fn servers_show_their_states_and_tools() {
    let (works, guardian) = (ScriptedMcpProgram::new(json!({})), Guardian::new(guardian()));
    let locked = ScriptedMcpProgram::new(json!({ "token": "secret" })).serve();
    let url = McpAddress::Url { url: locked.url().into(), headers: Vec::new(), oauth: Box::default() };
    let broken = DefinedMcpServer { settings: Err("it has no `command`".into()), ..program("broken", &works) };
    let off = DefinedMcpServer { is_enabled: false, ..program("off", &works) };
    let servers = servers(vec![program("calc", &works), settings("locked", url).into(), broken, off]);
    let states = |servers: &McpServers| {
        let states = servers.servers().into_iter().map(|server| (server.name, server.status));
        states.collect::<Vec<_>>()
    };
    let state = |name: &str, status| (name.to_owned(), status);
    let mut expected = [
        state("broken", McpServerStatus::Failed),
        state("calc", McpServerStatus::Ready),
        state("locked", McpServerStatus::Ready),
        state("off", McpServerStatus::Disabled),
    ];
    assert_eq!(states(&servers), expected, "nothing is started");
    servers.reconnect("calc", &guardian).await.unwrap();
    let refused = servers.reconnect("locked", &guardian).await.unwrap_err();
    assert!(refused.to_string().contains("it needs a login"), "{refused}");
    expected[1].1 = McpServerStatus::Connected;
    expected[2].1 = McpServerStatus::NeedsAuth;
    assert_eq!(states(&servers), expected);
    let calc = view(&servers, "calc");
    let tools: Vec<String> = calc.tools.unwrap().into_iter().map(|tool| tool.full_name).collect();
    assert_eq!(tools, ["mcp__calc__add"], "only tools that agents may call");
    assert!(calc.server_info.is_some_and(|info| !info.name.is_empty()));
    assert_eq!(view(&servers, "broken").error.as_deref(), Some("it has no `command`"));
    let unusable =
        |server: &str| McpControlError::Unusable { server: server.into(), why: "it has no `command`".into() };
    assert_eq!(servers.reconnect("broken", &guardian).await, Err(unusable("broken")));
    assert_eq!(servers.reconnect("off", &guardian).await, Err(McpControlError::Disabled("off".into())));
    let unknown = servers.reconnect("other", &guardian).await.unwrap_err();
    assert!(matches!(unknown, McpControlError::Unknown { known, .. } if known.len() == 4));
}

#[tokio::test]
async fn a_disabled_server_ends_and_is_not_started_until_it_is_enabled() {
    let (server, guardian) = (ScriptedMcpProgram::new(json!({})), Guardian::new(guardian()));
    let servers = servers(vec![program("calc", &server)]);
    servers.reconnect("calc", &guardian).await.unwrap();
    servers.set_enabled("calc", false).unwrap();
    assert!(servers.sources().is_empty(), "the model is not told of it");
    assert!(servers.tool("mcp__calc__add").is_none());
    assert!(servers.list("calc", &guardian).await.tools.is_empty());
    assert_eq!(view(&servers, "calc").status, McpServerStatus::Disabled);
    servers.set_enabled("calc", true).unwrap();
    assert_eq!(view(&servers, "calc").status, McpServerStatus::Ready);
    assert_eq!(servers.list("calc", &guardian).await.tools.len(), 1);
    assert_eq!(server.pids().len(), 2, "it was started again");
    servers.reconnect("calc", &guardian).await.unwrap();
    assert_eq!(server.pids().len(), 3);
}

#[tokio::test]
async fn servers_of_an_agent_are_for_that_agent_alone() {
    let (shared, own) = (ScriptedMcpProgram::new(json!({})), ScriptedMcpProgram::new(json!({})));
    let of_agent = |name: &str| DefinedMcpServer { agent: Some("scout".into()), ..program(name, &own) };
    let servers = servers(vec![program("calc", &shared), of_agent("calc"), of_agent("map")]);
    let guardian = Guardian::new(guardian());
    let scout = Arc::clone(&servers).for_agent("scout");
    let poet = Arc::clone(&servers).for_agent("poet");
    assert_eq!((scout.sources(), poet.sources()), (vec!["calc".into(), "map".into()], vec!["calc".to_owned()]));
    assert!(poet.tool("mcp__map__add").is_none());
    scout.list("calc", &guardian).await;
    assert_eq!((own.pids().len(), shared.pids().len()), (1, 0), "its own server hides the shared one");
    poet.list("calc", &guardian).await;
    assert_eq!((own.pids().len(), shared.pids().len()), (1, 1));
    let names: Vec<String> = servers.servers().into_iter().map(|server| server.name).collect();
    assert_eq!(names, ["calc", "scout/calc", "scout/map"]);
    servers.set_enabled("scout/calc", false).unwrap();
    assert_eq!(scout.sources(), ["map"], "the shared server stays hidden");
}

/// Servers whose command is a name are usable.
#[derive(Debug)]
struct TestDefiner;

impl McpServerDefiner for TestDefiner {
    fn define(&self, servers: &BTreeMap<String, McpServerSpec>) -> Vec<DefinedMcpServer> {
        let define = |(name, spec): (&String, &McpServerSpec)| {
            let command = spec.command.clone().ok_or("it has no `command`");
            let settings = command.map(|command| {
                let (args, cwd) = (spec.args.clone(), "/".into());
                let program = McpProgram { command, args, env: Vec::new(), cwd, pinned: Vec::new() };
                settings(name, McpAddress::Program(program))
            });
            let defined = settings.clone().map(DefinedMcpServer::from).unwrap_or_else(|_| DefinedMcpServer {
                name: name.clone(),
                scope: McpServerScope::Session,
                origin: "a test".into(),
                address: String::new(),
                agent: None,
                is_enabled: true,
                settings: Err(String::new()),
            });
            DefinedMcpServer { settings: settings.map_err(str::to_owned), ..defined }
        };
        servers.iter().map(define).collect()
    }
}

#[tokio::test]
async fn clients_replace_the_servers_that_they_added() {
    let (server, guardian) = (ScriptedMcpProgram::new(json!({})), Guardian::new(guardian()));
    let fixed = program("fixed", &server);
    let servers = McpServers::new(McpServersConfig { definer: Some(Arc::new(TestDefiner)), ..config(vec![fixed]) });
    let (command, args) = server.command();
    let spec = McpServerSpec { command: Some(command), args, ..McpServerSpec::default() };
    let set = |names: &[&str]| {
        let mut named: BTreeMap<String, McpServerSpec> =
            names.iter().map(|name| ((*name).to_owned(), spec.clone())).collect();
        named.insert("bad".into(), McpServerSpec::default());
        servers.set_servers(&named).unwrap()
    };
    let first = set(&["one", "two"]);
    assert_eq!((first.added, first.removed), (vec!["one".to_owned(), "two".into()], vec![]));
    assert_eq!(first.errors["bad"], "it has no `command`");
    servers.reconnect("one", &guardian).await.unwrap();
    let second = set(&["one", "three"]);
    assert_eq!((second.added, second.removed), (vec!["three".to_owned()], vec!["two".to_owned()]));
    assert_eq!(view(&servers, "one").status, McpServerStatus::Connected, "what stays is not started again");
    assert_eq!(server.pids().len(), 1);
    let names: Vec<String> = servers.servers().into_iter().map(|server| server.name).collect();
    assert_eq!(names, ["bad", "fixed", "one", "three"]);
    let last = servers.set_servers(&BTreeMap::new()).unwrap();
    assert_eq!(last.removed, ["bad", "one", "three"]);
    assert!(servers.tool("mcp__one__add").is_none());
    let without = McpServers::new(config(Vec::new()));
    assert_eq!(without.set_servers(&BTreeMap::new()), Err(McpControlError::Fixed));
}

#[tokio::test]
async fn an_agent_calls_its_own_server() {
    let (own, about) = (ScriptedMcpProgram::new(json!({})), "Adds.".to_owned());
    let catalog = servers(vec![DefinedMcpServer { agent: Some("adder".into()), ..program("calc", &own) }]);
    let script = "
version: 1
agents:
  main:
    - [ { call: { id: c1, tool: mcp__calc__add, input: { a: 1, b: 1 } } } ]
    - [ { call: { id: c2, tool: task, input: { description: Adds, agent_type: adder, name: adder, prompt: add, mode: sync } } } ]
    - [ { say: 'done' } ]
  adder:
    - [ { call: { id: c3, tool: mcp__calc__add, input: { a: 2, b: 3 } } } ]
    - [ { say: '${answer}' } ]
";
    let adder = AgentSpec {
        name: "adder".into(),
        description: about,
        prompt: "Add.".into(),
        model_invocable: true,
        ..AgentSpec::default()
    };
    let run = scenario().script(script).agent(adder).allow_all().tool_catalog(catalog).prompt("go").run().await;
    let answer = |wanted: &str| {
        run.events().iter().find_map(|envelope| match &envelope.entry.event {
            Event::CallAnswered { call, answer, .. } if call.0 == wanted => Some(answer.text.clone()),
            _other => None,
        })
    };
    assert!(answer("c1").unwrap().contains("There is no tool"), "{}", run.transcript());
    assert_eq!(answer("c3").as_deref(), Some("the sum is 5"), "{}", run.transcript());
}
