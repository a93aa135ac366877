//! Turns: sessions of many turns, each with one cheap call. The scripted model looks only at the turn number, and
//! nothing is compacted, so the conversation has two messages per turn.

use anyhow::Result;

use super::{GrowthBench, exponent, home, prompt, script};

/// Numbers of turns per session.
const TURNS: [usize; 3] = [1_000, 10_000, 40_000];

/// Measures and prints.
pub(super) fn bench(stage: &GrowthBench<'_>) -> Result<()> {
    let home = home(stage, "turns", "")?;
    let start = prompt(stage, &home, &script(stage, "turns-0.yaml", &text(0, ""))?, 5)?;
    println!("\nTurns with one call each, without the start of the program:\n");
    println!("| call ids | turns | CPU a turn | wall a turn | CPU grows with | peak memory |");
    println!("|---|---:|---:|---:|---:|---:|");
    for (ids, id) in [("all different", ""), ("the same each time", "id: same, ")] {
        let mut before = None;
        for turns in TURNS {
            let model = script(stage, &format!("turns-{turns}.yaml"), &text(turns, id))?;
            let figures = prompt(stage, &home, &model, 1)?;
            let cpu = figures.cpu.saturating_sub(start.cpu).as_secs_f64();
            let wall = figures.wall.saturating_sub(start.wall).as_secs_f64();
            let each = |seconds: f64| seconds * 1e3 / turns as f64;
            let grows = before.map_or(String::new(), |few| format!("n^{:.2}", exponent(few, (turns, cpu))));
            let mib = figures.peak_kib as f64 / 1024.0;
            println!("| {ids} | {turns} | {:.3} ms | {:.3} ms | {grows} | {mib:.0} MiB |", each(cpu), each(wall));
            before = Some((turns, cpu));
        }
    }
    println!();
    Ok(())
}

fn text(turns: usize, id: &str) -> String {
    let call = format!("{id}tool: report_intent, input: {{ intent: \"turn ${{turn}}\" }}");
    let calls = format!("  - when: {{ turn: \"1..{turns}\" }}\n    answer: [ {{ call: {{ {call} }} }} ]\n");
    let calls = if turns == 0 { String::new() } else { calls };
    format!("version: 1\nrules:\n{calls}  - answer: [ {{ say: Done. }} ]\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_has_as_many_turns_as_it_should() {
        let script = text(7, "id: same, ");
        assert!(script.contains("turn: \"1..7\"") && script.contains("{ id: same, tool: report_intent"), "{script}");
        assert!(!text(0, "").contains("report_intent"));
    }
}
