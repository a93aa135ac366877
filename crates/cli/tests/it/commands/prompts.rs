//! Sources of prompts, and their errors.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use insta::assert_snapshot;
use testkit::binary::BinaryFixture;
use testkit::server::ModelServer;

use super::normalized;
use crate::scripts::HELLO;
use crate::{BOSUN, fixture};

/// Repeats the beginning of the prompt.
const ECHO: &str = "
version: 1
rules:
  - when: { prompt: \"^(?s)(.{1,40})\" }
    answer:
      - say: \"You said: ${1}\"
";

#[test]
fn a_prompt_is_an_argument_or_comes_from_stdin() {
    let fixture = fixture();
    fixture.script(ECHO);
    let output = |ended: testkit::binary::BinaryExit| ended.expect(0).stdout;
    assert_eq!(output(fixture.bosun(["-p", "hello there"]).run()), "You said: hello there\n");
    assert_eq!(output(fixture.bosun(["--prompt", "two\nlines"]).run()), "You said: two\nlines\n");
    assert_eq!(output(fixture.bosun(["-p"]).stdin("from a pipe").run()), "You said: from a pipe\n");
    assert_eq!(output(fixture.bosun(["-p", "-"]).stdin("from a pipe").run()), "You said: from a pipe\n");
    assert_eq!(output(fixture.bosun(["-p", "--allow-all"]).stdin("from a pipe").run()), "You said: from a pipe\n");
}

#[test]
fn empty_prompt_is_refused() {
    let fixture = fixture();
    fixture.script(HELLO);
    let empty = fixture.bosun(["-p", ""]).run().expect(2);
    assert_snapshot!(empty.stderr, @r"
    error: the prompt is empty
    hint: write it after -p, or pipe it to stdin
    ");
    fixture.bosun(["-p", " \n\t "]).run().expect(2).says(&["the prompt is empty"]);
    fixture.bosun(["-p"]).run().expect(2).says(&["the prompt is empty"]);
    let nothing = fixture.bosun([""; 0]).run().expect(2);
    assert_snapshot!(nothing.stderr, @r"
    error: no prompt given
    hint: give one with -p, which also reads it from a pipe, or try `bosun demo`; `bosun --help` shows more
    ");
    assert!(fixture.sessions().is_empty());
}

#[test]
fn a_prompt_that_is_not_text_is_refused() {
    let fixture = fixture();
    fixture.script(HELLO);
    let piped = fixture.bosun(["-p"]).stdin(*b"caf\xe9").run().expect(2);
    assert_snapshot!(piped.stderr, @"error: the prompt on stdin is not UTF-8 text (byte 3)");
    fixture.bosun([OsStr::new("-p"), OsStr::from_bytes(b"caf\xe9")]).run().expect(2).says(&["UTF-8"]);
    assert!(fixture.sessions().is_empty());
}

#[test]
fn prompt_size_is_limited() {
    let fixture = fixture();
    fixture.script(ECHO);
    let most = 8 << 20;
    let taken = fixture.bosun(["-p"]).stdin(vec![b'x'; most]).run().expect(0);
    assert_eq!(taken.stdout, format!("You said: {}\n", "x".repeat(40)));
    let refused = fixture.bosun(["-p"]).stdin(vec![b'x'; most + 1]).run().expect(2);
    assert_snapshot!(refused.stderr, @r"
    error: the prompt on stdin is larger than 8388608 bytes
    hint: put it into a file and name the file in the prompt
    ");
    assert_eq!(fixture.sessions().len(), 1);
}

#[test]
fn a_model_is_chosen_by_flag_variable_or_file() {
    let fixture = fixture();
    fixture.script(HELLO);
    std::fs::write(fixture.path("other.yaml"), HELLO.replace("Hello", "Other")).unwrap();
    let output = |ended: testkit::binary::BinaryExit| ended.expect(0).stdout;
    assert_eq!(output(fixture.prompt("hi").run()), "Hello.\n");
    assert_eq!(output(fixture.prompt("hi").env("BOSUN_MODEL", "script/other.yaml").run()), "Other.\n");
    assert_eq!(output(fixture.prompt("hi").args(["--model", "script/other.yaml"]).run()), "Other.\n");
    let unset = fixture.prompt("hi").without_env("BOSUN_MODEL").run().expect(2);
    assert_snapshot!(unset.stderr, @r"
    error: no model is chosen
    hint: set ANTHROPIC_API_KEY or OPENAI_API_KEY, or give one with --model, such as anthropic/claude-sonnet-5-5 or ollama/qwen3:8b, with BOSUN_MODEL, or as `model` in config.toml; `bosun models` lists all models, and `bosun demo` needs none
    ");
    std::fs::write(fixture.home().join("config.toml"), "model = 'script/other.yaml'\n").unwrap();
    assert_eq!(output(fixture.prompt("hi").without_env("BOSUN_MODEL").run()), "Other.\n");
}

#[test]
fn key_selects_a_default_model_and_a_short_name_another() {
    let (fixture, server) = (fixture(), ModelServer::script(HELLO).start());
    let ask = |text: &str| fixture.prompt(text).against(&server).without_env("BOSUN_MODEL");
    let model = |args: &[&str]| {
        let json = ask("hi").args(["--output-format", "json"]).args(args.iter().copied()).run().expect(0);
        assert!(!json.stderr.contains("using the model"), "{}", json.stderr);
        json.json()["models"]["asked"][0].as_str().unwrap().to_owned()
    };
    assert_eq!(model(&[]), "anthropic/claude-sonnet-5-5");
    let output = ask("hi").run().expect(0).stderr;
    let expected = "using the model anthropic/claude-sonnet-5-5, since ANTHROPIC_API_KEY is set and no model is chosen";
    assert_eq!(output.matches(expected).count(), 1, "{output}");
    assert!(!ask("hi").run().expect(0).stderr.contains(expected), "it is reported once");
    let other = ask("hi").without_env("ANTHROPIC_API_KEY").run().expect(0).stderr;
    assert!(other.contains("using the model openai/gpt-6.1-sol, since OPENAI_API_KEY is set"), "{other}");
    assert_eq!(model(&["--model", "opus"]), "anthropic/claude-opus-5-5");
    std::fs::write(fixture.home().join("config.toml"), "model = 'haiku'\n").unwrap();
    assert_eq!(model(&[]), "anthropic/claude-haiku-5-5");
}

#[test]
fn unusable_model_is_named_with_file_and_line() {
    let fixture = fixture();
    let refused =
        |model: &str| normalized(&fixture, &fixture.prompt("hi").args(["--model", model]).run().expect(2).stderr);
    let stranger = refused("gpt/5");
    assert!(stranger.contains("`gpt`") && stranger.contains("hint: `bosun models` lists the providers"), "{stranger}");
    assert_snapshot!(refused("script/none.yaml"), @"error: cannot read the script /stage/work/none.yaml: No such file or directory (os error 2)");
    assert_snapshot!(refused("replay/none.jsonl"), @"error: cannot use the recording /stage/work/none.jsonl: No such file or directory (os error 2)");
    std::fs::write(fixture.path("bad.yaml"), "version: 1\nrules:\n  - when: { agnet: x }\n").unwrap();
    assert_snapshot!(refused("script/bad.yaml"), @"error: /stage/work/bad.yaml:3:13: unknown key `agnet`; known here: agent, path, turn, attempt, system, prompt, said, answered, contains, tools, not");
    std::fs::write(fixture.path("bad.jsonl"), "{}\nnot json\n").unwrap();
    assert_snapshot!(refused("replay/bad.jsonl"), @"error: /stage/work/bad.jsonl is not a recording; make one with --record FILE, in a new file");
    assert!(fixture.sessions().is_empty());
}

#[test]
fn a_folder_is_chosen_by_a_flag() {
    let fixture = fixture();
    std::fs::create_dir(fixture.path("below")).unwrap();
    fixture.script(&crate::scripts::shell("pwd"));
    let ended = fixture.prompt("where?").args(["-C", "below"]).run().expect(0);
    assert!(ended.stdout.ends_with("/work/below\n"), "{}", ended.stdout);
    let missing = fixture.prompt("where?").args(["-C", "missing"]).run().expect(2);
    assert_snapshot!(missing.stderr, @r"
    error: cannot work in missing: No such file or directory (os error 2)
    hint: choose another folder with -C
    ");
    std::fs::write(fixture.path("file"), "").unwrap();
    fixture.prompt("where?").args(["-C", "file"]).run().expect(2).says(&["cannot work in", "file", "-C"]);
    let relative = fixture.bosun(["-p", "where?", "-C", "file", "--model", "script/s.yaml"]).run();
    relative.expect(2).says(&["cannot work in file: not a directory", "-C"]);
    fixture.prompt("where?").args(["--add-dir", "missing"]).run().expect(2).says(&["missing"]);
    fixture.prompt("where?").args(["--add-dir", "file"]).run().expect(2).says(&["file", "not a directory"]);
}

#[test]
fn wrong_arguments_are_refused_and_help_succeeds() {
    let fixture = fixture();
    fixture.bosun(["--bogus"]).run().expect(2).says(&["unexpected argument '--bogus'", "--help"]);
    fixture.bosun(["fix it"]).run().expect(2).says(&["a conversation needs a terminal", "bosun -p"]);
    fixture.bosun(["fix it", "-p", "and that"]).run().expect(2).says(&["cannot be used with"]);
    fixture
        .bosun(["sesions"])
        .run()
        .expect(2)
        .says(&["there is no command `sesions`", "did you mean `bosun sessions`"]);
    fixture.bosun(["-p", "- fix it"]).run().expect(2).says(&["hint: a prompt that begins with a dash", "--prompt="]);
    let other = fixture.bosun(["sessions", "shw"]).run().expect(2);
    assert!(!other.stderr.contains("hint"), "{other:?}");
    fixture.bosun(["-p", "hi", "--max-turns", "0"]).run().expect(2).says(&["--max-turns"]);
    fixture.bosun(["-p", "hi", "--park-wait", "3d"]).run().expect(2).says(&["unknown unit; use ms, s, m or h"]);
    fixture.bosun(["-p", "hi", "--output-format", "xml"]).run().expect(2).says(&["text", "json", "jsonl"]);
    fixture.bosun(["--continue", "--resume", "1"]).run().expect(2).says(&["cannot be used with"]);
    let version = fixture.bosun(["--version"]).run().expect(0);
    assert_eq!(version.stdout, format!("bosun {}\n", env!("CARGO_PKG_VERSION")));
    let help = fixture.bosun(["--help"]).run().expect(0);
    assert!(help.stderr.is_empty() && help.stdout.contains("Exit codes: 0 all succeeded"), "{help:?}");
    for command in ["sessions", "models", "cost", "gc", "script", "demo"] {
        assert!(help.stdout.contains(command), "{command}");
        let help = fixture.bosun([command, "--help"]).run().expect(0);
        assert!(help.stdout.starts_with(char::is_uppercase), "{command}: {}", help.stdout);
    }
    assert!(!fixture.home().exists(), "help creates nothing");
}

/// In a folder that cannot be entered, every file looks unreadable; the error names the folder.
#[test]
fn unreadable_work_folder_is_named() {
    use std::os::unix::fs::PermissionsExt;
    let fixture = BinaryFixture::of_ordinary_user(BOSUN);
    let closed = fixture.path("closed");
    std::fs::create_dir(&closed).unwrap();
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o000)).unwrap();
    let ended = fixture.script(HELLO).prompt("where?").args(["-C", "closed"]).run().expect(2);
    ended.says(&["cannot work in closed: Permission denied", "change its permissions"]);
}

#[test]
fn missing_folder_for_trust_is_named_with_a_hint() {
    fixture().bosun(["trust", "/no/such/folder"]).run().expect(2).says(&["/no/such/folder", "bosun trust DIR"]);
}
