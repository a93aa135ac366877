//! What an agent's commands can read of the processes that started them.

use std::fs;
use std::path::{Path, PathBuf};

use testkit::binary::{BinaryFixture, PATIENCE, within};

use crate::BOSUN;
use crate::scripts::shell;

/// Reads the /proc files of its own child, of its guardian and of the guardian's owner.
const LOOK: &str = r#"
up() { sed -n 's/^PPid:[[:space:]]*//p' "/proc/$1/status"; }
look() {
    for file in environ maps smaps auxv; do
        cat "/proc/$2/$file" >> seen 2>> errors && echo "$1 $file" >> looks
    done
    (: < "/proc/$2/mem") 2>> errors && echo "$1 mem" >> looks
    for folder in fd cwd/ root/ map_files; do
        ls "/proc/$2/$folder" > /dev/null 2>> errors && echo "$1 $folder" >> looks
    done
    readlink "/proc/$2/exe" > /dev/null 2>> errors && echo "$1 exe" >> looks
    cat "/proc/$2/task/$2/environ" >> seen 2>> errors && echo "$1 task" >> looks
}
guardian=$PPID
while [ "$(tr '\0' ' ' < /proc/$guardian/cmdline)" != "guardian __guardian " ]; do guardian=$(up $guardian); done
sleep 1000 &
look own $!
look guardian $guardian
look owner $(up $guardian)
: > done
"#;

#[test]
fn an_agent_can_read_neither_its_owner_nor_its_guardian() {
    let fixture = BinaryFixture::of_ordinary_user(BOSUN);
    fs::write(fixture.path("look.sh"), LOOK).unwrap();
    let key = "sk-never-to-be-seen";
    let ended =
        fixture.script(&shell("sh look.sh; cat seen")).prompt("go").env("ANTHROPIC_API_KEY", key).run().expect(0);
    assert!(fixture.path("done").exists(), "{ended:?}");
    let looks = fs::read_to_string(fixture.path("looks")).unwrap();
    for own in ["own environ", "own maps", "own mem", "own fd", "own exe", "own task"] {
        assert!(looks.contains(own), "the script itself works: {looks}");
    }
    assert!(!looks.contains("guardian ") && !looks.contains("owner "), "{looks}");
    let errors = fs::read_to_string(fixture.path("errors")).unwrap();
    assert!(errors.lines().filter(|line| line.contains("ermission denied")).count() >= 18, "{errors}");
    assert!(!ended.stdout.contains(key) && !ended.stderr.contains(key), "{ended:?}");
    for path in files(fixture.home().parent().unwrap()).into_iter().filter(|path| path != fixture.program()) {
        let bytes = fs::read(&path).unwrap();
        assert!(!bytes.windows(key.len()).any(|window| window == key.as_bytes()), "{}", path.display());
    }
}

#[test]
fn sealed_owner_is_still_detected_and_reachable() {
    let fixture = BinaryFixture::of_ordinary_user(BOSUN);
    let running = fixture.script(&shell("touch begun; sleep 1000")).prompt("go").start();
    within(PATIENCE, "the command runs", || fixture.path("begun").exists());
    let id = fixture.newest();
    let shown = fixture.bosun(["sessions", "show", &id, "--json"]).run().expect(0).json();
    assert_eq!(shown["session"]["ownerPid"], running.pid());
    fixture.bosun(["--resume", &id, "-p", "more"]).run().expect(2).says(&["is run by process"]);
    fixture.bosun(["sessions", "stop", &id]).run().expect(0);
    running.wait().expect(5);
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let below = |entry: fs::DirEntry| {
        if entry.file_type().unwrap().is_dir() { files(&entry.path()) } else { vec![entry.path()] }
    };
    entries.flat_map(below).collect()
}
