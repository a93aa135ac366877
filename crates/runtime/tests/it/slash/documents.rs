//! The manual lists all built-in commands.

use protocol::api::SlashKind;
use runtime::Catalog;
use runtime::slash::SlashRegistry;

#[test]
fn the_manual_lists_every_command_with_its_description() {
    let manual = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/slash-commands.md")).unwrap();
    let rows: Vec<String> =
        manual.lines().filter(|line| line.starts_with("| `/")).map(|line| line.replace("\\|", "|")).collect();
    let registry = SlashRegistry::of(&Catalog::default());
    let expected: Vec<String> = registry
        .commands()
        .map(|slash| {
            let usage = format!("/{} {}", slash.name, slash.hint.as_deref().unwrap_or_default());
            let place = if slash.kind == SlashKind::Screen { "terminal" } else { "everywhere" };
            format!("| `{}` | {} | {place} |", usage.trim_end(), slash.description)
        })
        .collect();
    assert_eq!(rows, expected);
}
