//! Full and read-only disks.

use std::fs;

use protocol::Event;
use testkit::binary::{BinaryExit, BinaryFixture, PATIENCE, within};

use super::path_text;
use crate::scripts::{HELLO, shell, turns};
use crate::{BOSUN, fixture};

#[test]
fn full_disk_pauses_the_session_until_space_is_freed() {
    let Some(fixture) = BinaryFixture::on_small_disk(BOSUN, 1024) else {
        return println!("skipped: only root can mount a small disk");
    };
    let script = shell("touch filling; while [ ! -e full ]; do sleep 0.01; done; echo ran >> witness; echo ok");
    fixture.script(HELLO).prompt("before").run().expect(0);
    let running = fixture.script(&script).prompt("fill it").start();
    within(PATIENCE, "the command runs", || fixture.path("filling").exists());
    let ballast = fixture.disk().fill();
    fs::write(fixture.path("full"), "").unwrap();
    let ended = running.wait();
    assert_full(&ended.expect(1));
    assert_full_elsewhere(&fixture);

    drop(ballast);
    let id = fixture.sessions().into_iter().find(|session| session["title"] == "fill it").unwrap()["id"].clone();
    let id = id.as_str().unwrap();
    let ended = fixture.bosun(["--resume", id, "--allow-all"]).run().expect(0);
    assert!(ended.stdout.starts_with("It said: "), "{}", ended.stdout);
    assert_eq!(fs::read_to_string(fixture.path("witness")).unwrap(), "ran\n", "the command ran once");
    let log = fixture.log(id);
    assert!(log.iter().map(|envelope| envelope.seq).eq(1..=log.len() as u64));
    assert_eq!(fixture.sessions().len(), 2);
}

#[track_caller]
fn assert_full(ended: &BinaryExit) {
    let output = &ended.stderr;
    assert!(output.contains("no space left") && output.contains("free some"), "{output}");
    assert!(output.contains("bosun --resume"), "{output}");
}

/// Checks that commands that write to the disk report that it is full.
#[track_caller]
fn assert_full_elsewhere(fixture: &BinaryFixture) {
    let refused = |ended: BinaryExit| {
        assert!(matches!(ended.status.code(), Some(1 | 2)), "{ended:?}");
        ended.says(&["no space left", "free some"]);
    };
    refused(fixture.bosun(["sessions"]).run());
    refused(fixture.prompt("another").run());
}

#[test]
fn result_names_the_reason_of_a_pause() {
    let fixture = fixture();
    let failed = fixture.script(&turns(4)).prompt("go").env("BOSUN_FAULT", "fail-commit:9");
    let result = failed.args(["--output-format", "json"]).run().expect(1).json();
    assert_eq!(result["outcome"], "paused");
    assert!(result["message"].as_str().unwrap().contains("no space left"), "{result}");
}

#[test]
fn failed_commit_pauses_the_session_which_can_be_resumed() {
    let whole = {
        let fixture = fixture();
        fixture.script(&turns(4)).prompt("go").run().expect(0);
        fixture.log(&fixture.newest()).len()
    };
    for seq in 1..=whole {
        let fixture = fixture();
        fixture.script(&turns(4));
        let failed = fixture.prompt("go").env("BOSUN_FAULT", format!("fail-commit:{seq}")).run().expect(1);
        let failed = failed.says(&["no space left", "session.db", "free some"]);
        let sessions = fixture.sessions();
        let Some(id) = sessions.first().map(|session| session["id"].as_str().unwrap()) else {
            assert!(seq <= 2, "{seq}: {failed:?}");
            continue;
        };
        let before = fixture.log(id);
        assert!(before.len() < seq, "{seq}: nothing of the failed commit is kept");
        let prompted = before.iter().any(|envelope| matches!(envelope.entry.event, Event::MailAdmitted { .. }));
        let resumed = fixture.bosun(["--resume", id]).run();
        if prompted {
            assert_eq!(resumed.expect(0).stdout, "Done.\n", "{seq}");
        } else {
            resumed.expect(2);
        }
        let after = fixture.log(id);
        assert_eq!(after[..before.len()], before[..], "{seq}");
        assert!(after.iter().map(|envelope| envelope.seq).eq(1..=after.len() as u64), "{seq}");
    }
}

#[test]
fn read_only_disk_is_reported_and_recovers() {
    let Some(fixture) = BinaryFixture::on_small_disk(BOSUN, 4096) else {
        return println!("skipped: only root can mount a small disk");
    };
    fixture.script(HELLO).prompt("hi").run().expect(0);
    fixture.disk().seal();
    for args in [&["-p", "hi"][..], &["--continue", "-p", "hi"], &["gc"]] {
        fixture.bosun(args).run().expect(2).says(&[path_text(&fixture.home()), "read-only", "BOSUN_HOME"]);
    }
    fixture.disk().unseal();
    fixture.bosun(["--continue", "-p", "hi"]).run().expect(0);
}

/// If a commit fails, the fleet reports the cause instead of a stop.
#[test]
fn failed_commit_in_a_fleet_is_reported_and_the_fleet_can_be_resumed() {
    let plan =
        "todos:\n  - { id: a, title: A }\n  - { id: b, title: B }\n  - { id: c, title: C, depends_on: [a, b] }\n";
    let fixture = || {
        let fixture = fixture();
        fixture.script("version: 1\nrules:\n  - answer: [say: done]\n");
        fs::write(fixture.path("plan.yaml"), plan).unwrap();
        fixture
    };
    let run = ["fleet", "run", "plan.yaml", "--allow-all", "--fresh"];
    let whole = {
        let fixture = fixture();
        fixture.bosun(run).run().expect(0);
        fixture.log(&fixture.newest()).len()
    };
    for seq in 1..=whole {
        let fixture = fixture();
        let failed = fixture.bosun(run).env("BOSUN_FAULT", format!("fail-commit:{seq}")).run();
        let failed = failed.expect(1).says(&["no space left", "session.db", "free some"]);
        let sessions = fixture.sessions();
        let Some(id) = sessions.first().map(|session| session["id"].as_str().unwrap()) else {
            assert!(seq <= 6, "{seq}: {failed:?}");
            continue;
        };
        let began = fixture.log(id).iter().any(|envelope| matches!(envelope.entry.event, Event::FleetBegan(_)));
        if began {
            fixture.bosun(["fleet", "resume", id, "--allow-all"]).run().expect(0);
        }
    }
}

/// The same on a disk that is really full.
#[test]
fn full_disk_in_a_fleet_is_reported() {
    let Some(fixture) = BinaryFixture::on_small_disk(BOSUN, 1024) else {
        return println!("skipped: only root can mount a small disk");
    };
    let command = "touch filling; while [ ! -e full ]; do sleep 0.01; done; echo ok";
    let call = format!("call: {{ tool: shell, input: {{ command: '{command}' }} }}");
    fixture.script(&format!(
        "version: 1\nrules:\n  - when: {{ turn: 1 }}\n    answer: [{call}]\n  - answer: [say: done]\n"
    ));
    fs::write(fixture.path("plan.yaml"), "todos:\n  - { id: a, title: A }\n").unwrap();
    let running = fixture.bosun(["fleet", "run", "plan.yaml", "--allow-all"]).start();
    within(PATIENCE, "the command runs", || fixture.path("filling").exists());
    let ballast = fixture.disk().fill();
    fs::write(fixture.path("full"), "").unwrap();
    running.wait().expect(1).says(&["no space left", "free some"]);
    drop(ballast);
    fixture.bosun(["fleet", "resume", "--allow-all"]).run().expect(0);
}

/// Commands that only read work on a full disk, regardless of the state that the last owner left.
#[test]
fn read_only_home_can_be_read() {
    let Some(fixture) = BinaryFixture::on_small_disk(BOSUN, 4096) else {
        return println!("skipped: only root can mount a small disk");
    };
    fixture.script(HELLO).prompt("at rest").run().expect(0);
    fixture
        .script(&turns(4))
        .prompt("killed")
        .env("BOSUN_FAULT", "after-commit:9")
        .discard_output()
        .run()
        .expect_killed();
    let id = fixture.newest();
    fixture.disk().seal();
    let assert_read = || {
        let sessions = fixture.sessions();
        let state_of = |title: &str| sessions.iter().find(|row| row["title"] == title).unwrap()["state"].clone();
        assert_eq!((state_of("at rest"), state_of("killed")), ("idle".into(), "interrupted".into()));
        assert!(fixture.bosun(["tasks", "--all"]).run().expect(0).stdout.contains("root"));
        assert!(
            fixture.bosun(["tasks", "show", "root", "--session", &id]).run().expect(0).stdout.contains("interrupted")
        );
        fixture.bosun(["sessions", "show", &id]).run().expect(0);
        assert!(!fixture.bosun(["sessions", "export", &id]).run().expect(0).stdout.is_empty());
        fixture.bosun(["cost"]).run().expect(0);
    };
    assert_read();
    // Without the index, too.
    fixture.disk().unseal();
    fs::remove_file(fixture.home().join("bosun.db")).unwrap();
    fixture.disk().seal();
    assert_read();
    fixture.disk().unseal();
}

/// The same for a user without write permission.
#[test]
fn sessions_in_read_only_folders_can_be_read() {
    use std::os::unix::fs::PermissionsExt;
    let fixture = BinaryFixture::of_ordinary_user(BOSUN);
    fixture.script(HELLO).prompt("hi").run().expect(0);
    let id = fixture.newest();
    let mode = |path: &std::path::Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    mode(&fixture.session_db(&id), 0o400);
    mode(&fixture.session_dir(&id), 0o500);
    assert!(fixture.bosun(["sessions", "show", &id]).run().expect(0).stdout.contains("idle"));
    assert!(fixture.bosun(["tasks"]).run().expect(0).stdout.contains("root"));
    fs::remove_file(fixture.home().join("bosun.db")).unwrap();
    assert_eq!(fixture.sessions()[0]["title"], "hi");
    mode(&fixture.session_dir(&id), 0o700);
}
