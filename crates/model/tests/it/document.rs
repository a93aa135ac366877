//! The documentation and the schema say what the program does.

use std::fs;
use std::path::PathBuf;

use bosun_model::{ScriptModel, generate_script_schema};
use serde_json::Value;

fn root(file: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join(file)
}

#[test]
fn documented_examples_are_valid_scripts() {
    let text = fs::read_to_string(root("docs/script-model.md")).unwrap();
    let examples: Vec<&str> =
        text.split("```yaml\n").skip(1).map(|rest| rest.split("```").next().unwrap_or_default()).collect();
    assert!(examples.len() >= 5, "found {} examples", examples.len());
    for example in examples {
        // An example may show the rules alone.
        let whole = if example.starts_with("version:") { example.to_owned() } else { format!("version: 1\n{example}") };
        ScriptModel::parse(&whole, "script-model.md").unwrap_or_else(|error| panic!("{error} in\n{example}"));
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the one switch of this test")]
fn the_schema_is_the_one_that_is_checked_in() {
    let path = root("schemas/script.schema.json");
    let schema = generate_script_schema();
    if std::env::var_os("BOSUN_BLESS").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, format!("{schema:#}\n")).unwrap();
    }
    let checked_in: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(checked_in, schema, "run this test with BOSUN_BLESS=1 to write the schema anew");
}
