//! Where a prompt comes from, and what is wrong with it.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use insta::assert_snapshot;
use testkit::binary::BinaryFixture;
use testkit::server::ModelServer;

use super::shown;
use crate::scripts::HELLO;
use crate::{BOSUN, stage};

/// Says how long the prompt was, in the words of the prompt.
const ECHO: &str = "
version: 1
rules:
  - when: { prompt: \"^(?s)(.{1,40})\" }
    answer:
      - say: \"You said: ${1}\"
";

#[test]
fn a_prompt_is_an_argument_or_comes_from_stdin() {
    let stage = stage();
    stage.script(ECHO);
    let said = |ended: testkit::binary::BinaryExit| ended.expect(0).stdout;
    assert_eq!(said(stage.bosun(["-p", "hello there"]).run()), "You said: hello there\n");
    assert_eq!(said(stage.bosun(["--prompt", "two\nlines"]).run()), "You said: two\nlines\n");
    assert_eq!(said(stage.bosun(["-p"]).stdin("from a pipe").run()), "You said: from a pipe\n");
    assert_eq!(said(stage.bosun(["-p", "-"]).stdin("from a pipe").run()), "You said: from a pipe\n");
    assert_eq!(said(stage.bosun(["-p", "--allow-all"]).stdin("from a pipe").run()), "You said: from a pipe\n");
}

#[test]
fn a_prompt_that_says_nothing_is_refused() {
    let stage = stage();
    stage.script(HELLO);
    let empty = stage.bosun(["-p", ""]).run().expect(2);
    assert_snapshot!(empty.stderr, @r"
    error: the prompt is empty
    hint: write it after -p, or to stdin
    ");
    stage.bosun(["-p", " \n\t "]).run().expect(2).says(&["the prompt is empty"]);
    stage.bosun(["-p"]).run().expect(2).says(&["the prompt is empty"]);
    let nothing = stage.bosun([""; 0]).run().expect(2);
    assert_snapshot!(nothing.stderr, @r"
    error: no prompt given
    hint: give one with -p, which also reads it from a pipe, or try `bosun demo`; `bosun --help` shows more
    ");
    assert!(stage.sessions().is_empty());
}

#[test]
fn a_prompt_that_is_not_text_is_refused() {
    let stage = stage();
    stage.script(HELLO);
    let piped = stage.bosun(["-p"]).stdin(*b"caf\xe9").run().expect(2);
    assert_snapshot!(piped.stderr, @"error: the prompt on stdin is not UTF-8 text (byte 3)");
    stage.bosun([OsStr::new("-p"), OsStr::from_bytes(b"caf\xe9")]).run().expect(2).says(&["UTF-8"]);
    assert!(stage.sessions().is_empty());
}

#[test]
fn a_huge_prompt_is_taken_up_to_a_limit() {
    let stage = stage();
    stage.script(ECHO);
    let most = 8 << 20;
    let taken = stage.bosun(["-p"]).stdin(vec![b'x'; most]).run().expect(0);
    assert_eq!(taken.stdout, format!("You said: {}\n", "x".repeat(40)));
    let refused = stage.bosun(["-p"]).stdin(vec![b'x'; most + 1]).run().expect(2);
    assert_snapshot!(refused.stderr, @r"
    error: the prompt on stdin is larger than 8388608 bytes
    hint: put it into a file and name the file in the prompt
    ");
    assert_eq!(stage.sessions().len(), 1);
}

#[test]
fn a_model_is_chosen_by_flag_variable_or_file() {
    let stage = stage();
    stage.script(HELLO);
    std::fs::write(stage.path("other.yaml"), HELLO.replace("Hello", "Other")).unwrap();
    let said = |ended: testkit::binary::BinaryExit| ended.expect(0).stdout;
    assert_eq!(said(stage.prompt("hi").run()), "Hello.\n");
    assert_eq!(said(stage.prompt("hi").env("BOSUN_MODEL", "script/other.yaml").run()), "Other.\n");
    assert_eq!(said(stage.prompt("hi").args(["--model", "script/other.yaml"]).run()), "Other.\n");
    let unset = stage.prompt("hi").without_env("BOSUN_MODEL").run().expect(2);
    assert_snapshot!(unset.stderr, @r"
    error: no model is chosen
    hint: set ANTHROPIC_API_KEY or OPENAI_API_KEY, or give one with --model, such as anthropic/claude-sonnet-5-5 or ollama/qwen3:8b, with BOSUN_MODEL, or as `model` in config.toml; `bosun models` lists all models, and `bosun demo` needs none
    ");
    std::fs::write(stage.home().join("config.toml"), "model = 'script/other.yaml'\n").unwrap();
    assert_eq!(said(stage.prompt("hi").without_env("BOSUN_MODEL").run()), "Other.\n");
}

/// B1, B11.
#[test]
fn a_key_is_enough_to_have_a_model_and_a_short_name_to_choose_another() {
    let (stage, server) = (stage(), ModelServer::script(HELLO).start());
    let ask = |text: &str| stage.prompt(text).against(&server).without_env("BOSUN_MODEL");
    let model = |args: &[&str]| {
        let json = ask("hi").args(["--output-format", "json"]).args(args.iter().copied()).run().expect(0);
        assert!(!json.stderr.contains("using the model"), "{}", json.stderr);
        json.json()["models"]["asked"][0].as_str().unwrap().to_owned()
    };
    assert_eq!(model(&[]), "anthropic/claude-sonnet-5-5");
    let told = ask("hi").run().expect(0).stderr;
    let words = "using the model anthropic/claude-sonnet-5-5, since ANTHROPIC_API_KEY is set and no model is chosen";
    assert_eq!(told.matches(words).count(), 1, "{told}");
    assert!(!ask("hi").run().expect(0).stderr.contains(words), "it is told once");
    let other = ask("hi").without_env("ANTHROPIC_API_KEY").run().expect(0).stderr;
    assert!(other.contains("using the model openai/gpt-6.1-sol, since OPENAI_API_KEY is set"), "{other}");
    assert_eq!(model(&["--model", "opus"]), "anthropic/claude-opus-5-5");
    std::fs::write(stage.home().join("config.toml"), "model = 'haiku'\n").unwrap();
    assert_eq!(model(&[]), "anthropic/claude-haiku-5-5");
}

#[test]
fn a_model_that_cannot_be_used_is_named_with_file_and_line() {
    let stage = stage();
    let refused = |model: &str| shown(&stage, &stage.prompt("hi").args(["--model", model]).run().expect(2).stderr);
    let stranger = refused("gpt/5");
    assert!(stranger.contains("`gpt`") && stranger.contains("hint: `bosun models` lists the providers"), "{stranger}");
    assert_snapshot!(refused("script/none.yaml"), @"error: cannot read the script /stage/work/none.yaml: No such file or directory (os error 2)");
    assert_snapshot!(refused("replay/none.jsonl"), @"error: cannot use the recording /stage/work/none.jsonl: No such file or directory (os error 2)");
    std::fs::write(stage.path("bad.yaml"), "version: 1\nrules:\n  - when: { agnet: x }\n").unwrap();
    assert_snapshot!(refused("script/bad.yaml"), @"error: /stage/work/bad.yaml:3:13: unknown key `agnet`; known here: agent, path, turn, attempt, system, prompt, said, answered, contains, tools, not");
    std::fs::write(stage.path("bad.jsonl"), "{}\nnot json\n").unwrap();
    assert_snapshot!(refused("replay/bad.jsonl"), @"error: /stage/work/bad.jsonl is not a recording; make one with --record FILE, in a new file");
    assert!(stage.sessions().is_empty());
}

#[test]
fn a_folder_is_chosen_by_a_flag() {
    let stage = stage();
    std::fs::create_dir(stage.path("below")).unwrap();
    stage.script(&crate::scripts::shell("pwd"));
    let ended = stage.prompt("where?").args(["-C", "below"]).run().expect(0);
    assert!(ended.stdout.ends_with("/work/below\n"), "{}", ended.stdout);
    let missing = stage.prompt("where?").args(["-C", "missing"]).run().expect(2);
    assert_snapshot!(missing.stderr, @r"
    error: cannot work in missing: No such file or directory (os error 2)
    hint: choose another folder with -C
    ");
    std::fs::write(stage.path("file"), "").unwrap();
    stage.prompt("where?").args(["-C", "file"]).run().expect(2).says(&["cannot work in", "file", "-C"]);
    let relative = stage.bosun(["-p", "where?", "-C", "file", "--model", "script/s.yaml"]).run();
    relative.expect(2).says(&["cannot work in file: not a directory", "-C"]);
    stage.prompt("where?").args(["--add-dir", "missing"]).run().expect(2).says(&["missing"]);
    stage.prompt("where?").args(["--add-dir", "file"]).run().expect(2).says(&["file", "not a directory"]);
}

#[test]
fn wrong_arguments_are_refused_and_help_is_no_failure() {
    let stage = stage();
    stage.bosun(["--bogus"]).run().expect(2).says(&["unexpected argument '--bogus'", "--help"]);
    stage.bosun(["fix it"]).run().expect(2).says(&["a conversation needs a terminal", "bosun -p"]);
    stage.bosun(["fix it", "-p", "and that"]).run().expect(2).says(&["cannot be used with"]);
    stage.bosun(["sesions"]).run().expect(2).says(&["there is no command `sesions`", "did you mean `bosun sessions`"]);
    stage.bosun(["-p", "- fix it"]).run().expect(2).says(&["hint: a prompt that begins with a dash", "--prompt="]);
    let other = stage.bosun(["sessions", "shw"]).run().expect(2);
    assert!(!other.stderr.contains("hint"), "{other:?}");
    stage.bosun(["-p", "hi", "--max-turns", "0"]).run().expect(2).says(&["--max-turns"]);
    stage.bosun(["-p", "hi", "--park-wait", "3d"]).run().expect(2).says(&["unknown unit; use ms, s, m or h"]);
    stage.bosun(["-p", "hi", "--output-format", "xml"]).run().expect(2).says(&["text", "json", "jsonl"]);
    stage.bosun(["--continue", "--resume", "1"]).run().expect(2).says(&["cannot be used with"]);
    let version = stage.bosun(["--version"]).run().expect(0);
    assert_eq!(version.stdout, format!("bosun {}\n", env!("CARGO_PKG_VERSION")));
    let help = stage.bosun(["--help"]).run().expect(0);
    assert!(help.stderr.is_empty() && help.stdout.contains("Exit codes: 0 all succeeded"), "{help:?}");
    for command in ["sessions", "models", "cost", "gc", "script", "demo"] {
        assert!(help.stdout.contains(command), "{command}");
        let help = stage.bosun([command, "--help"]).run().expect(0);
        assert!(help.stdout.starts_with(char::is_uppercase), "{command}: {}", help.stdout);
    }
    assert!(!stage.home().exists(), "help makes nothing");
}

/// Every file in a folder that cannot be entered looks unreadable; the folder is what is wrong.
#[test]
fn a_work_folder_that_cannot_be_read_is_named_itself() {
    use std::os::unix::fs::PermissionsExt;
    let stage = BinaryFixture::of_ordinary_user(BOSUN);
    let closed = stage.path("closed");
    std::fs::create_dir(&closed).unwrap();
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o000)).unwrap();
    let ended = stage.script(HELLO).prompt("where?").args(["-C", "closed"]).run().expect(2);
    ended.says(&["cannot work in closed: Permission denied", "change its permissions"]);
}

#[test]
fn a_folder_that_cannot_be_trusted_is_named_with_what_to_write() {
    stage().bosun(["trust", "/no/such/folder"]).run().expect(2).says(&["/no/such/folder", "bosun trust DIR"]);
}
