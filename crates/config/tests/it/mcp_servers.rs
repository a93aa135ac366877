//! MCP servers of agents' definitions and plugins, and those that clients name.

use std::collections::BTreeMap;
use std::fs;

use config::{CatalogListing, CatalogLocations, Env, McpServerSet, McpServerState, TrustStatus, gather_catalog};
use mcp::McpAddress;
use protocol::api::McpServerScope;
use protocol::{McpServerSpec, SessionOptions, SettingsFileScope};

use crate::Machine;

const SCOUT: &str = "---\ndescription: Looks\nmcp-servers:\n  - shared\n  - map: { command: ./map.sh, args: [\"${PORT:-80}\"] }\n---\nLook.\n";

impl Machine {
    fn listing(&self, trust: TrustStatus) -> CatalogListing {
        let (home, user, top) = (self.home(), self.path("user"), self.top());
        gather_catalog(&CatalogLocations {
            home: &home,
            user_home: Some(&user),
            project_dir: &top,
            trust,
            scopes: &SettingsFileScope::ALL,
            plugins: &[],
            skill_dirs: &[],
            inline: &[],
            remote: Default::default(),
            hooks_forbidden_by: None,
        })
        .unwrap()
    }

    fn servers(&self, trust: TrustStatus, options: &SessionOptions) -> McpServerSet {
        let layers = self.layers(trust).unwrap();
        layers.mcp_servers(options, &Env::default(), &self.top(), &self.listing(trust)).unwrap()
    }
}

/// The servers with their agents and whether they are ready.
fn shown(set: &McpServerSet) -> Vec<(String, Option<String>, bool)> {
    let row = |server: &config::ListedMcpServer| {
        let agent = server.origin.agent().map(str::to_owned);
        (server.name.clone(), agent, matches!(server.state, McpServerState::Ready(_)))
    };
    set.servers.iter().map(row).collect()
}

fn row(name: &str, agent: Option<&str>, is_ready: bool) -> (String, Option<String>, bool) {
    (name.to_owned(), agent.map(str::to_owned), is_ready)
}

#[test]
fn agents_have_servers_of_their_own() {
    let machine = Machine::new();
    machine.write("project/.claude/agents/scout.md", SCOUT).write("project/map.sh", "#!/bin/sh\n");
    machine.write("home/config.toml", "[mcp.servers.map]\ncommand = 'other'\n");
    let set = machine.servers(TrustStatus::Trusted, &SessionOptions::default());
    assert_eq!(shown(&set), [row("map", None, true), row("map", Some("scout"), true)]);
    let own = &set.servers[1];
    assert_eq!((own.origin.scope(), own.address.as_str()), (McpServerScope::Project, "./map.sh ${PORT:-80}"));
    let McpServerState::Ready(settings) = &own.state else { panic!("{own:?}") };
    let McpAddress::Program(program) = &settings.address else { panic!("{settings:?}") };
    assert_eq!((&program.cwd, &program.args[..]), (&machine.top(), &["80".to_owned()][..]));
    assert_eq!(program.pinned.len(), 1, "its script is trusted with the project: {program:?}");
    let spec = &machine.listing(TrustStatus::Trusted);
    let scout = &spec.agent("scout").unwrap().spec;
    assert_eq!((scout.tools.as_ref(), scout.unsupported.len()), (None, 0));
}

#[test]
fn an_agent_of_an_untrusted_project_starts_nothing() {
    let machine = Machine::new();
    machine.write("project/.claude/agents/scout.md", SCOUT).write("project/.github/agents/spy.agent.md", SCOUT);
    for trust in [TrustStatus::Untrusted, TrustStatus::Changed] {
        let set = machine.servers(trust, &SessionOptions::default());
        assert_eq!(shown(&set), [], "{trust:?}");
    }
}

#[test]
fn the_program_of_an_agents_server_is_trusted_with_the_project() {
    let machine = Machine::new();
    machine.write("project/.claude/agents/scout.md", SCOUT).write("project/map.sh", "#!/bin/sh\n");
    let digest = || config::TrustedContents::read(&machine.top(), &machine.home()).unwrap().digest;
    let before = digest();
    machine.write("project/map.sh", "#!/bin/sh\nrm -rf /\n");
    assert_ne!(digest(), before);
}

#[test]
fn an_unusable_definition_of_an_agent_says_why() {
    let machine = Machine::new();
    let agent = |server: &str| format!("---\ndescription: x\nmcpServers:\n  map: {server}\n---\nDo it.\n");
    machine.write("user/.claude/agents/bad.md", &agent("{ command: 5 }"));
    machine.write("user/.claude/agents/odd.md", &agent("{ command: map, colour: red }"));
    let listing = machine.listing(TrustStatus::Trusted);
    let told: Vec<&str> = listing.problems.iter().map(|problem| problem.message.as_str()).collect();
    assert!(told[0].contains("the MCP server `map` is not one: invalid type"), "{told:?}");
    assert!(told[1].contains("no effect have colour"), "{told:?}");
    assert!(listing.agent("bad").is_none() && listing.agent("odd").is_some());
}

#[test]
fn plugins_bring_servers_below_all_others() {
    let machine = Machine::new();
    machine
        .write("home/plugins/maps/plugin.json", r#"{"name": "maps"}"#)
        .write(
            "home/plugins/maps/.mcp.json",
            r#"{"mcpServers": {"map": {"command": "${CLAUDE_PLUGIN_ROOT}/map"}, "mine": {"command": "no"}}}"#,
        )
        .write(
            "home/plugins/inline/plugin.json",
            r#"{"name": "inline", "mcpServers": {"web": {"type": "http", "url": "https://example.com/mcp"}}}"#,
        )
        .write("home/plugins/named/plugin.json", r#"{"name": "named", "mcpServers": "./servers.json"}"#)
        .write("home/plugins/named/servers.json", r#"{"top": {"command": "top"}}"#)
        .write("home/config.toml", "[mcp.servers.mine]\ncommand = 'mine'\n");
    let set = machine.servers(TrustStatus::Untrusted, &SessionOptions::default());
    let names = ["map", "mine", "top", "web"].map(|name| row(name, None, true));
    assert_eq!((shown(&set), machine.listing(TrustStatus::Untrusted).problems), (names.to_vec(), vec![]));
    let McpServerState::Ready(settings) = &set.servers[0].state else { panic!("{:?}", set.servers[0]) };
    let McpAddress::Program(program) = &settings.address else { panic!("{settings:?}") };
    assert_eq!(program.command, machine.path("home/plugins/maps/map").display().to_string());
    assert_eq!(set.servers[1].address, "mine");
    assert_eq!(set.servers[0].origin.scope(), McpServerScope::Plugin);
    let only = SessionOptions { only_these_mcp_servers: true, ..SessionOptions::default() };
    assert_eq!(shown(&machine.servers(TrustStatus::Untrusted, &only)), []);
    machine.write("home/plugins/named/servers.json", "{");
    let problems = machine.listing(TrustStatus::Untrusted).problems;
    assert!(problems[0].message.starts_with("its MCP servers cannot be read"), "{problems:?}");
}

#[test]
fn clients_switch_servers_off_by_name() {
    let machine = Machine::new();
    machine.write("home/config.toml", "[mcp.servers.a]\ncommand = 'a'\n[mcp.servers.b]\nurl = 'ftp://b'\n");
    let options = SessionOptions {
        mcp_servers: BTreeMap::from([(
            "c".to_owned(),
            McpServerSpec { command: Some("c".into()), ..Default::default() },
        )]),
        disabled_mcp_servers: vec!["a".into(), "b".into()],
        ..SessionOptions::default()
    };
    let set = machine.servers(TrustStatus::Untrusted, &options);
    assert_eq!(shown(&set), [row("a", None, false), row("b", None, false), row("c", None, true)]);
    assert!(matches!(&set.servers[0].state, McpServerState::Disabled(Ok(_))), "it can be switched on");
    assert!(matches!(&set.servers[1].state, McpServerState::Disabled(Err(why)) if why.contains("http://")));
}

#[test]
fn managed_files_restrict_servers_of_agents_and_plugins() {
    let machine = Machine::new();
    machine
        .write("user/.claude/agents/scout.md", SCOUT)
        .write("home/plugins/p/plugin.json", r#"{"name": "p", "mcpServers": {"web": {"command": "web"}}}"#)
        .write("managed.toml", "[managed]\ndeny-mcp = [{ name = 'map' }, { command = ['web'] }]\n");
    let set = machine.servers(TrustStatus::Trusted, &SessionOptions::default());
    assert_eq!(shown(&set), [row("map", Some("scout"), false), row("web", None, false)]);
    assert!(
        set.servers
            .iter()
            .all(|server| { matches!(&server.state, McpServerState::Unusable(why) if why.contains("denies it")) })
    );
    fs::write(machine.path("managed.toml"), "[managed]\nforbid = ['mcp']\n").unwrap();
    assert!(machine.servers(TrustStatus::Trusted, &SessionOptions::default()).ready().next().is_none());
}
