//! `bosun demo` for a user who has never used Bosun.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;

use testkit::binary::{BinaryFixture, Tmux};

use crate::BOSUN;

/// Git settings of a user whose hooks and signing would break a commit.
const GITCONFIG: &str = "[commit]\n\tgpgSign = true\n[core]\n\thooksPath = ~/hooks\n[init]\n\ttemplateDir = ~/none\n";

/// An ordinary user with git settings of their own.
fn newcomer() -> BinaryFixture {
    let fixture = BinaryFixture::of_ordinary_user(BOSUN);
    let own = fixture.folder().parent().unwrap().to_owned();
    fs::write(own.join(".gitconfig"), GITCONFIG).unwrap();
    fs::create_dir(own.join("hooks")).unwrap();
    let hook = own.join("hooks/pre-commit");
    fs::write(&hook, "#!/bin/sh\nexit 1\n").unwrap();
    fs::set_permissions(hook, PermissionsExt::from_mode(0o755)).unwrap();
    fixture
}

/// Runs the commands that the demo suggests at its end; returns their output.
#[track_caller]
#[expect(clippy::disallowed_methods, reason = "a user types them in a shell")]
fn try_next(shown: &str) -> String {
    let (_, next) = shown.split_once("To look around").unwrap();
    let commands: Vec<&str> = next.lines().filter(|line| line.starts_with("  ")).collect();
    assert!(commands.len() >= 3, "{next}");
    let mut shell = Command::new("/bin/sh");
    shell.args(["-e", "-c", &commands.join("\n")]).env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin");
    let ran = shell.output().unwrap();
    let output = String::from_utf8_lossy(&[ran.stdout, ran.stderr].concat()).into_owned();
    assert!(ran.status.success(), "{output}");
    output
}

#[test]
fn the_demo_is_a_fleet_whose_work_is_checked_and_merged() {
    let fixture = newcomer();
    let shown = fixture.bosun(["demo", "--dir", "sample"]).without_env("BOSUN_MODEL").run().expect(0);
    let shown = shown.says(&[
        "Fleet deployed: Make all tests of the sample pass",
        "retried words (Repair the plurals): the scripted model gives up",
        "sums: ! not done yet: `sh tests/run.sh sums` must exit with code 0",
        "fleet done: 4/4 done",
    ]);
    for expected in
        ["4 todos: 4 done", "main has moved", "Merge sums: ", "+- lib/dates.sh: every", "9 passed, 0 failed"]
    {
        assert!(shown.stdout.contains(expected), "`{expected}` is missing:\n{}", shown.stdout);
    }
    let wide = shown.stdout.lines().find(|line| line.chars().count() > 80 && !line.contains('/'));
    assert_eq!(wide, None);
    assert!(!fixture.home().exists(), "the user's own home is left alone");
    let status = fixture.bosun(["fleet", "status", "--json"]).env("BOSUN_HOME", fixture.path("sample/home"));
    let status = status.within(&fixture.path("sample/project")).run().expect(0).json();
    let tries: Vec<u64> =
        status["todos"].as_array().unwrap().iter().map(|todo| todo["attempts"].as_u64().unwrap()).collect();
    assert_eq!((tries, &status["terms"]["isolated"]), (vec![1, 2, 1, 1], &true.into()));
}

#[test]
fn next_steps_of_the_demo_work_as_printed() {
    let fixture = BinaryFixture::new(BOSUN);
    let shown = fixture.bosun(["demo", "--dir", "my sample"]).run().expect(0).stdout;
    let output = try_next(&shown);
    for expected in [
        "all todos are done",
        "✓ notes",
        "- edit lib/sums.sh",
        "reused dates",
        "reused notes (Note what changed) (4/4)",
    ] {
        assert!(output.contains(expected), "`{expected}` is missing:\n{output}");
    }
}

#[test]
fn interrupted_demo_resumes_as_printed() {
    let fixture = BinaryFixture::new(BOSUN);
    let programs = fixture.path("programs");
    fs::create_dir(&programs).unwrap();
    // The tests of one worker never end, so that it is interrupted after its edit, however fast the others are.
    let held = "#!/bin/sh\n[ \"$2\" = dates ] && exec sleep 1000\nexec /bin/sh \"$@\"\n";
    fs::write(programs.join("sh"), held).unwrap();
    fs::set_permissions(programs.join("sh"), PermissionsExt::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", programs.display());
    let tmux = Tmux::start(&fixture.bosun(["demo", "--fast", "--dir", "sample"]).env("PATH", path), 80, 24);
    tmux.shows("sh tests/run.sh dates").press("C-c");
    assert_eq!(tmux.ends(), 5);
    let shown = tmux.history();
    assert!(shown.contains("6 passed, 3 failed") && !shown.contains("What changed"), "{shown}");
    let output = try_next(&shown);
    assert!(output.contains("4 todos: 4 done") && output.contains("main has moved"), "{output}");
}

#[test]
fn demo_works_without_git() {
    let fixture = newcomer();
    let programs = fixture.path("programs");
    fs::create_dir(&programs).unwrap();
    for program in ["sh", "bash", "env", "grep", "dirname"] {
        let found = ["/usr/bin", "/bin"].map(|folder| format!("{folder}/{program}"));
        symlink(found.iter().find(|path| fs::exists(path).unwrap()).unwrap(), programs.join(program)).unwrap();
    }
    let shown = fixture.bosun(["demo", "--dir", "sample"]).env("PATH", &programs).run().expect(0);
    let shown = shown.says(&[
        "`git` was not found",
        "install git 2.38 or newer",
        "all workers share one folder",
        "fleet done: 4/4",
    ]);
    assert!(shown.stdout.contains("9 passed, 0 failed") && !shown.stdout.contains("checkout"), "{}", shown.stdout);
    assert!(!fixture.path("sample/project/.git").exists());
}

#[test]
fn on_a_terminal_the_demo_draws_its_fleet() {
    for (columns, rows) in [(80, 24), (200, 60)] {
        let fixture = BinaryFixture::new(BOSUN);
        let tmux = Tmux::start(&fixture.bosun(["demo", "--fast", "--dir", "sample"]), columns, rows);
        assert_eq!(tmux.ends(), 0);
        let history = tmux.history();
        for expected in [
            "Fleet done  Make all tests",
            "4/4 done · 4 merged",
            "dates  done",
            "9 passed, 0 failed",
            "fleet run ../plan.yaml",
        ] {
            assert!(history.contains(expected), "`{expected}` is missing:\n{history}");
        }
        assert_eq!(history.matches("4/4 done").count(), 1, "only the last frame stays:\n{history}");
    }
}
