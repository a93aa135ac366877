//! MCP: agents that share a server, and what a session without servers pays.

use std::fmt::Write as _;
use std::fs;

use anyhow::{Context, Result};

use super::BenchFolder;
use super::provider::first_request;
use crate::measure::{RunFigures, measure, table};
use crate::run::root;

/// Number of agents, and of calls that each makes.
const AGENTS: usize = 20;
const CALLS: usize = 10;

/// Number of runs with the agents, and of runs with one turn.
const RUNS: usize = 9;
const SHORT_RUNS: usize = 30;

const MODEL: &str = "anthropic/test-model";

/// Calls of a tool of the server, and of one that needs no server.
const SERVER_CALL: &str = "mcp__calc__add, input: { a: 1, b: 1 }";
const OWN_CALL: &str = "report_intent, input: { intent: adding }";

/// Measures and prints; another binary is measured without servers.
pub(super) fn bench(ground: &BenchFolder, before: Option<&BenchFolder>) -> Result<()> {
    let agents = [("shared.yaml", SERVER_CALL), ("own.yaml", OWN_CALL)];
    for (file, call) in agents {
        fs::write(ground.folder.join(file), script(call)).with_context(|| format!("cannot write {file}"))?;
    }
    let none = format!("{AGENTS} agents with {CALLS} calls each, no server");
    let mut rows = vec![(none, prompt(ground, "own.yaml", RUNS)?)];
    rows.push(("one turn, no server".into(), prompt(ground, "one-turn.yaml", SHORT_RUNS)?));
    let mut sizes = vec![("no server", first_request(ground, MODEL)?)];
    if let Some(before) = before {
        rows.push(("one turn, the other binary".into(), prompt(before, "one-turn.yaml", SHORT_RUNS)?));
        sizes.push(("no server, the other binary", first_request(before, MODEL)?));
    }
    define_server(ground)?;
    rows.push(("one turn, a server that is not needed".into(), prompt(ground, "one-turn.yaml", SHORT_RUNS)?));
    sizes.push(("one server", first_request(ground, MODEL)?));
    rows.push((
        format!("{AGENTS} agents with {CALLS} calls each of one server, with the server"),
        prompt(ground, "shared.yaml", RUNS)?,
    ));
    let rows: Vec<(&str, RunFigures)> = rows.iter().map(|(what, figures)| (what.as_str(), *figures)).collect();
    println!("\nMedians of {RUNS} runs, {SHORT_RUNS} of those with one turn.\n\n{}", table(&rows));
    for (what, bytes) in sizes {
        println!("The first request has {bytes} bytes ({what}).");
    }
    Ok(())
}

fn prompt(side: &BenchFolder, script: &str, runs: usize) -> Result<RunFigures> {
    let (folder, model) = (side.folder(), format!("script/{script}"));
    let command = [&side.binary, "-p", "go", "--quiet", "--allow-all", "-C", &folder, "--model", &model];
    measure(&command, &side.home(), &[], runs)
}

/// Defines the test kit's server in the user's settings.
fn define_server(ground: &BenchFolder) -> Result<()> {
    let server = root().join("testkit/src/mcp_server.py");
    let text = format!("[mcp.servers.calc]\ncommand = 'python3'\nargs = ['{}', '{{}}']\n", server.display());
    fs::write(ground.home().join("config.toml"), text).context("cannot write the settings")
}

/// A root that starts the agents in one message; each makes its calls, one per turn.
fn script(call: &str) -> String {
    let mut text = format!(
        "version: 1
rules:
  - when: {{ prompt: Add it, turn: 1..{CALLS} }}
    answer: [ {{ call: {{ tool: {call} }} }} ]
  - when: {{ prompt: Add it }}
    answer: [ {{ say: Done. }} ]
  - when: {{ turn: 2.. }}
    answer: [ {{ say: All done. }} ]
  - answer:
"
    );
    for number in 1..=AGENTS {
        let input = format!("description: Adds, prompt: Add it, agent_type: general-purpose, name: w{number}");
        // Writing to a string cannot fail.
        let _written = writeln!(text, "      - call: {{ tool: task, input: {{ {input} }} }}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_agent_has_a_call() {
        assert_eq!(script(SERVER_CALL).matches("tool: task").count(), AGENTS);
    }
}
