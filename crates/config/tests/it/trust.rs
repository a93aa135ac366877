//! Trust applies to the current content of all project files that control Bosun.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use config::{TrustStatus, TrustedContents};

use crate::Machine;

const EVERY: [&str; 12] = [
    "project/.agents/skills/a/SKILL.md",
    "project/.bosun/config.toml",
    "project/.bosun/deep/er/file",
    "project/.claude/agents/a.md",
    "project/.claude/commands/a.md",
    "project/.claude/settings.json",
    "project/.claude/skills/a/SKILL.md",
    "project/.github/agents/a.md",
    "project/.github/hooks/a.json",
    "project/.github/prompts/a.md",
    "project/.github/skills/a/SKILL.md",
    "project/.mcp.json",
];

fn digest(machine: &Machine) -> String {
    TrustedContents::read(&machine.top(), &machine.home()).unwrap().digest
}

fn refused(machine: &Machine) -> String {
    machine.shown(TrustedContents::read(&machine.top(), &machine.home()).unwrap_err())
}

#[test]
fn every_change_of_a_control_file_changes_the_digest() {
    let machine = Machine::new();
    assert!(!TrustedContents::has_any(&machine.top(), &machine.home()));
    for file in EVERY {
        let before = digest(&machine);
        machine.write(file, "one");
        let made = digest(&machine);
        machine.write(file, "two");
        let changed = digest(&machine);
        assert!(before != made && made != changed, "{file}");
        machine.write(file, "one");
        assert_eq!(digest(&machine), made, "{file}");
        assert!(TrustedContents::has_any(&machine.top(), &machine.home()));
    }
    let files = TrustedContents::read(&machine.top(), &machine.home()).unwrap().files;
    let expected: Vec<PathBuf> = EVERY.iter().map(|file| file.strip_prefix("project/").unwrap().into()).collect();
    assert_eq!(files, expected);
    let whole = digest(&machine);
    machine
        .write("project/src/main.rs", "fn main() {}")
        .write("project/.claude/notes.md", "")
        .write("project/AGENTS.md", "");
    assert_eq!(digest(&machine), whole, "other files are no controls");
    fs::rename(machine.path("project/.mcp.json"), machine.path("project/.bosun/mcp.json")).unwrap();
    assert_ne!(digest(&machine), whole);
}

#[test]
fn digest_distinguishes_names_from_contents() {
    let (one, other) = (Machine::new(), Machine::new());
    one.write("project/.bosun/a", "b");
    other.write("project/.bosun/ab", "");
    assert_ne!(digest(&one), digest(&other));
}

#[test]
fn digest_of_a_link_covers_its_target_path() {
    let machine = Machine::new();
    machine.write("elsewhere", "1").write("project/.bosun/x", "");
    symlink("/dev/zero", machine.path("project/.bosun/zero")).unwrap();
    symlink(machine.path("elsewhere"), machine.path("project/.bosun/link")).unwrap();
    let before = digest(&machine);
    machine.write("elsewhere", "2");
    assert_eq!(digest(&machine), before);
    fs::remove_file(machine.path("project/.bosun/link")).unwrap();
    symlink("/etc/passwd", machine.path("project/.bosun/link")).unwrap();
    assert_ne!(digest(&machine), before);
}

#[test]
fn unreviewable_files_are_not_trusted() {
    let machine = Machine::new();
    for n in 0..=1_000 {
        machine.write(&format!("project/.bosun/{n}"), "");
    }
    assert!(refused(&machine).starts_with("/project has more than 1000 files"));
    let machine = Machine::new();
    fs::create_dir(machine.path("project/.bosun")).unwrap();
    fs::File::create(machine.path("project/.bosun/sparse")).unwrap().set_len(1 << 40).unwrap();
    assert!(refused(&machine).contains("have over 16777216 bytes"));
    let machine = Machine::new();
    fs::create_dir(machine.path("project/.bosun")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(machine.path("project/.bosun/socket")).unwrap();
    assert_eq!(refused(&machine), "/project/.bosun/socket: it is not a plain file; remove it");
    let machine = Machine::new();
    machine.write("elsewhere/agents/a.md", "");
    symlink(machine.path("elsewhere"), machine.path("project/.claude")).unwrap();
    assert_eq!(refused(&machine), "/project/.claude/agents/a.md: it is a link, or its path contains one; remove it");
}

#[test]
fn trust_depends_on_the_digest() {
    let machine = Machine::new();
    machine.write("project/.mcp.json", "{}");
    let trusted = digest(&machine);
    let standing = |remembered: Option<&str>| TrustStatus::check(&machine.top(), &machine.home(), remembered);
    assert_eq!(standing(None), TrustStatus::Untrusted);
    assert_eq!(standing(Some(&trusted)), TrustStatus::Trusted);
    machine.write("project/.mcp.json", "{ }");
    assert_eq!(standing(Some(&trusted)), TrustStatus::Changed);
    symlink(".", machine.path("project/.github")).unwrap();
    assert_eq!(standing(Some(&trusted)), TrustStatus::Changed);
}

/// Projects with one hook, for each usual way to write its program.
fn guarded(command: &str) -> Machine {
    let machine = Machine::new();
    let hook = serde_json::json!({ "hooks": { "preToolUse": [{ "type": "command", "command": command }] } });
    machine.write("project/.github/hooks/guard.json", &hook.to_string());
    machine
}

#[test]
fn trust_includes_the_programs_of_hooks() {
    let cases = [
        ("./guard.sh", "guard.sh"),
        ("guard/../guard.sh", "guard.sh"),
        ("sh ./guard.sh", "guard.sh"),
        ("sh guard", "guard"),
        ("bash -eu scripts/guard.sh --now", "scripts/guard.sh"),
        ("python3 tools/guard.py", "tools/guard.py"),
        ("python3 -m tools.guard", "tools/guard.py"),
        ("node tools/guard", "tools/guard.js"),
        ("node --require ./hook.js tools/guard.js", "hook.js"),
        ("uv run tools/guard.py", "tools/guard.py"),
        ("\"$CLAUDE_PROJECT_DIR\"/guard.sh", "guard.sh"),
        ("$CLAUDE_PROJECT_DIR/guard.sh", "guard.sh"),
        ("${CLAUDE_PROJECT_DIR}/a/guard.sh", "a/guard.sh"),
        ("bash \"$(git rev-parse --show-toplevel)/guard.sh\"", "guard.sh"),
        ("$PWD/guard.sh", "guard.sh"),
        ("cd scripts && ./guard.sh", "scripts/guard.sh"),
        ("env X=1 ./guard.sh", "guard.sh"),
        ("timeout 5 ./guard.sh", "guard.sh"),
        ("bash -c './guard.sh'", "guard.sh"),
        ("eval ./guard.sh", "guard.sh"),
        (". ./guard", "guard"),
        ("source guard.sh; check", "guard.sh"),
        ("cat rules.txt | sh", "rules.txt"),
        ("sh < rules.txt", "rules.txt"),
        ("PATH=./bin guard", "bin/guard"),
        ("eslint -c lint.config.js", "lint.config.js"),
        ("npm run guard", "package.json"),
        ("make guard", "Makefile"),
        ("just guard", "justfile"),
        ("npx guard", "node_modules/.bin/guard"),
        ("true && { ./guard.sh; }", "guard.sh"),
        ("if true; then ./guard.sh; fi", "guard.sh"),
        ("for x in 1; do ./guard.sh \"$x\"; done", "guard.sh"),
        ("echo \"$(./guard.sh)\"", "guard.sh"),
        ("./guard.sh | jq .", "guard.sh"),
        ("exec ./guard.sh <<< \"$x\"", "guard.sh"),
    ];
    let mut missed = Vec::new();
    for (command, program) in cases {
        let machine = guarded(command);
        machine.write(&format!("project/{program}"), r#"{"scripts": {"guard": "one"}}"#).write("project/src/x.rs", "1");
        let before = digest(&machine);
        machine.write("project/src/x.rs", "2");
        assert_eq!(digest(&machine), before, "{command}: other files are no part of it");
        machine.write(&format!("project/{program}"), r#"{"scripts": {"guard": "two"}}"#);
        let files = TrustedContents::read(&machine.top(), &machine.home()).unwrap().files;
        if digest(&machine) == before || !files.contains(&PathBuf::from(program)) {
            missed.push(command);
        }
    }
    assert_eq!(missed, Vec::<&str>::new());
}

#[test]
fn later_or_linked_hook_program_changes_the_digest() {
    let machine = guarded("./guard.sh");
    let absent = digest(&machine);
    machine.write("project/real.sh", "one");
    symlink("real.sh", machine.path("project/guard.sh")).unwrap();
    let linked = digest(&machine);
    machine.write("project/real.sh", "two");
    let changed = digest(&machine);
    assert!(absent != linked && linked != changed);
    // A change of the dependencies does not change the task.
    let machine = guarded("npm run lint");
    machine.write("project/package.json", r#"{"scripts": {"lint": "x"}, "dependencies": {}}"#);
    let before = digest(&machine);
    machine.write("project/package.json", r#"{"scripts": {"lint": "x"}, "dependencies": {"a": "1"}}"#);
    assert_eq!(digest(&machine), before);
    // A file that the hook writes does not change it either.
    let machine = guarded("jq . >> .hook.log");
    machine.write("project/.hook.log", "1");
    let before = digest(&machine);
    machine.write("project/.hook.log", "12");
    assert_eq!(digest(&machine), before);
}

#[test]
fn trust_includes_programs_of_hooks_in_settings_and_agents() {
    let hook =
        r#"{"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "./g.sh"}]}]}}"#;
    let agent = "---\nname: a\ndescription: b\nhooks:\n  PreToolUse:\n    - matcher: Bash\n      hooks:\n        - type: command\n          command: ./g.sh\n---\nDo it.";
    for (file, text) in [
        ("project/.claude/settings.json", hook),
        ("project/.claude/settings.local.json", hook),
        ("project/.bosun/hooks/x.json", hook),
        ("project/.claude/agents/a.md", agent),
        ("project/.github/agents/a.agent.md", agent),
        ("project/.bosun/agents/a.md", agent),
    ] {
        let machine = Machine::new();
        machine.write(file, text).write("project/g.sh", "one");
        let entrusted = TrustedContents::read(&machine.top(), &machine.home()).unwrap();
        assert_eq!(entrusted.hooks.iter().map(|hook| hook.action.as_str()).collect::<Vec<_>>(), ["./g.sh"], "{file}");
        machine.write("project/g.sh", "two");
        assert_ne!(digest(&machine), entrusted.digest, "{file}");
    }
}
