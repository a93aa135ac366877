//! Damaged, newer and unreadable files and full disks: each has its own error, and other sessions are unaffected.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;

use host::Home;
use protocol::Timestamp;
use protocol::api::SessionCommand;
use store::{SessionFile, SessionIndex, SessionReader, StoreError, post_command};

use crate::support::*;

/// Writes a session with many events and releases it.
fn write_session(home: &Home, n: u128) {
    let opened = create(home, session(n));
    commit(&opened.writer, first_entries()).unwrap();
    commit(&opened.writer, (20..500).map(intent).collect()).unwrap();
    opened.writer.release().unwrap();
}

fn adopt_error(home: &Home, n: u128) -> StoreError {
    SessionFile::adopt(home, session(n), &dead_process(), Timestamp(9)).map(|_| ()).unwrap_err()
}

#[test]
fn damage_is_reported_and_other_sessions_are_unaffected() {
    type Damage = fn(&Path);
    let damage: [(&str, Damage); 6] = [
        ("not a database", |path| fs::write(path, "x".repeat(9000)).unwrap()),
        ("empty", |path| fs::write(path, "").unwrap()),
        ("cut", |path| fs::File::options().write(true).open(path).unwrap().set_len(4096 * 4).unwrap()),
        ("a page of zeros everywhere", |path| overwrite_pages(path, 0)),
        ("a page of ones everywhere", |path| overwrite_pages(path, 0xFF)),
        ("another program's database", |path| raw_connection(path).pragma_update(None, "application_id", 7).unwrap()),
    ];
    for (kind, damage) in damage {
        let fixture = fixture();
        write_session(&fixture.home, 1);
        write_session(&fixture.home, 2);
        let path = fixture.home.session_db(session(1));
        damage(&path);
        let error = adopt_error(&fixture.home, 1);
        assert!(matches!(error, StoreError::Corrupt { .. }), "{kind}: {error:?}");
        let text = error.to_string();
        assert!(text.contains(path.to_str().unwrap()) && text.contains("sessions rm"), "{kind}: {text}");
        let read = SessionReader::open(&fixture.home, session(1)).and_then(|reader| reader.events_after(0, usize::MAX));
        assert!(matches!(read, Err(StoreError::Corrupt { .. })), "{kind}: {read:?}");
        assert_eq!(adopt(&fixture.home, session(2)).log.len(), 483, "{kind}");
    }
}

/// Overwrites every page except the first.
fn overwrite_pages(path: &Path, byte: u8) {
    let mut bytes = fs::read(path).unwrap();
    bytes[4096..].fill(byte);
    fs::write(path, bytes).unwrap();
}

#[test]
fn an_invalid_event_is_reported_as_damage() {
    let fixture = fixture();
    write_session(&fixture.home, 1);
    let path = fixture.home.session_db(session(1));
    let broken = r#"UPDATE bosun_events SET body = '{"type":"taskParked","untilAt":"dawn"}' WHERE seq = 9"#;
    raw_connection(&path).execute(broken, []).unwrap();
    let error = adopt_error(&fixture.home, 1);
    assert!(matches!(&error, StoreError::Corrupt { detail, .. } if detail.contains("event 9")), "{error:?}");
}

#[test]
fn a_newer_file_is_refused_with_both_versions() {
    let fixture = fixture();
    write_session(&fixture.home, 1);
    let path = fixture.home.session_db(session(1));
    raw_connection(&path).pragma_update(None, "user_version", 9).unwrap();
    let newer = StoreError::Newer { path: path.clone(), found: 9, known: 1 };
    assert_eq!(adopt_error(&fixture.home, 1), newer);
    assert_eq!(SessionReader::open(&fixture.home, session(1)).map(|_| ()), Err(newer.clone()));
    assert_eq!(post_command(&fixture.home, session(1), &SessionCommand::Stop, Timestamp(1)), Err(newer.clone()));
    let text = newer.to_string();
    assert!(text.contains("format 9") && text.contains("up to 1") && text.contains(path.to_str().unwrap()), "{text}");

    SessionIndex::open(&fixture.home).unwrap();
    raw_connection(&fixture.home.index_db()).pragma_update(None, "user_version", 9).unwrap();
    assert!(matches!(SessionIndex::open(&fixture.home), Err(StoreError::Newer { found: 9, .. })));
}

#[test]
fn a_missing_session_is_an_error() {
    let fixture = fixture();
    let path = fixture.home.session_db(session(1));
    assert_eq!(adopt_error(&fixture.home, 1), StoreError::Missing { id: session(1), path });
}

/// Simulates a power cut: copies the file and its write-ahead log while the owner still runs, then damages the log.
#[test]
fn an_incomplete_end_of_the_write_ahead_log_is_dropped_and_the_rest_is_kept() {
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
    for (n, (label, harm)) in (2..).zip(harms) {
        home.make_session(session(n)).unwrap();
        fs::copy(home.session_db(session(1)), home.session_db(session(n))).unwrap();
        let mut damaged = wal.clone();
        harm(&mut damaged);
        fs::write(companion(home, n), damaged).unwrap();
        let reopened = adopt(home, session(n));
        let log: Vec<_> = reopened.log.iter().map(|envelope| envelope.entry.clone()).collect();
        assert_eq!(log, (1..).take(log.len()).map(intent).collect::<Vec<_>>(), "{label}");
        let next = commit(&reopened.writer, vec![intent(99)]).unwrap().last_seq;
        assert_eq!(next, u64::try_from(log.len()).unwrap() + 1, "{label}");
        lengths.push(log.len());
    }
    assert_eq!((lengths[0], lengths[5]), (20, 20));
    assert!(lengths[1..5].iter().all(|length| *length < 20), "{lengths:?}");
}

fn companion(home: &Home, n: u128) -> std::path::PathBuf {
    home.session_dir(session(n)).join("session.db-wal")
}

/// Runs one test of this binary as a user who is not root, in a folder of that user.
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
    let mut child = child_command(&program, case, &own);
    if std::os::unix::fs::chown(&own, Some(NOBODY), Some(NOBODY)).is_ok() {
        child.uid(NOBODY).gid(NOBODY);
    }
    assert_succeeds(child);
}

#[test]
fn denied_and_read_only_files_have_different_errors() {
    let Some(folder) = child_argument() else {
        return as_nobody("faults::denied_and_read_only_files_have_different_errors");
    };
    let home = Home::open(folder.join("home")).unwrap();
    let mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    for n in 1..=4 {
        write_session(&home, n);
    }
    let path = |n| home.session_db(session(n));

    mode(&path(1), 0o000);
    assert_eq!(adopt_error(&home, 1), StoreError::Denied { path: path(1) });
    assert_eq!(SessionReader::open(&home, session(1)).map(|_| ()), Err(StoreError::Denied { path: path(1) }));

    mode(&path(2), 0o400);
    assert_eq!(adopt_error(&home, 2), StoreError::ReadOnly { path: path(2) });

    mode(&home.session_dir(session(3)), 0o500);
    let read = SessionReader::open(&home, session(3)).and_then(|reader| reader.events_after(0, 1));
    assert_eq!(read.map(|events| events.len()), Ok(1), "reading needs no write permission");
    assert_eq!(adopt_error(&home, 3), StoreError::ReadOnly { path: path(3) });

    // The same for the index, whether it exists or not.
    for is_there in [true, false] {
        if is_there {
            drop(SessionIndex::open(&home).unwrap());
            mode(&home.index_db(), 0o400);
        } else {
            fs::remove_file(home.index_db()).unwrap();
        }
        mode(home.root(), 0o500);
        assert!(matches!(SessionIndex::open(&home), Err(StoreError::ReadOnly { .. } | StoreError::Denied { .. })));
        let mut states: Vec<String> = SessionIndex::open_reconciled(&home)
            .unwrap()
            .list(None)
            .unwrap()
            .into_iter()
            .map(|row| row.state)
            .collect();
        states.sort();
        assert_eq!(states, ["idle", "idle", "idle", "unreadable"], "{is_there}");
        mode(home.root(), 0o700);
    }

    mode(&home.sessions_dir(), 0o500);
    let created = SessionFile::create(&home, session(5), &this_process(), Timestamp(1)).map(|_| ());
    assert_eq!(created, Err(StoreError::Denied { path: home.session_dir(session(5)) }));
    assert_eq!(adopt(&home, session(4)).log.len(), 483);
}

#[test]
fn a_full_disk_fails_the_commit_until_space_is_freed() {
    let Some(folder) = child_argument() else {
        return on_small_disk("faults::a_full_disk_fails_the_commit_until_space_is_freed");
    };
    let home = Home::open(folder.join("home")).unwrap();
    let opened = create(&home, session(1));
    commit(&opened.writer, first_entries()).unwrap();
    let ballast = folder.join("ballast");
    fill(&ballast);
    let full = (0..100).find_map(|n| commit(&opened.writer, (0..50).map(|k| intent(n * 50 + k)).collect()).err());
    assert_eq!(full, Some(StoreError::Full { path: home.session_db(session(1)) }));
    let before = reader(&home, session(1)).session_view().unwrap().events;
    let another = SessionFile::create(&home, session(2), &dead_process(), Timestamp(1)).map(|_| ());
    assert!(matches!(another, Err(StoreError::Full { .. } | StoreError::Home(_))), "{another:?}");

    fs::remove_file(&ballast).unwrap();
    assert_eq!(commit(&opened.writer, vec![intent(9_999)]).unwrap().last_seq, before + 1);
    drop(opened);
    assert_eq!(adopt(&home, session(1)).log.len(), usize::try_from(before).unwrap() + 1);
}

/// Writes until the disk is full.
fn fill(path: &Path) {
    use std::io::Write;
    let mut file = fs::File::create(path).unwrap();
    for size in [65_536, 4096, 1] {
        while file.write_all(&vec![b'x'; size]).is_ok() {}
    }
}

/// Runs one test of this binary with a private disk of one mebibyte.
fn on_small_disk(case: &str) {
    let folder = tempfile::tempdir().unwrap();
    let shell = |script: &str| {
        let mut unshare = command(Path::new("unshare"));
        unshare.args(["--mount", "--map-root-user", "sh", "-c", script]).arg(folder.path());
        unshare
    };
    let mount = r#"mount -t tmpfs -o size=1m none "$0""#;
    if !shell(mount).status().is_ok_and(|status| status.success()) {
        println!("skipped: this machine does not allow mounting a small disk");
        return;
    }
    let child = child_command(&this_binary(), case, folder.path());
    let mut mounted = shell(&format!(r#"{mount} && exec "$@""#));
    mounted.arg(child.get_program()).args(child.get_args());
    mounted.envs(child.get_envs().filter_map(|(name, value)| Some((name, value?))));
    assert_succeeds(mounted);
}

/// The files of a session as a killed owner leaves them, in a separate home.
fn files_of_killed_owner(commits: u64) -> StoreFixture {
    let (from, to) = (fixture(), fixture());
    let opened = create(&from.home, session(1));
    commit(&opened.writer, first_entries()).unwrap();
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
fn a_damaged_byte_in_the_write_ahead_log_of_a_killed_owner_is_detected_on_adoption() {
    let whole = files_of_killed_owner(40);
    let last = adopt(&whole.home, session(1)).log.last().unwrap().seq;
    let mut found = 0;
    for part in 1..20 {
        let fixture = files_of_killed_owner(40);
        let wal = fixture.home.session_dir(session(1)).join("session.db-wal");
        let mut bytes = std::fs::read(&wal).unwrap();
        let at = bytes.len() / 20 * part;
        bytes[at] ^= 0xff;
        std::fs::write(&wal, bytes).unwrap();
        match SessionFile::adopt(&fixture.home, session(1), &dead_process(), Timestamp(2)) {
            Err(StoreError::Lost { found: kept, committed, .. }) => {
                assert!(kept < committed && committed == last, "{kept} of {committed}");
                found += 1;
                assert_eq!(store::accept_log(&fixture.home, session(1)), Ok(kept));
                assert_eq!(adopt(&fixture.home, session(1)).log.len() as u64, kept);
            }
            // Without its first pages, the file is not a session.
            Err(StoreError::Corrupt { .. } | StoreError::Older { .. } | StoreError::Unexpected { .. }) => {}
            other => panic!("damage at {at} was not detected: {other:?}"),
        }
    }
    assert!(found > 10, "{found}");
}

#[test]
fn a_log_that_another_program_changed_is_refused() {
    let changes = [
        "UPDATE bosun_events SET body = replace(body, 'a', 'b') WHERE seq = 2",
        "DELETE FROM bosun_events WHERE seq = 2",
        "UPDATE bosun_events SET at = at + 1 WHERE seq = 1",
    ];
    for sql in changes {
        let fixture = files_of_killed_owner(5);
        raw_connection(&fixture.home.session_db(session(1))).execute_batch(sql).unwrap();
        let adopted = SessionFile::adopt(&fixture.home, session(1), &dead_process(), Timestamp(2));
        assert!(matches!(adopted, Err(StoreError::Altered { .. })), "{sql}: {adopted:?}");
    }
    let fixture = fixture();
    let opened = create(&fixture.home, session(1));
    commit(&opened.writer, first_entries()).unwrap();
    let forged = "INSERT INTO bosun_events (seq, v, at, task, body) SELECT seq + 1, v, at, task, body FROM bosun_events \
                  ORDER BY seq DESC LIMIT 1";
    raw_connection(&fixture.home.session_db(session(1))).execute(forged, []).unwrap();
    let refused = commit(&opened.writer, vec![intent(1)]);
    assert!(matches!(refused, Err(StoreError::Altered { .. })), "{refused:?}");
}

#[test]
fn the_next_commit_fails_if_the_session_s_folder_was_removed() {
    let fixture = fixture();
    let opened = create(&fixture.home, session(1));
    commit(&opened.writer, first_entries()).unwrap();
    std::fs::remove_dir_all(fixture.home.session_dir(session(1))).unwrap();
    let refused = commit(&opened.writer, vec![intent(1)]);
    assert!(matches!(refused, Err(StoreError::Removed { .. })), "{refused:?}");
}
