//! The same programs with the real agents in place of Bosun, and with Bosun, against the same model server.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::super::BenchFolder;
use super::super::provider;
use super::super::server::BenchServer;
use super::{AdapterBench, RUNS, SDKS, Sdk};

/// The model that everyone asks the server for.
const MODEL: &str = "claude-sonnet-4-5";

/// The real agents to measure, as the command line names them.
#[derive(Debug, Default)]
pub(crate) struct RealAgents {
    /// The binary to measure, if not the release binary.
    pub(crate) binary: Option<String>,
    claude: Option<PathBuf>,
    copilot: Option<PathBuf>,
}

impl RealAgents {
    /// Reads `--binary PATH`, `--claude PATH` and `--copilot PATH`.
    pub(crate) fn read(arguments: &[&str]) -> Result<RealAgents> {
        let mut agents = RealAgents::default();
        for pair in arguments.chunks(2) {
            let [name, path] = pair else { bail!("{} needs a path", pair.join(" ")) };
            match *name {
                "--binary" => agents.binary = Some((*path).to_owned()),
                "--claude" => agents.claude = Some(found(path)?),
                "--copilot" => agents.copilot = Some(found(path)?),
                other => bail!("`bench adapters` has no {other}"),
            }
        }
        Ok(agents)
    }

    /// The real agent of an SDK, if it is measured.
    fn of(&self, sdk: &Sdk) -> Option<&Path> {
        let agent = if sdk.adapter == "bosun-claude" { &self.claude } else { &self.copilot };
        agent.as_deref()
    }
}

fn found(path: &str) -> Result<PathBuf> {
    std::fs::canonicalize(path).with_context(|| format!("cannot find {path}"))
}

/// Measures and prints, if a real agent is named.
pub(super) fn bench(ground: &BenchFolder, place: &Path, programs: &Path, agents: &RealAgents) -> Result<()> {
    if agents.claude.is_none() && agents.copilot.is_none() {
        return Ok(());
    }
    let server = BenchServer::start(&ground.folder.join("one-turn.yaml"), "0ms", &[])?;
    let env = variables(ground, &server.url);
    println!("\nWith a model server on loopback, alternately with the real agent:\n");
    println!("| SDK | first words | peak memory | the real agent's first words | its peak memory |");
    println!("|---|---:|---:|---:|---:|");
    for sdk in &SDKS {
        let Some(real) = agents.of(sdk) else { continue };
        let bench = AdapterBench { ground, place, program: programs.join(sdk.file), env: env.clone() };
        let (own, other) = bench.both(&programs.join(sdk.adapter), real)?;
        println!(
            "| {} | {:.1} ms | {:.1} MiB | {:.1} ms | {:.1} MiB |",
            sdk.name, own.millis, own.mebibytes, other.millis, other.mebibytes
        );
    }
    println!("\nMedians of {RUNS} runs each.");
    Ok(())
}

/// What makes all of them use the server, and nothing else of the network.
fn variables(ground: &BenchFolder, url: &str) -> Vec<(&'static str, String)> {
    let mut variables = provider::variables(url);
    let home = ground.folder.join("home-of-agents").display().to_string();
    variables.extend([
        ("BOSUN_MODEL", format!("anthropic/{MODEL}")),
        ("ANTHROPIC_MODEL", MODEL.to_owned()),
        ("HOME", home.clone()),
        ("CLAUDE_CONFIG_DIR", format!("{home}/claude")),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1".to_owned()),
        ("DISABLE_AUTOUPDATER", "1".to_owned()),
        ("COPILOT_HOME", format!("{home}/copilot")),
        ("PROVIDER_URL", url.to_owned()),
        ("PROVIDER_KEY", "sk-0123456789".to_owned()),
        ("PROVIDER_MODEL", MODEL.to_owned()),
    ]);
    variables
}
