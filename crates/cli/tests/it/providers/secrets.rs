//! Keys are only used: not stored, shown or passed on.

use std::fs;
use std::path::Path;

use testkit::binary::BinaryInvocation;
use testkit::server::ModelServer;

use super::MODELS;
use crate::fixture;

/// Prints the environment; then the provider refuses the key and repeats it in its message.
fn script() -> String {
    format!(
        "
version: 1
rules:
  - when: {{ turn: 1 }}
    answer:
      - call: {{ tool: shell, input: {{ command: \"env > seen.txt; cat seen.txt\" }} }}
  - fail: {{ class: auth, message: \"the key {} is not known\" }}
",
        BinaryInvocation::KEY
    )
}

#[test]
fn key_is_in_no_file_output_or_program_environment() {
    for model in MODELS {
        let server = ModelServer::script(&script()).key(BinaryInvocation::KEY).start();
        let fixture = fixture();
        let run =
            fixture.prompt_over(&server, model, "go").args(["--output-format", "jsonl", "--record", "record.jsonl"]);
        let ended = run.env("BOSUN_LOG", "debug").run().expect(7);
        assert_eq!(server.count(), 2, "{model}: the key was accepted");
        assert!(fs::read_to_string(fixture.path("seen.txt")).unwrap().contains("PATH="));
        assert!(!(ended.stdout + &ended.stderr).contains(BinaryInvocation::KEY), "{model}");
        for folder in [fixture.home(), fixture.folder()] {
            assert_without_key(&folder);
        }
    }
}

fn assert_without_key(folder: &Path) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            assert_without_key(&path);
        } else if path.is_file() {
            let bytes = fs::read(&path).unwrap();
            let key = BinaryInvocation::KEY.as_bytes();
            assert!(!bytes.windows(key.len()).any(|part| part == key), "{} has the key", path.display());
        }
    }
}
