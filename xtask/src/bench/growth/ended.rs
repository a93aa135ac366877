//! Agents that have ended: the memory that the process keeps for each.

use anyhow::Result;

use super::{GrowthBench, home, prompt, script};

/// Numbers of agents per session.
const AGENTS: [usize; 3] = [250, 1_000, 4_000];

const CONFIG: &str = "[limits]\ntotal = 8192\n";

/// Measures and prints.
pub(super) fn bench(stage: &GrowthBench<'_>) -> Result<()> {
    println!("Agents that have ended, one started by each turn of the root, including their results in the root:\n");
    println!("| agents | peak memory | memory per additional agent |");
    println!("|---:|---:|---:|");
    let home = home(stage, "ended", CONFIG)?;
    let mut before: Option<(usize, u64)> = None;
    for agents in AGENTS {
        let model = script(stage, &format!("ended-{agents}.yaml"), &text(agents))?;
        let peak = prompt(stage, &home, &model, 1)?.peak_kib;
        let more = before.map_or(String::new(), |(few, least)| {
            format!("{:.2} KiB", peak.saturating_sub(least) as f64 / (agents - few) as f64)
        });
        println!("| {agents} | {:.1} MiB | {more} |", peak as f64 / 1024.0);
        before = Some((agents, peak));
    }
    println!();
    Ok(())
}

/// A root that starts this many agents, each after the previous one has ended.
fn text(agents: usize) -> String {
    let input = "description: Works, prompt: Do it., agent_type: general-purpose, name: \"w${turn}\", mode: sync";
    format!(
        "version: 1\n\
         rules:\n\
         \x20 - when: {{ path: \"/root/.*\" }}\n\
         \x20   answer: [ {{ say: Done. }} ]\n\
         \x20 - when: {{ turn: \"1..{agents}\" }}\n\
         \x20   answer: [ {{ call: {{ tool: task, input: {{ {input} }} }} }} ]\n\
         \x20 - answer: [ {{ say: Done. }} ]\n"
    )
}
