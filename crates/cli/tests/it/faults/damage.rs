//! Damaged session files.

use std::fs;
use std::path::Path;

use protocol::Envelope;
use testkit::binary::{BinaryFixture, garble, set_format, truncate};

use super::{path_text, restore};
use crate::fixture;
use crate::scripts::{HELLO, turns};

/// A fixture with two sessions; returns the id of the one to damage.
fn two_sessions() -> (BinaryFixture, String) {
    let fixture = fixture();
    fixture.script(&turns(30)).prompt("harm me").run().expect(0);
    let id = fixture.newest();
    fixture.script(HELLO).prompt("leave me alone").run().expect(0);
    (fixture, id)
}

/// Checks that the other session still works, and that the damaged one is listed in this state.
#[track_caller]
fn assert_others_unaffected(fixture: &BinaryFixture, harmed: &str, state: &str) {
    let sessions = fixture.sessions();
    assert_eq!(sessions.len(), 2, "{sessions:?}");
    let session_titled = |title: &str| sessions.iter().find(|session| session["title"] == title).unwrap();
    assert_eq!(session_titled("harm me")["state"], state);
    let other = session_titled("leave me alone")["id"].as_str().unwrap();
    assert_ne!(other, harmed);
    fixture.bosun(["sessions", "show", other]).run().expect(0);
    let answer = fixture.bosun(["--resume", other, "-p", "still there?"]).run().expect(0);
    assert_eq!(answer.stdout, "Hello.\n");
    fixture.prompt("a new one").run().expect(0);
}

/// Checks that resuming, showing and messaging the session fail and name its file.
#[track_caller]
fn assert_refused(fixture: &BinaryFixture, id: &str, code: i32, expected: &[&str]) {
    let db = fixture.session_db(id);
    let expected = [&[path_text(&db)], expected].concat();
    fixture.bosun(["--resume", id, "-p", "go on"]).run().expect(code).says(&expected);
    fixture.bosun(["sessions", "show", id]).run().expect(code).says(&expected);
    fixture.bosun(["sessions", "send", id, "hello"]).run().expect(code).says(&expected);
}

#[test]
fn truncated_file_does_not_affect_other_sessions() {
    for (what, left) in [("a torn page", 3 * 4096 + 1000), ("one page", 4096), ("half a header", 50)] {
        let (fixture, id) = two_sessions();
        truncate(&fixture.session_db(&id), left);
        assert_refused(
            &fixture,
            &id,
            1,
            &["damaged", "other sessions are unaffected", "sessions export", "sessions rm"],
        );
        assert_others_unaffected(&fixture, &id, "damaged");
        let removed = fixture.bosun(["sessions", "rm", &id]).run().expect(0);
        assert!(removed.stderr.contains(&id), "{what}: {}", removed.stderr);
        assert!(!fixture.session_dir(&id).exists(), "{what}");
    }
}

#[test]
fn overwritten_file_does_not_affect_other_sessions() {
    let harms: [fn(&Path); 2] = [|path| fs::write(path, [b'x'; 9000]).unwrap(), |path| garble(path, 0..4096)];
    for harm in harms {
        let (fixture, id) = two_sessions();
        harm(&fixture.session_db(&id));
        assert_refused(&fixture, &id, 1, &["damaged", "sessions rm"]);
        assert_others_unaffected(&fixture, &id, "damaged");
    }
}

#[test]
fn empty_file_does_not_affect_other_sessions() {
    let (fixture, id) = two_sessions();
    truncate(&fixture.session_db(&id), 0);
    assert_refused(&fixture, &id, 1, &["damaged", "sessions rm"]);
    assert_others_unaffected(&fixture, &id, "damaged");
}

/// Whichever page is damaged, readable events are unchanged and missing ones are reported.
#[test]
fn garbled_page_never_yields_wrong_events() {
    let (fixture, id) = two_sessions();
    let log = fixture.log(&id);
    let path = fixture.session_db(&id);
    let (whole, digest) = (fs::read(&path).unwrap(), fs::read(path.with_extension("digest")).unwrap());
    for page in 1..whole.len() / 4096 {
        restore(&path, &whole);
        // Resuming below changes it.
        fs::write(path.with_extension("digest"), &digest).unwrap();
        garble(&path, page * 4096..page * 4096 + 1500);
        let exported = fixture.bosun(["sessions", "export", &id, "--format", "json"]).run();
        let context = format!("page {page}: {}", exported.stderr);
        assert!(!exported.stderr.contains("panicked"), "{context}");
        let read: Vec<Envelope> = serde_json::from_str(&exported.stdout).unwrap_or_default();
        assert!(read.iter().all(|event| log.contains(event)), "{context}");
        match exported.status.code() {
            Some(0) => assert_eq!(read.len(), log.len(), "{context}"),
            Some(1) => {
                assert!(exported.stderr.contains("damaged"), "{context}");
                assert!(read.len() > log.len() / 4, "{context}: {} of {} events", read.len(), log.len());
                let names_gaps = exported.stderr.contains("missing events: ");
                assert!(names_gaps || read.len() == log.len(), "{context}: {} of {} events", read.len(), log.len());
            }
            other => panic!("{context}: {other:?}"),
        }
        // The HTML export shows the same events and reports the same gaps.
        let html = fixture.bosun(["sessions", "export", &id, "--format", "html"]).run();
        assert!(!html.stderr.contains("panicked"), "{context}: {}", html.stderr);
        match html.status.code() {
            Some(0) => assert_eq!(exported.status.code(), Some(0), "{context}"),
            Some(1) => assert!(html.stdout.contains("is damaged") && html.stdout.contains("</html>"), "{context}"),
            other => panic!("{context}: {other:?}"),
        }
        let resumed = fixture.bosun(["--resume", &id, "-p", "go on"]).run();
        assert!(!resumed.stderr.contains("panicked"), "page {page}: {}", resumed.stderr);
        assert!(matches!(resumed.status.code(), Some(0 | 1)), "page {page}: {resumed:?}");
        fixture.bosun(["sessions"]).run().expect(0);
    }
}

/// Exports a log without its end in each format, and checks that the missing events are counted.
#[track_caller]
fn torn_log(fixture: &BinaryFixture, id: &str, committed: usize) -> Vec<Envelope> {
    let export = |format: &str| fixture.bosun(["sessions", "export", id, "--format", format]).run().expect(1);
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

/// A log whose committed end is damaged: missing events are reported before anything runs.
#[test]
fn truncated_log_is_refused_until_repaired() {
    for lost in [1, 700, 4096, 9000] {
        let fixture = fixture();
        fixture
            .script(&turns(12))
            .prompt("go")
            .env("BOSUN_FAULT", "after-commit:40")
            .discard_output()
            .run()
            .expect_killed();
        let id = fixture.newest();
        let log = fixture.log(&id);
        let wal = fixture.session_dir(&id).join("session.db-wal");
        // The WAL is not merged into the file yet, so truncating it loses events.
        let length = fs::metadata(&wal).unwrap().len();
        truncate(&wal, length - lost);
        let torn = torn_log(&fixture, &id, log.len());
        assert!(torn.len() < log.len() && torn == log[..torn.len()], "{lost} bytes: {} events", torn.len());
        let refused = fixture.bosun(["--continue", "--allow-all"]).run().expect(1);
        refused.says(&["has lost its last", "40 were committed", "bosun sessions repair"]);
        assert_eq!(torn_log(&fixture, &id, log.len()), torn, "nothing ran");
        fixture.bosun(["sessions", "repair", &id]).run().expect(0);
        assert_eq!(fixture.bosun(["--continue", "--allow-all"]).run().expect(0).stdout, "Done.\n");
        assert_eq!(fixture.log(&id)[..torn.len()], torn[..]);
    }
}

#[test]
fn newer_session_does_not_affect_other_sessions() {
    let (fixture, id) = two_sessions();
    set_format(&fixture.session_db(&id), 900);
    assert_refused(&fixture, &id, 2, &["format 900", "newer version"]);
    assert_others_unaffected(&fixture, &id, "newer");
}

#[test]
fn newer_index_is_refused_and_a_damaged_one_is_rebuilt() {
    let (fixture, _) = two_sessions();
    let index = fixture.home().join("bosun.db");
    let whole = fs::read(&index).unwrap();
    set_format(&index, 900);
    fixture.bosun(["sessions"]).run().expect(2).says(&[path_text(&index), "format 900", "newer version"]);
    fs::write(&index, &whole).unwrap();
    let sessions = fixture.sessions();
    let harms: [fn(&Path); 4] = [
        |path| fs::remove_file(path).unwrap(),
        |path| truncate(path, 0),
        |path| fs::write(path, "not a database, but long enough to be taken for the header of one.....").unwrap(),
        |path| garble(path, 0..4096),
    ];
    for harm in harms {
        harm(&index);
        assert_eq!(fixture.sessions(), sessions);
    }
    // The next command reports it once.
    garble(&index, 0..4096);
    let output = fixture.bosun(["sessions"]).run().expect(0);
    output.says(&[
        "warning: ",
        path_text(&index),
        "was damaged",
        "was rebuilt",
        "it has 2 sessions",
        "bosun.db.damaged-",
    ]);
    assert!(!fixture.bosun(["sessions"]).run().expect(0).stderr.contains("was rebuilt"));
}
