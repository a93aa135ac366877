//! The manual names every settings key.

use std::path::Path;

use config::SettingsFile;

/// The tables, as they are written, and the keys in each.
const TABLES: [&str; 17] = [
    "",
    "[budget]",
    "[network]",
    "[limits]",
    "[agents]",
    "[features]",
    "[retention]",
    "[output]",
    "[lists]",
    "[permissions]",
    "[workspace]",
    "[environment]",
    "[managed]",
    "[mcp]",
    "[providers.openai]",
    "[providers.openai.models.x]",
    // A table that is not a table: the list of tables itself must be whole.
    "[providers]",
];

/// The keys of a table, from the error message for an unknown key.
fn keys(table: &str) -> Vec<String> {
    let error = SettingsFile::parse(&format!("{table}\nno-such-key = 1\n"), Path::new("x")).unwrap_err().to_string();
    let Some((_, known)) = error.split_once("expected ") else { return Vec::new() };
    known.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn every_settings_key_is_documented() {
    let path = format!("{}/../../docs/settings.md", env!("CARGO_MANIFEST_DIR"));
    let manual = std::fs::read_to_string(path).unwrap();
    let mut count = 0;
    for table in TABLES {
        let name = table.trim_matches(['[', ']']).replace("openai", "NAME").replace(".x", ".\"MODEL\"");
        for key in keys(table) {
            // The manual has rows for keys, not for tables; a key that is refused with a reason needs no row.
            let is_table = (name.is_empty() && TABLES.contains(&format!("[{key}]").as_str())) || key == "models";
            let key = if key == "per-type" { "per-type.TYPE".to_owned() } else { key };
            let is_alias = key.contains('_') || matches!(key.as_str(), "key" | "api-key" | "token" | "secret");
            if is_table || is_alias {
                continue;
            }
            let full = if name.is_empty() { key } else { format!("{name}.{key}") };
            assert!(manual.contains(&format!("| `{full}` |")), "{full} is not in docs/settings.md");
            count += 1;
        }
    }
    let rows = manual.lines().filter(|line| line.starts_with("| `") && line.matches('|').count() >= 4).count();
    assert_eq!(rows, count, "docs/settings.md has rows for keys that are not there");
}

#[test]
fn every_key_can_be_written_with_underscores() {
    for table in TABLES {
        let keys = keys(table);
        for key in keys.iter().filter(|key| key.contains('-') && *key != "api-key") {
            assert!(keys.contains(&key.replace('-', "_")), "{table} {key}");
        }
    }
}
