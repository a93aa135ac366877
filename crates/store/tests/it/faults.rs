//! Damaged, newer, forbidden and full: each has its own error, and the neighbours do not notice.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;

use host::Home;
use protocol::Timestamp;
use protocol::api::SessionCommand;
use store::{SessionFile, SessionIndex, SessionReader, StoreError, post_command};

use crate::support::*;

/// A session of many events, at rest.
fn written(home: &Home, n: u128) {
    let opened = create(home, session(n));
    commit(&opened.writer, opening()).unwrap();
    commit(&opened.writer, (20..500).map(intent).collect()).unwrap();
    opened.writer.release().unwrap();
}

fn adopt_error(home: &Home, n: u128) -> StoreError {
    SessionFile::adopt(home, session(n), &dead(), Timestamp(9)).map(|_| ()).unwrap_err()
}

#[test]
fn damage_is_named_and_other_sessions_are_unaffected() {
    type Damage = fn(&Path);
    let damage: [(&str, Damage); 6] = [
        ("not a database", |path| fs::write(path, "x".repeat(9000)).unwrap()),
        ("empty", |path| fs::write(path, "").unwrap()),
        ("cut", |path| fs::File::options().write(true).open(path).unwrap().set_len(4096 * 4).unwrap()),
        ("a page of zeros everywhere", |path| scribble(path, 0)),
        ("a page of ones everywhere", |path| scribble(path, 0xFF)),
        ("another program's database", |path| raw(path).pragma_update(None, "application_id", 7).unwrap()),
    ];
    for (what, damage) in damage {
        let fixture = fixture();
        written(&fixture.home, 1);
        written(&fixture.home, 2);
        let path = fixture.home.session_db(session(1));
        damage(&path);
        let error = adopt_error(&fixture.home, 1);
        assert!(matches!(error, StoreError::Corrupt { .. }), "{what}: {error:?}");
        let text = error.to_string();
        assert!(text.contains(path.to_str().unwrap()) && text.contains("sessions rm"), "{what}: {text}");
        let read = SessionReader::open(&fixture.home, session(1)).and_then(|reader| reader.events_after(0, usize::MAX));
        assert!(matches!(read, Err(StoreError::Corrupt { .. })), "{what}: {read:?}");
        assert_eq!(adopt(&fixture.home, session(2)).log.len(), 483, "{what}");
    }
}

/// Overwrites every page but the first.
fn scribble(path: &Path, byte: u8) {
    let mut bytes = fs::read(path).unwrap();
    bytes[4096..].fill(byte);
    fs::write(path, bytes).unwrap();
}

#[test]
fn an_event_that_does_not_parse_is_damage() {
    let fixture = fixture();
    written(&fixture.home, 1);
    let path = fixture.home.session_db(session(1));
    let broken = r#"UPDATE bosun_events SET body = '{"type":"taskParked","untilAt":"dawn"}' WHERE seq = 9"#;
    raw(&path).execute(broken, []).unwrap();
    let error = adopt_error(&fixture.home, 1);
    assert!(matches!(&error, StoreError::Corrupt { detail, .. } if detail.contains("event 9")), "{error:?}");
}

#[test]
fn a_newer_file_is_refused_with_both_versions() {
    let fixture = fixture();
    written(&fixture.home, 1);
    let path = fixture.home.session_db(session(1));
    raw(&path).pragma_update(None, "user_version", 9).unwrap();
    let newer = StoreError::Newer { path: path.clone(), found: 9, known: 1 };
    assert_eq!(adopt_error(&fixture.home, 1), newer);
    assert_eq!(SessionReader::open(&fixture.home, session(1)).map(|_| ()), Err(newer.clone()));
    assert_eq!(post_command(&fixture.home, session(1), &SessionCommand::Stop, Timestamp(1)), Err(newer.clone()));
    let text = newer.to_string();
    assert!(text.contains("format 9") && text.contains("up to 1") && text.contains(path.to_str().unwrap()), "{text}");

    SessionIndex::open(&fixture.home).unwrap();
    raw(&fixture.home.index_db()).pragma_update(None, "user_version", 9).unwrap();
    assert!(matches!(SessionIndex::open(&fixture.home), Err(StoreError::Newer { found: 9, .. })));
}

#[test]
fn a_missing_session_is_missing() {
    let fixture = fixture();
    let path = fixture.home.session_db(session(1));
    assert_eq!(adopt_error(&fixture.home, 1), StoreError::Missing { id: session(1), path });
}

/// What a power cut leaves: the file and its log, copied while the owner still runs, the log then harmed.
#[test]
fn a_torn_tail_of_the_log_is_dropped_and_the_rest_is_kept() {
    let fixture = fixture();
    let home = &fixture.home;
    let opened = create(home, session(1));
    for n in 1..=20 {
        commit(&opened.writer, vec![intent(n)]).unwrap();
    }
    let wal = fs::read(companion(home, 1)).unwrap();
    let frame = 24 + 4096;
    let mut lengths = Vec::new();
    type Harm = Box<dyn Fn(&mut Vec<u8>)>;
    let harms: [(&str, Harm); 6] = [
        ("whole", Box::new(|_| {})),
        ("half a frame lost", Box::new(move |wal| wal.truncate(wal.len() - frame / 2))),
        ("ten and a half frames lost", Box::new(move |wal| wal.truncate(wal.len() - 10 * frame - frame / 2))),
        ("last frame garbled", Box::new(move |wal| wal.iter_mut().rev().take(frame / 3).for_each(|b| *b ^= 0x5A))),
        ("a block of NULs at the end", Box::new(move |wal| wal.iter_mut().rev().take(5000).for_each(|b| *b = 0))),
        ("garbage after the end", Box::new(|wal| wal.extend(std::iter::repeat_n(0xA5, 10_000)))),
    ];
    for (n, (what, harm)) in (2..).zip(harms) {
        home.make_session(session(n)).unwrap();
        fs::copy(home.session_db(session(1)), home.session_db(session(n))).unwrap();
        let mut torn = wal.clone();
        harm(&mut torn);
        fs::write(companion(home, n), torn).unwrap();
        let reopened = adopt(home, session(n));
        let log: Vec<_> = reopened.log.iter().map(|envelope| envelope.entry.clone()).collect();
        assert_eq!(log, (1..).take(log.len()).map(intent).collect::<Vec<_>>(), "{what}");
        let next = commit(&reopened.writer, vec![intent(99)]).unwrap().last_seq;
        assert_eq!(next, u64::try_from(log.len()).unwrap() + 1, "{what}");
        lengths.push(log.len());
    }
    assert_eq!((lengths[0], lengths[5]), (20, 20));
    assert!(lengths[1..5].iter().all(|length| *length < 20), "{lengths:?}");
}

fn companion(home: &Home, n: u128) -> std::path::PathBuf {
    home.session_dir(session(n)).join("session.db-wal")
}

/// Runs one test of this binary as a user who is not root, in a folder of that user's own.
fn as_nobody(case: &str) {
    const NOBODY: u32 = 65534;
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("it");
    fs::copy(this_binary(), &program).unwrap();
    let own = folder.path().join("own");
    fs::create_dir(&own).unwrap();
    for path in [folder.path(), &program] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let mut child = again(&program, case, &own);
    if std::os::unix::fs::chown(&own, Some(NOBODY), Some(NOBODY)).is_ok() {
        child.uid(NOBODY).gid(NOBODY);
    }
    assert_succeeds(child);
}

#[test]
fn forbidden_and_read_only_places_are_told_apart() {
    let Some(folder) = child_argument() else {
        return as_nobody("faults::forbidden_and_read_only_places_are_told_apart");
    };
    let home = Home::open(folder.join("home")).unwrap();
    let mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    for n in 1..=4 {
        written(&home, n);
    }
    let path = |n| home.session_db(session(n));

    mode(&path(1), 0o000);
    assert_eq!(adopt_error(&home, 1), StoreError::Denied { path: path(1) });
    assert_eq!(SessionReader::open(&home, session(1)).map(|_| ()), Err(StoreError::Denied { path: path(1) }));

    mode(&path(2), 0o400);
    assert_eq!(adopt_error(&home, 2), StoreError::ReadOnly { path: path(2) });

    mode(&home.session_dir(session(3)), 0o500);
    let read = SessionReader::open(&home, session(3)).and_then(|reader| reader.events_after(0, 1));
    assert_eq!(read.map(|events| events.len()), Ok(1), "reading needs no place to write");
    assert_eq!(adopt_error(&home, 3), StoreError::ReadOnly { path: path(3) });

    // The index too, whether it is there or not.
    for is_there in [true, false] {
        if is_there {
            drop(SessionIndex::open(&home).unwrap());
            mode(&home.index_db(), 0o400);
        } else {
            fs::remove_file(home.index_db()).unwrap();
        }
        mode(home.root(), 0o500);
        assert!(matches!(SessionIndex::open(&home), Err(StoreError::ReadOnly { .. } | StoreError::Denied { .. })));
        let mut states: Vec<String> =
            SessionIndex::current(&home).unwrap().list(None).unwrap().into_iter().map(|row| row.state).collect();
        states.sort();
        assert_eq!(states, ["idle", "idle", "idle", "unreadable"], "{is_there}");
        mode(home.root(), 0o700);
    }

    mode(&home.sessions_dir(), 0o500);
    let created = SessionFile::create(&home, session(5), &me(), Timestamp(1)).map(|_| ());
    assert_eq!(created, Err(StoreError::Denied { path: home.session_dir(session(5)) }));
    assert_eq!(adopt(&home, session(4)).log.len(), 483);
}

#[test]
fn a_full_disk_fails_the_commit_and_freeing_space_mends_it() {
    let Some(folder) = child_argument() else {
        return on_small_disk("faults::a_full_disk_fails_the_commit_and_freeing_space_mends_it");
    };
    let home = Home::open(folder.join("home")).unwrap();
    let opened = create(&home, session(1));
    commit(&opened.writer, opening()).unwrap();
    let ballast = folder.join("ballast");
    fill(&ballast);
    let full = (0..100).find_map(|n| commit(&opened.writer, (0..50).map(|k| intent(n * 50 + k)).collect()).err());
    assert_eq!(full, Some(StoreError::Full { path: home.session_db(session(1)) }));
    let before = reader(&home, session(1)).session_view().unwrap().events;
    let another = SessionFile::create(&home, session(2), &dead(), Timestamp(1)).map(|_| ());
    assert!(matches!(another, Err(StoreError::Full { .. } | StoreError::Home(_))), "{another:?}");

    fs::remove_file(&ballast).unwrap();
    assert_eq!(commit(&opened.writer, vec![intent(9_999)]).unwrap().last_seq, before + 1);
    drop(opened);
    assert_eq!(adopt(&home, session(1)).log.len(), usize::try_from(before).unwrap() + 1);
}

/// Writes until nothing more fits.
fn fill(path: &Path) {
    use std::io::Write;
    let mut file = fs::File::create(path).unwrap();
    for size in [65_536, 4096, 1] {
        while file.write_all(&vec![b'x'; size]).is_ok() {}
    }
}

/// Runs one test of this binary with a disk of one mebibyte that nobody else sees.
fn on_small_disk(case: &str) {
    let folder = tempfile::tempdir().unwrap();
    let shell = |script: &str| {
        let mut unshare = command(Path::new("unshare"));
        unshare.args(["--mount", "--map-root-user", "sh", "-c", script]).arg(folder.path());
        unshare
    };
    let mount = r#"mount -t tmpfs -o size=1m none "$0""#;
    if !shell(mount).status().is_ok_and(|status| status.success()) {
        println!("skipped: this machine lets nobody mount a small disk");
        return;
    }
    let child = again(&this_binary(), case, folder.path());
    let mut mounted = shell(&format!(r#"{mount} && exec "$@""#));
    mounted.arg(child.get_program()).args(child.get_args());
    mounted.envs(child.get_envs().filter_map(|(name, value)| Some((name, value?))));
    assert_succeeds(mounted);
}

/// The files of a session as a killed owner leaves them, in a home of their own.
fn killed(commits: u64) -> StoreFixture {
    let (from, to) = (fixture(), fixture());
    let opened = create(&from.home, session(1));
    commit(&opened.writer, opening()).unwrap();
    for n in 1..commits {
        commit(&opened.writer, vec![intent(n)]).unwrap();
    }
    to.home.make_session(session(1)).unwrap();
    for file in std::fs::read_dir(from.home.session_dir(session(1))).unwrap().flatten() {
        if file.path().is_file() {
            std::fs::copy(file.path(), to.home.session_dir(session(1)).join(file.file_name())).unwrap();
        }
    }
    to
}

#[test]
fn a_damaged_byte_in_the_log_of_a_killed_owner_is_found_before_anything_runs_again() {
    let whole = killed(40);
    let last = adopt(&whole.home, session(1)).log.last().unwrap().seq;
    let mut found = 0;
    for part in 1..20 {
        let fixture = killed(40);
        let wal = fixture.home.session_dir(session(1)).join("session.db-wal");
        let mut bytes = std::fs::read(&wal).unwrap();
        let at = bytes.len() / 20 * part;
        bytes[at] ^= 0xff;
        std::fs::write(&wal, bytes).unwrap();
        match SessionFile::adopt(&fixture.home, session(1), &dead(), Timestamp(2)) {
            Err(StoreError::Lost { found: kept, committed, .. }) => {
                assert!(kept < committed && committed == last, "{kept} of {committed}");
                found += 1;
                assert_eq!(store::accept_log(&fixture.home, session(1)), Ok(kept));
                assert_eq!(adopt(&fixture.home, session(1)).log.len() as u64, kept);
            }
            // Without its first pages it is not a session at all.
            Err(StoreError::Corrupt { .. } | StoreError::Older { .. } | StoreError::Unexpected { .. }) => {}
            other => panic!("damage at {at} was not seen: {other:?}"),
        }
    }
    assert!(found > 10, "{found}");
}

#[test]
fn a_log_that_something_else_wrote_to_is_not_gone_on_with() {
    let changes = [
        "UPDATE bosun_events SET body = replace(body, 'a', 'b') WHERE seq = 2",
        "DELETE FROM bosun_events WHERE seq = 2",
        "UPDATE bosun_events SET at = at + 1 WHERE seq = 1",
    ];
    for sql in changes {
        let fixture = killed(5);
        raw(&fixture.home.session_db(session(1))).execute_batch(sql).unwrap();
        let adopted = SessionFile::adopt(&fixture.home, session(1), &dead(), Timestamp(2));
        assert!(matches!(adopted, Err(StoreError::Altered { .. })), "{sql}: {adopted:?}");
    }
    let fixture = fixture();
    let opened = create(&fixture.home, session(1));
    commit(&opened.writer, opening()).unwrap();
    let forged = "INSERT INTO bosun_events (seq, v, at, task, body) SELECT seq + 1, v, at, task, body FROM bosun_events \
                  ORDER BY seq DESC LIMIT 1";
    raw(&fixture.home.session_db(session(1))).execute(forged, []).unwrap();
    let refused = commit(&opened.writer, vec![intent(1)]);
    assert!(matches!(refused, Err(StoreError::Altered { .. })), "{refused:?}");
}

#[test]
fn a_folder_that_is_removed_while_its_session_runs_is_noticed_with_the_next_commit() {
    let fixture = fixture();
    let opened = create(&fixture.home, session(1));
    commit(&opened.writer, opening()).unwrap();
    std::fs::remove_dir_all(fixture.home.session_dir(session(1))).unwrap();
    let refused = commit(&opened.writer, vec![intent(1)]);
    assert!(matches!(refused, Err(StoreError::Removed { .. })), "{refused:?}");
}
