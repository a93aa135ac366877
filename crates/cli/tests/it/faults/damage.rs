//! Files that are not what was written.

use std::fs;
use std::path::Path;

use protocol::Envelope;
use testkit::binary::{BinaryFixture, garble, set_format, truncate};

use super::{restore, shown};
use crate::scripts::{HELLO, turns};
use crate::stage;

/// A stage with a session to harm, whose id is returned, and another beside it.
fn two_sessions() -> (BinaryFixture, String) {
    let stage = stage();
    stage.script(&turns(30)).prompt("harm me").run().expect(0);
    let id = stage.newest();
    stage.script(HELLO).prompt("leave me alone").run().expect(0);
    (stage, id)
}

/// The session that was not harmed is listed, shown and goes on; the harmed one is listed for what it is.
#[track_caller]
fn assert_others_unaffected(stage: &BinaryFixture, harmed: &str, state: &str) {
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
fn assert_refused(stage: &BinaryFixture, id: &str, code: i32, words: &[&str]) {
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
    let (whole, tally) = (fs::read(&path).unwrap(), fs::read(path.with_extension("digest")).unwrap());
    for page in 1..whole.len() / 4096 {
        restore(&path, &whole);
        // What is resumed below adds to it.
        fs::write(path.with_extension("digest"), &tally).unwrap();
        garble(&path, page * 4096..page * 4096 + 1500);
        let exported = stage.bosun(["sessions", "export", &id, "--format", "json"]).run();
        let what = format!("page {page}: {}", exported.stderr);
        assert!(!exported.stderr.contains("panicked"), "{what}");
        let read: Vec<Envelope> = serde_json::from_str(&exported.stdout).unwrap_or_default();
        assert!(read.iter().all(|event| log.contains(event)), "{what}");
        match exported.status.code() {
            Some(0) => assert_eq!(read.len(), log.len(), "{what}"),
            Some(1) => {
                assert!(exported.stderr.contains("damaged"), "{what}");
                assert!(read.len() > log.len() / 4, "{what}: {} of {} events", read.len(), log.len());
                let names_gaps = exported.stderr.contains("missing events: ");
                assert!(names_gaps || read.len() == log.len(), "{what}: {} of {} events", read.len(), log.len());
            }
            other => panic!("{what}: {other:?}"),
        }
        // A page of HTML shows the same, and tells of the same gaps.
        let html = stage.bosun(["sessions", "export", &id, "--format", "html"]).run();
        assert!(!html.stderr.contains("panicked"), "{what}: {}", html.stderr);
        match html.status.code() {
            Some(0) => assert_eq!(exported.status.code(), Some(0), "{what}"),
            Some(1) => assert!(html.stdout.contains("is damaged") && html.stdout.contains("</html>"), "{what}"),
            other => panic!("{what}: {other:?}"),
        }
        let resumed = stage.bosun(["--resume", &id, "-p", "go on"]).run();
        assert!(!resumed.stderr.contains("panicked"), "page {page}: {}", resumed.stderr);
        assert!(matches!(resumed.status.code(), Some(0 | 1)), "page {page}: {resumed:?}");
        stage.bosun(["sessions"]).run().expect(0);
    }
}

/// D8: a log without its end, as each form of an export gives it, with how much is missing.
#[track_caller]
fn torn_log(stage: &BinaryFixture, id: &str, committed: usize) -> Vec<Envelope> {
    let export = |format: &str| stage.bosun(["sessions", "export", id, "--format", format]).run().expect(1);
    let json = export("json");
    let log: Vec<Envelope> = serde_json::from_str(&json.stdout).unwrap();
    let missing = format!("the last {} events are missing", committed - log.len());
    json.says(&[&missing]);
    for format in ["markdown", "html"] {
        let page = export(format).stdout;
        assert!(page.contains(&missing) && page.contains("go"), "{format}: {page}");
    }
    log
}

/// A log whose end is damaged after it was committed: what is missing is said before anything runs again.
#[test]
fn a_log_that_lost_its_end_is_refused_until_a_person_accepts_it() {
    for lost in [1, 700, 4096, 9000] {
        let stage = stage();
        stage
            .script(&turns(12))
            .prompt("go")
            .env("BOSUN_FAULT", "after-commit:40")
            .discard_output()
            .run()
            .expect_killed();
        let id = stage.newest();
        let log = stage.log(&id);
        let wal = stage.session_dir(&id).join("session.db-wal");
        // The log is not in the file yet, so that losing its end loses events.
        let length = fs::metadata(&wal).unwrap().len();
        truncate(&wal, length - lost);
        let torn = torn_log(&stage, &id, log.len());
        assert!(torn.len() < log.len() && torn == log[..torn.len()], "{lost} bytes: {} events", torn.len());
        let refused = stage.bosun(["--continue", "--allow-all"]).run().expect(1);
        refused.says(&["has lost its last", "40 were committed", "bosun sessions repair"]);
        assert_eq!(torn_log(&stage, &id, log.len()), torn, "nothing ran");
        stage.bosun(["sessions", "repair", &id]).run().expect(0);
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
    // D16: whoever runs next is told, once.
    garble(&index, 0..4096);
    let told = stage.bosun(["sessions"]).run().expect(0);
    told.says(&["warning: ", shown(&index), "was damaged", "was rebuilt", "it has 2 sessions", "bosun.db.damaged-"]);
    assert!(!stage.bosun(["sessions"]).run().expect(0).stderr.contains("was rebuilt"));
}
