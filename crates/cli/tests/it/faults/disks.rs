//! Disks that take no more.

use std::fs;

use protocol::Event;
use testkit::binary::{BinaryExit, BinaryFixture, PATIENCE, within};

use super::shown;
use crate::scripts::{HELLO, shell, turns};
use crate::{BOSUN, stage};

#[test]
fn a_full_disk_pauses_the_session_and_freed_space_lets_it_go_on() {
    let Some(stage) = BinaryFixture::on_small_disk(BOSUN, 1024) else {
        return println!("skipped: only root can mount a small disk");
    };
    let script = shell("touch filling; while [ ! -e full ]; do sleep 0.01; done; echo ran >> witness; echo ok");
    stage.script(HELLO).prompt("before").run().expect(0);
    let running = stage.script(&script).prompt("fill it").start();
    within(PATIENCE, "the command runs", || stage.path("filling").exists());
    let ballast = stage.disk().fill();
    fs::write(stage.path("full"), "").unwrap();
    let ended = running.wait();
    assert_full(&ended.expect(1));
    assert_full_elsewhere(&stage);

    drop(ballast);
    let id = stage.sessions().into_iter().find(|session| session["title"] == "fill it").unwrap()["id"].clone();
    let id = id.as_str().unwrap();
    let ended = stage.bosun(["--resume", id, "--allow-all"]).run().expect(0);
    assert!(ended.stdout.starts_with("It said: "), "{}", ended.stdout);
    assert_eq!(fs::read_to_string(stage.path("witness")).unwrap(), "ran\n", "the command ran once");
    let log = stage.log(id);
    assert!(log.iter().map(|envelope| envelope.seq).eq(1..=log.len() as u64));
    assert_eq!(stage.sessions().len(), 2);
}

#[track_caller]
fn assert_full(ended: &BinaryExit) {
    let said = &ended.stderr;
    assert!(said.contains("no space left") && said.contains("free some"), "{said}");
    assert!(said.contains("bosun --resume"), "{said}");
}

/// Whatever needs a byte of the disk says so.
#[track_caller]
fn assert_full_elsewhere(stage: &BinaryFixture) {
    let refused = |ended: BinaryExit| {
        assert!(matches!(ended.status.code(), Some(1 | 2)), "{ended:?}");
        ended.says(&["no space left", "free some"]);
    };
    refused(stage.bosun(["sessions"]).run());
    refused(stage.prompt("another").run());
}

#[test]
fn what_paused_a_session_is_in_its_result() {
    let stage = stage();
    let failed = stage.script(&turns(4)).prompt("go").env("BOSUN_FAULT", "fail-commit:9");
    let result = failed.args(["--output-format", "json"]).run().expect(1).json();
    assert_eq!(result["outcome"], "paused");
    assert!(result["message"].as_str().unwrap().contains("no space left"), "{result}");
}

#[test]
fn a_failing_commit_pauses_the_session_and_it_goes_on_later() {
    let whole = {
        let stage = stage();
        stage.script(&turns(4)).prompt("go").run().expect(0);
        stage.log(&stage.newest()).len()
    };
    for seq in 1..=whole {
        let stage = stage();
        stage.script(&turns(4));
        let failed = stage.prompt("go").env("BOSUN_FAULT", format!("fail-commit:{seq}")).run().expect(1);
        let failed = failed.says(&["no space left", "session.db", "free some"]);
        let sessions = stage.sessions();
        let Some(id) = sessions.first().map(|session| session["id"].as_str().unwrap()) else {
            assert!(seq <= 2, "{seq}: {failed:?}");
            continue;
        };
        let before = stage.log(id);
        assert!(before.len() < seq, "{seq}: nothing of the failed commit is kept");
        let prompted = before.iter().any(|envelope| matches!(envelope.entry.event, Event::MailAdmitted { .. }));
        let resumed = stage.bosun(["--resume", id]).run();
        if prompted {
            assert_eq!(resumed.expect(0).stdout, "Done.\n", "{seq}");
        } else {
            resumed.expect(2);
        }
        let after = stage.log(id);
        assert_eq!(after[..before.len()], before[..], "{seq}");
        assert!(after.iter().map(|envelope| envelope.seq).eq(1..=after.len() as u64), "{seq}");
    }
}

#[test]
fn a_read_only_disk_is_told_and_works_again_when_it_can_be_written() {
    let Some(stage) = BinaryFixture::on_small_disk(BOSUN, 4096) else {
        return println!("skipped: only root can mount a small disk");
    };
    stage.script(HELLO).prompt("hi").run().expect(0);
    stage.disk().seal();
    for args in [&["-p", "hi"][..], &["--continue", "-p", "hi"], &["gc"]] {
        stage.bosun(args).run().expect(2).says(&[shown(&stage.home()), "read-only", "BOSUN_HOME"]);
    }
    stage.disk().unseal();
    stage.bosun(["--continue", "-p", "hi"]).run().expect(0);
}

/// D7: whatever a fleet was doing when a commit failed, the reason is told, and not that somebody stopped it.
#[test]
fn a_failing_commit_in_a_fleet_is_told_and_the_fleet_can_be_resumed() {
    let plan =
        "todos:\n  - { id: a, title: A }\n  - { id: b, title: B }\n  - { id: c, title: C, depends_on: [a, b] }\n";
    let stage = || {
        let stage = stage();
        stage.script("version: 1\nrules:\n  - answer: [say: done]\n");
        fs::write(stage.path("plan.yaml"), plan).unwrap();
        stage
    };
    let run = ["fleet", "run", "plan.yaml", "--allow-all", "--fresh"];
    let whole = {
        let stage = stage();
        stage.bosun(run).run().expect(0);
        stage.log(&stage.newest()).len()
    };
    for seq in 1..=whole {
        let stage = stage();
        let failed = stage.bosun(run).env("BOSUN_FAULT", format!("fail-commit:{seq}")).run();
        let failed = failed.expect(1).says(&["no space left", "session.db", "free some"]);
        let sessions = stage.sessions();
        let Some(id) = sessions.first().map(|session| session["id"].as_str().unwrap()) else {
            assert!(seq <= 6, "{seq}: {failed:?}");
            continue;
        };
        let began = stage.log(id).iter().any(|envelope| matches!(envelope.entry.event, Event::FleetBegan(_)));
        if began {
            stage.bosun(["fleet", "resume", id, "--allow-all"]).run().expect(0);
        }
    }
}

/// D7: the same on a disk that is really full.
#[test]
fn a_full_disk_in_a_fleet_is_told() {
    let Some(stage) = BinaryFixture::on_small_disk(BOSUN, 1024) else {
        return println!("skipped: only root can mount a small disk");
    };
    let command = "touch filling; while [ ! -e full ]; do sleep 0.01; done; echo ok";
    let call = format!("call: {{ tool: shell, input: {{ command: '{command}' }} }}");
    stage.script(&format!(
        "version: 1\nrules:\n  - when: {{ turn: 1 }}\n    answer: [{call}]\n  - answer: [say: done]\n"
    ));
    fs::write(stage.path("plan.yaml"), "todos:\n  - { id: a, title: A }\n").unwrap();
    let running = stage.bosun(["fleet", "run", "plan.yaml", "--allow-all"]).start();
    within(PATIENCE, "the command runs", || stage.path("filling").exists());
    let ballast = stage.disk().fill();
    fs::write(stage.path("full"), "").unwrap();
    running.wait().expect(1).says(&["no space left", "free some"]);
    drop(ballast);
    stage.bosun(["fleet", "resume", "--allow-all"]).run().expect(0);
}

/// D18: what only reads needs no byte of the disk, whatever the last owner left there.
#[test]
fn a_home_that_cannot_be_written_can_be_read() {
    let Some(stage) = BinaryFixture::on_small_disk(BOSUN, 4096) else {
        return println!("skipped: only root can mount a small disk");
    };
    stage.script(HELLO).prompt("at rest").run().expect(0);
    stage
        .script(&turns(4))
        .prompt("killed")
        .env("BOSUN_FAULT", "after-commit:9")
        .discard_output()
        .run()
        .expect_killed();
    let id = stage.newest();
    stage.disk().seal();
    let assert_read = || {
        let sessions = stage.sessions();
        let of = |title: &str| sessions.iter().find(|row| row["title"] == title).unwrap()["state"].clone();
        assert_eq!((of("at rest"), of("killed")), ("idle".into(), "interrupted".into()));
        assert!(stage.bosun(["tasks", "--all"]).run().expect(0).stdout.contains("root"));
        assert!(
            stage.bosun(["tasks", "show", "root", "--session", &id]).run().expect(0).stdout.contains("interrupted")
        );
        stage.bosun(["sessions", "show", &id]).run().expect(0);
        assert!(!stage.bosun(["sessions", "export", &id]).run().expect(0).stdout.is_empty());
        stage.bosun(["cost"]).run().expect(0);
    };
    assert_read();
    // Without the index, too.
    stage.disk().unseal();
    fs::remove_file(stage.home().join("bosun.db")).unwrap();
    stage.disk().seal();
    assert_read();
    stage.disk().unseal();
}

/// The same for a user whom permissions stop.
#[test]
fn sessions_in_folders_that_cannot_be_written_are_read() {
    use std::os::unix::fs::PermissionsExt;
    let stage = BinaryFixture::of_ordinary_user(BOSUN);
    stage.script(HELLO).prompt("hi").run().expect(0);
    let id = stage.newest();
    let mode = |path: &std::path::Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    mode(&stage.session_db(&id), 0o400);
    mode(&stage.session_dir(&id), 0o500);
    assert!(stage.bosun(["sessions", "show", &id]).run().expect(0).stdout.contains("idle"));
    assert!(stage.bosun(["tasks"]).run().expect(0).stdout.contains("root"));
    fs::remove_file(stage.home().join("bosun.db")).unwrap();
    assert_eq!(stage.sessions()[0]["title"], "hi");
    mode(&stage.session_dir(&id), 0o700);
}
