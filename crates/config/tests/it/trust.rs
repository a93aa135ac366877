//! Trust is bound to everything in a project that controls Bosun, as it is.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use config::{Entrusted, Standing};

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
    Entrusted::read(&machine.top(), &machine.home()).unwrap().digest
}

fn refused(machine: &Machine) -> String {
    machine.shown(Entrusted::read(&machine.top(), &machine.home()).unwrap_err())
}

#[test]
fn every_change_of_a_control_file_changes_the_digest() {
    let machine = Machine::new();
    assert!(!Entrusted::exist(&machine.top(), &machine.home()));
    for file in EVERY {
        let before = digest(&machine);
        machine.write(file, "one");
        let made = digest(&machine);
        machine.write(file, "two");
        let changed = digest(&machine);
        assert!(before != made && made != changed, "{file}");
        machine.write(file, "one");
        assert_eq!(digest(&machine), made, "{file}");
        assert!(Entrusted::exist(&machine.top(), &machine.home()));
    }
    let files = Entrusted::read(&machine.top(), &machine.home()).unwrap().files;
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
fn a_name_cannot_be_taken_for_what_a_file_holds() {
    let (one, other) = (Machine::new(), Machine::new());
    one.write("project/.bosun/a", "b");
    other.write("project/.bosun/ab", "");
    assert_ne!(digest(&one), digest(&other));
}

#[test]
fn a_link_is_what_it_says() {
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
fn what_nobody_can_have_looked_at_is_not_trusted() {
    let machine = Machine::new();
    for n in 0..=1_000 {
        machine.write(&format!("project/.bosun/{n}"), "");
    }
    assert!(refused(&machine).starts_with("/project has more than 1000 files"));
    let machine = Machine::new();
    fs::create_dir(machine.path("project/.bosun")).unwrap();
    fs::File::create(machine.path("project/.bosun/sparse")).unwrap().set_len(1 << 40).unwrap();
    assert!(refused(&machine).contains("is larger than 16777216 bytes"));
    let machine = Machine::new();
    fs::create_dir(machine.path("project/.bosun")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(machine.path("project/.bosun/socket")).unwrap();
    assert_eq!(refused(&machine), "/project/.bosun/socket: it is no plain file; remove it");
    let machine = Machine::new();
    machine.write("elsewhere/agents/a.md", "");
    symlink(machine.path("elsewhere"), machine.path("project/.claude")).unwrap();
    assert_eq!(refused(&machine), "/project/.claude/agents/a.md: it is a link, or behind one; remove it");
}

#[test]
fn a_standing_follows_the_digest() {
    let machine = Machine::new();
    machine.write("project/.mcp.json", "{}");
    let trusted = digest(&machine);
    let standing = |remembered: Option<&str>| Standing::of(&machine.top(), &machine.home(), remembered);
    assert_eq!(standing(None), Standing::Untrusted);
    assert_eq!(standing(Some(&trusted)), Standing::Trusted);
    machine.write("project/.mcp.json", "{ }");
    assert_eq!(standing(Some(&trusted)), Standing::Changed);
    symlink(".", machine.path("project/.github")).unwrap();
    assert_eq!(standing(Some(&trusted)), Standing::Changed);
}
