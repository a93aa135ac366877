//! Disks that fill, homes that cannot be used, and files that are not what was written: a clear word, the right exit
//! code, and no harm to any other session.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;

use protocol::{Envelope, Event};
use testkit::binary::{Ended, PATIENCE, Stage, garble, is_root, set_format, truncate, within};

use crate::scripts::{HELLO, shell, turns};
use crate::{BOSUN, stage};

/// Where a file is, as messages name it.
fn shown(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A stage with a session to harm, whose id is returned, and another beside it.
fn two_sessions() -> (Stage, String) {
    let stage = stage();
    stage.script(&turns(30)).prompt("harm me").run().expect(0);
    let id = stage.newest();
    stage.script(HELLO).prompt("leave me alone").run().expect(0);
    (stage, id)
}

/// The session that was not harmed is listed, shown and goes on; the harmed one is listed for what it is.
#[track_caller]
fn assert_others_unaffected(stage: &Stage, harmed: &str, state: &str) {
    let sessions = stage.sessions();
    assert_eq!(sessions.len(), 2, "{sessions:?}");
    let of = |title: &str| sessions.iter().find(|session| session["title"] == title).unwrap();
    assert_eq!(of("harm me")["state"], state);
    let other = of("leave me alone")["id"].as_str().unwrap();
    assert_ne!(other, harmed);
    stage.bosun(["sessions", "show", other]).run().expect(0);
    let answer = stage.bosun(["--resume", other, "-p", "still there?"]).run().expect(0);
    assert_eq!(answer.stdout, "Hello.\n");
    stage.prompt("a new one").run().expect(0);
}

/// Resuming, showing and prompting the session all name its file.
#[track_caller]
fn assert_refused(stage: &Stage, id: &str, code: i32, words: &[&str]) {
    let db = stage.session_db(id);
    let words = [&[shown(&db)], words].concat();
    stage.bosun(["--resume", id, "-p", "go on"]).run().expect(code).says(&words);
    stage.bosun(["sessions", "show", id]).run().expect(code).says(&words);
    stage.bosun(["sessions", "send", id, "hello"]).run().expect(code).says(&words);
}

#[test]
fn a_file_that_lost_its_end_is_damaged_and_others_are_not() {
    for (what, left) in [("a torn page", 3 * 4096 + 1000), ("one page", 4096), ("half a header", 50)] {
        let (stage, id) = two_sessions();
        truncate(&stage.session_db(&id), left);
        assert_refused(&stage, &id, 1, &["damaged", "other sessions are unaffected", "sessions export", "sessions rm"]);
        assert_others_unaffected(&stage, &id, "damaged");
        let removed = stage.bosun(["sessions", "rm", &id]).run().expect(0);
        assert!(removed.stderr.contains(&id), "{what}: {}", removed.stderr);
        assert!(!stage.session_dir(&id).exists(), "{what}");
    }
}

#[test]
fn a_file_with_other_content_is_damaged_and_others_are_not() {
    let harms: [fn(&Path); 2] = [|path| fs::write(path, [b'x'; 9000]).unwrap(), |path| garble(path, 0..4096)];
    for harm in harms {
        let (stage, id) = two_sessions();
        harm(&stage.session_db(&id));
        assert_refused(&stage, &id, 1, &["damaged", "sessions rm"]);
        assert_others_unaffected(&stage, &id, "damaged");
    }
}

#[test]
fn an_empty_file_is_damaged_and_others_are_not() {
    let (stage, id) = two_sessions();
    truncate(&stage.session_db(&id), 0);
    assert_refused(&stage, &id, 1, &["damaged", "sessions rm"]);
    assert_others_unaffected(&stage, &id, "damaged");
}

/// Whichever page is harmed, what can be read is as it was, and what cannot is told.
#[test]
fn a_garbled_page_never_gives_wrong_events() {
    let (stage, id) = two_sessions();
    let log = stage.log(&id);
    let path = stage.session_db(&id);
    let whole = fs::read(&path).unwrap();
    for page in 1..whole.len() / 4096 {
        restore(&path, &whole);
        garble(&path, page * 4096..page * 4096 + 1500);
        let exported = stage.bosun(["sessions", "export", &id, "--format", "json"]).run();
        let what = format!("page {page}: {}", exported.stderr);
        assert!(!exported.stderr.contains("panicked"), "{what}");
        let read: Vec<Envelope> = serde_json::from_str(&exported.stdout).unwrap_or_default();
        assert_eq!(read, log[..read.len()], "{what}");
        match exported.status.code() {
            Some(0) => assert_eq!(read.len(), log.len(), "{what}"),
            Some(1) => assert!(exported.stderr.contains("damaged"), "{what}"),
            other => panic!("{what}: {other:?}"),
        }
        let resumed = stage.bosun(["--resume", &id, "-p", "go on"]).run();
        assert!(!resumed.stderr.contains("panicked"), "page {page}: {}", resumed.stderr);
        assert!(matches!(resumed.status.code(), Some(0 | 1)), "page {page}: {resumed:?}");
        stage.bosun(["sessions"]).run().expect(0);
    }
}

/// Writes a file as it was, without what SQLite keeps beside it.
fn restore(path: &Path, whole: &[u8]) {
    for ending in ["-wal", "-shm"] {
        // Beside a file that is at rest there may be neither.
        let _missing = fs::remove_file(format!("{}{ending}", shown(path)));
    }
    fs::write(path, whole).unwrap();
}

/// What a power cut leaves: a log that ends in the middle of a write.
#[test]
fn a_torn_end_of_the_log_is_dropped_and_the_session_goes_on() {
    for lost in [1, 700, 4096, 9000] {
        let stage = stage();
        stage.script(&turns(12)).prompt("go").env("BOSUN_FAULT", "after-commit:40").unheard().run().expect_killed();
        let id = stage.newest();
        let log = stage.log(&id);
        let wal = stage.session_dir(&id).join("session.db-wal");
        // The log is not in the file yet, so that losing its end loses events.
        let length = fs::metadata(&wal).unwrap().len();
        truncate(&wal, length - lost);
        let torn = stage.log(&id);
        assert!(torn.len() < log.len() && torn == log[..torn.len()], "{lost} bytes: {} events", torn.len());
        assert_eq!(stage.bosun(["--continue", "--allow-all"]).run().expect(0).stdout, "Done.\n");
        assert_eq!(stage.log(&id)[..torn.len()], torn[..]);
    }
}

#[test]
fn a_newer_session_is_refused_and_others_are_not() {
    let (stage, id) = two_sessions();
    set_format(&stage.session_db(&id), 900);
    assert_refused(&stage, &id, 2, &["format 900", "newer bosun"]);
    assert_others_unaffected(&stage, &id, "newer");
}

#[test]
fn a_newer_index_is_refused_and_a_damaged_one_is_made_again() {
    let (stage, _) = two_sessions();
    let index = stage.home().join("bosun.db");
    let whole = fs::read(&index).unwrap();
    set_format(&index, 900);
    stage.bosun(["sessions"]).run().expect(2).says(&[shown(&index), "format 900", "newer bosun"]);
    fs::write(&index, &whole).unwrap();
    let sessions = stage.sessions();
    let harms: [fn(&Path); 4] = [
        |path| fs::remove_file(path).unwrap(),
        |path| truncate(path, 0),
        |path| fs::write(path, "not a database, but long enough to be taken for the header of one.....").unwrap(),
        |path| garble(path, 0..4096),
    ];
    for harm in harms {
        harm(&index);
        assert_eq!(stage.sessions(), sessions);
    }
}

#[test]
fn a_home_that_cannot_be_used_is_named_with_the_remedy() {
    let stage = stage();
    stage.script(HELLO);
    fs::write(stage.home(), "a file").unwrap();
    stage.prompt("hi").run().expect(2).says(&[shown(&stage.home()), "is not a directory", "BOSUN_HOME"]);
    let below = stage.home().join("below");
    let said = stage.prompt("hi").env("BOSUN_HOME", &below).run().expect(2);
    said.says(&["is not a directory", "BOSUN_HOME"]);
    let long = stage.path(&"long".repeat(30));
    stage.prompt("hi").env("BOSUN_HOME", long).run().expect(2).says(&["too long a path", "BOSUN_HOME"]);
    let nowhere = stage.prompt("hi").without_env("BOSUN_HOME").without_env("HOME").run().expect(2);
    nowhere.says(&["neither BOSUN_HOME nor HOME is set", "hint:"]);
}

/// Sets the mode of a path.
fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

#[test]
fn what_an_ordinary_user_may_not_use_is_named_with_the_remedy() {
    let stage = Stage::of_ordinary_user(BOSUN);
    stage.script(HELLO).prompt("hi").run().expect(0);
    let id = stage.newest();
    let (db, folder) = (stage.session_db(&id), stage.session_dir(&id));

    mode(&db, 0o000);
    stage.bosun(["sessions", "show", &id]).run().expect(1).says(&[shown(&db), "permission denied", "BOSUN_HOME"]);
    mode(&db, 0o400);
    stage.bosun(["--resume", &id, "-p", "hi"]).run().expect(1).says(&[shown(&db), "read-only"]);
    mode(&db, 0o600);
    restore(&db, &fs::read(&db).unwrap());
    mode(&folder, 0o500);
    stage.bosun(["--resume", &id, "-p", "hi"]).run().expect(1).says(&[shown(&db), "read-only"]);
    mode(&folder, 0o700);
    stage.bosun(["--resume", &id, "-p", "hi"]).run().expect(0);

    let theirs = stage.path("theirs");
    fs::create_dir(&theirs).unwrap();
    mode(&theirs, 0o555);
    let said = stage.prompt("hi").env("BOSUN_HOME", theirs.join("home")).run().expect(2);
    said.says(&[shown(&theirs), "no permission", "BOSUN_HOME"]);
    let said = stage.prompt("hi").env("BOSUN_HOME", "/").run().expect(2);
    said.says(&["no permission", "BOSUN_HOME"]);
}

#[test]
fn a_home_that_belongs_to_somebody_else_is_named_with_the_remedy() {
    if !is_root() {
        return println!("skipped: only root can give a home to somebody else");
    }
    let stage = Stage::of_ordinary_user(BOSUN);
    stage.script(HELLO).prompt("hi").run().expect(0);
    chown(stage.home(), Some(0), Some(0)).unwrap();
    for readable in [0o755, 0o700] {
        mode(&stage.home(), readable);
        for args in [&["-p", "hi"][..], &["sessions"], &["gc"]] {
            stage.bosun(args).run().expect(2).says(&[shown(&stage.home()), "no permission", "BOSUN_HOME"]);
        }
    }
}

#[test]
fn a_read_only_disk_is_told_and_works_again_when_it_can_be_written() {
    let Some(stage) = Stage::on_small_disk(BOSUN, 4096) else {
        return println!("skipped: only root can mount a small disk");
    };
    stage.script(HELLO).prompt("hi").run().expect(0);
    stage.disk().seal();
    for args in [&["-p", "hi"][..], &["--continue", "-p", "hi"], &["sessions"]] {
        stage.bosun(args).run().expect(2).says(&[shown(&stage.home()), "read-only", "BOSUN_HOME"]);
    }
    stage.disk().unseal();
    stage.bosun(["--continue", "-p", "hi"]).run().expect(0);
}

#[test]
fn a_full_disk_pauses_the_session_and_freed_space_lets_it_go_on() {
    let Some(stage) = Stage::on_small_disk(BOSUN, 1024) else {
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
fn assert_full(ended: &Ended) {
    let said = &ended.stderr;
    assert!(said.contains("no space left") && said.contains("free some"), "{said}");
    assert!(said.contains("bosun --resume"), "{said}");
}

/// Whatever needs a byte of the disk says so.
#[track_caller]
fn assert_full_elsewhere(stage: &Stage) {
    let refused = |ended: Ended| {
        assert!(matches!(ended.status.code(), Some(1 | 2)), "{ended:?}");
        ended.says(&["no space left", "free some"]);
    };
    refused(stage.bosun(["sessions"]).run());
    refused(stage.prompt("another").run());
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
fn settings_that_make_no_sense_are_named_with_file_and_line() {
    let stage = stage();
    stage.script(HELLO).prompt("hi").run().expect(0);
    let config = stage.home().join("config.toml");
    fs::write(&config, "model = 'script/x'\nturns = 3\n").unwrap();
    let said = stage.bosun(["sessions"]).run().expect(2);
    said.says(&[shown(&config), "line 2", "unknown field `turns`", "max-turns"]);
    fs::write(&config, "[limits]\nlive = 0\n").unwrap();
    stage.prompt("hi").run().expect(2).says(&[shown(&config), "limits.live", "between 1 and 4096"]);
    fs::write(&config, [0xff, 0xfe]).unwrap();
    stage.prompt("hi").run().expect(2).says(&[shown(&config)]);
    fs::write(&config, "max-turns = 50\n").unwrap();
    stage.prompt("hi").run().expect(0);
}
