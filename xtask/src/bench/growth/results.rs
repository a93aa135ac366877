//! Background results: agents that end one after the other while the root is idle.

use std::fmt::Write as _;

use anyhow::{Context, Result};

use super::{GrowthBench, answer, home, script};

/// Numbers of agents that the root starts.
const AGENTS: [usize; 2] = [100, 400];

/// One at a time, so that no two end together.
const CONFIG: &str = "[limits]\nlive = 1\ntotal = 4096\n";

/// Measures and prints.
pub(super) fn bench(stage: &GrowthBench<'_>) -> Result<()> {
    println!("Background agents that end one after the other:\n");
    println!("| agents | total turns | total input tokens |");
    println!("|---:|---:|---:|");
    for agents in AGENTS {
        let home = home(stage, &format!("results-{agents}"), CONFIG)?;
        let model = script(stage, &format!("results-{agents}.yaml"), &text(agents, "20ms"))?;
        let answer = answer(stage, &home, &model)?;
        let number = |pointer: &str| answer.pointer(pointer).and_then(serde_json::Value::as_u64);
        let turns = number("/turns").context("the answer has no turns")?;
        let input = number("/usage/input").context("the answer has no tokens")?;
        println!("| {agents} | {turns} | {input} |");
    }
    println!();
    Ok(())
}

/// A root that starts this many agents in the background, each of which answers after a while.
fn text(agents: usize, after: &str) -> String {
    let mut text = format!(
        "version: 1\n\
         rules:\n\
         \x20 - when: {{ path: \"/root/.*\" }}\n\
         \x20   answer: [ {{ wait: {after} }}, {{ say: Done. }} ]\n\
         \x20 - when: {{ turn: 2.. }}\n\
         \x20   answer: [ {{ say: Go on. }} ]\n\
         \x20 - answer:\n"
    );
    for number in 1..=agents {
        let input = format!(
            "description: Works, prompt: Do it., agent_type: general-purpose, name: w{number}, mode: background"
        );
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
        assert_eq!(text(3, "1ms").matches("tool: task").count(), 3);
    }
}
