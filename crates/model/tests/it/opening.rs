//! The `--model` argument.

use std::fs;

use bosun_model::{Providers, Recorder, open};

use crate::conversation::prompt;

#[tokio::test]
async fn a_model_is_opened_by_its_provider_and_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let script = "version: 1\nrules: [ { answer: [ { say: hi } ] } ]";
    fs::create_dir(folder.path().join("a")).unwrap();
    fs::write(folder.path().join("a/s.yaml"), script).unwrap();

    let relative = open("script/a/s.yaml", folder.path(), &Providers::default()).unwrap();
    assert_eq!(relative.name(), "script/s.yaml");
    let absolute =
        open(&format!("script/{}/a/s.yaml", folder.path().display()), "/nowhere".as_ref(), &Providers::default())
            .unwrap();
    assert_eq!(absolute.name(), "script/s.yaml");

    let recorder = Recorder::open(relative, &folder.path().join("r.jsonl")).unwrap();
    let recorded = crate::conversation::reply(&recorder, prompt("go")).await;
    let replay = open("replay/r.jsonl", folder.path(), &Providers::default()).unwrap();
    assert_eq!(replay.name(), "replay/r.jsonl");
    assert_eq!(crate::conversation::reply(replay.as_ref(), prompt("go")).await, recorded);
}

#[test]
fn what_cannot_be_opened_is_explained() {
    let cases = [
        ("gpt-9", "unknown model provider `gpt-9`; known are script/FILE and replay/FILE"),
        ("other/model", "unknown model provider `other`; known are script/FILE and replay/FILE"),
        ("", "unknown model provider ``; known are script/FILE and replay/FILE"),
        ("script", "`script` needs a file; write script/FILE"),
        ("replay/", "`replay` needs a file; write replay/FILE"),
        ("script/a.yaml", "cannot read the script /nowhere/a.yaml: No such file or directory (os error 2)"),
        ("replay/a", "cannot use the recording /nowhere/a: No such file or directory (os error 2)"),
    ];
    for (spec, message) in cases {
        assert_eq!(
            open(spec, "/nowhere".as_ref(), &Providers::default()).map(|_| "no error").unwrap_err().to_string(),
            message
        );
    }
}
