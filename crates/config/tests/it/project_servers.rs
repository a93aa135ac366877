//! MCP servers that a project's files define.

use config::{CatalogListing, Env, McpServerState, TrustStatus, TrustedContents};
use protocol::SessionOptions;
use serde_json::{Value, json};

use crate::Machine;

fn define(machine: &Machine, server: &Value) {
    machine.write("project/.mcp.json", &json!({ "mcpServers": { "s": server } }).to_string());
}

/// Why the project's server is not used, or that it is used, if the project is trusted.
fn state(machine: &Machine, vars: &[(&str, &str)]) -> String {
    let vars: Vec<_> = vars.iter().map(|(name, value)| (name.into(), value.into())).collect();
    let layers = machine.layers(TrustStatus::Trusted).unwrap();
    let set = layers
        .mcp_servers(&SessionOptions::default(), &Env::from(vars), &machine.top(), &CatalogListing::default())
        .unwrap();
    assert_eq!(set.problems, [""; 0]);
    match &set.servers[0].state {
        McpServerState::Ready(_) => "ready".into(),
        McpServerState::Disabled(_) => "disabled".into(),
        McpServerState::Unusable(why) => machine.shown(why),
    }
}

#[test]
fn trust_includes_the_programs_of_servers() {
    for (server, program) in [
        (json!({ "command": "./server.sh" }), "server.sh"),
        (json!({ "command": "python3", "args": ["-u", "tools/server.py"] }), "tools/server.py"),
        (json!({ "command": "python3", "args": ["-m", "tools.server"] }), "tools/server.py"),
        (json!({ "command": "server", "env": { "PATH": "./bin" } }), "bin/server"),
        (json!({ "command": "node", "args": ["server.js"], "cwd": "tools" }), "tools/server.js"),
        (json!({ "command": "node", "args": ["x.js"], "env": { "NODE_OPTIONS": "--require ./hook.js" } }), "hook.js"),
        (json!({ "command": "${SHELL_OF_SERVER:-bash}", "args": ["${WHERE:-tools}/server.sh"] }), "tools/server.sh"),
        (json!({ "command": "${CLAUDE_PROJECT_DIR:-.}/server.sh" }), "server.sh"),
    ] {
        let machine = Machine::new();
        machine.write(&format!("project/{program}"), "one");
        define(&machine, &server);
        let digest = || TrustedContents::read(&machine.top(), &machine.home()).unwrap().digest;
        let trusted = digest();
        machine.write(&format!("project/{program}"), "two");
        assert_ne!(digest(), trusted, "{server}");
        assert_eq!(state(&machine, &[]), "ready", "{server}");
    }
}

/// The variables of the terminal in which a session starts are not known when the user trusts the project.
#[test]
fn variables_do_not_lead_to_a_program_that_trust_does_not_cover() {
    let machine = Machine::new();
    machine.write("project/good.sh", "").write("project/evil.sh", "");
    define(&machine, &json!({ "command": "${SERVER:-./good.sh}" }));
    assert_eq!(state(&machine, &[]), "ready");
    assert_eq!(state(&machine, &[("SERVER", "./good.sh")]), "ready");
    assert_eq!(state(&machine, &[("SERVER", "/usr/bin/server")]), "ready", "a program of the user's machine");
    let expected = "its variables make it run /project/evil.sh, which trust does not cover; write that path without \
                    variables";
    assert_eq!(state(&machine, &[("SERVER", "./evil.sh")]), expected);
    define(&machine, &json!({ "command": "${HERE}/evil.sh" }));
    let top = machine.top().display().to_string();
    assert_eq!(state(&machine, &[("HERE", &top)]), expected);
}
