//! What files held before tools changed them.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use host::Home;
use protocol::{SessionId, Timestamp};
use store::file_history::{ChangeAuthor, CollectRun, FileHistory, RecordedChange, RecordedContent};
use tempfile::TempDir;
use uuid::Uuid;

fn history(folder: &TempDir, number: u128) -> FileHistory {
    let home = Home::open(folder.path().join("home")).unwrap();
    let session = SessionId::new(Uuid::from_u128(number));
    home.make_session(session).unwrap();
    FileHistory::of(&home, session)
}

fn change(at: u64, before: &[u8], after: &[u8]) -> RecordedChange {
    RecordedChange {
        by: ChangeAuthor::Rewind { seq: at },
        at: Timestamp(at),
        path: "/work/a".into(),
        before: RecordedContent::file(before, 0o644),
        after: RecordedContent::file(after, 0o644),
    }
}

fn digest(content: RecordedContent) -> String {
    match content {
        RecordedContent::File { digest, .. } => digest,
        RecordedContent::Missing | RecordedContent::Unread => panic!("not a file"),
    }
}

#[test]
fn changes_and_copies_are_read_as_they_were_recorded() {
    let folder = TempDir::new().unwrap();
    let kept = history(&folder, 1);
    assert_eq!(kept.changes().unwrap(), []);
    let first = change(1, b"one", b"two");
    kept.keep(b"one").unwrap();
    kept.record(&first).unwrap();
    kept.record(&change(2, b"two", b"three")).unwrap();
    let journal = folder.path().join("home/sessions");
    let journal = fs::read_dir(journal).unwrap().next().unwrap().unwrap().path().join("files");
    // A process was killed while it wrote a line.
    let path = journal.join("changes.jsonl");
    let whole = fs::read(&path).unwrap();
    fs::write(&path, [&whole[..], b"{\"by\":"].concat()).unwrap();
    assert_eq!(history(&folder, 1).changes().unwrap(), [first.clone(), change(2, b"two", b"three")]);
    let one = digest(first.before);
    assert_eq!(kept.copy_of(&one).unwrap().unwrap(), b"one");
    assert_eq!(kept.copy_of(&digest(first.after)).unwrap(), None, "it was not kept");
    assert_eq!(kept.copy_of("../session.db").unwrap(), None);
    fs::write(journal.join(&one), "damaged").unwrap();
    assert_eq!(kept.copy_of(&one).unwrap(), None);
    assert_eq!(fs::metadata(&journal).unwrap().permissions().mode() & 0o077, 0, "others cannot read it");
}

#[test]
fn a_fork_has_its_own_copy() {
    let folder = TempDir::new().unwrap();
    let (from, to) = (history(&folder, 1), history(&folder, 2));
    from.keep(b"one").unwrap();
    from.record(&change(1, b"one", b"two")).unwrap();
    from.copy_to(&to).unwrap();
    to.record(&change(2, b"two", b"three")).unwrap();
    assert_eq!((from.changes().unwrap().len(), to.changes().unwrap().len()), (1, 2));
    from.collect(Timestamp(u64::MAX), CollectRun::Remove).unwrap();
    assert_eq!(to.copy_of(&digest(RecordedContent::file(b"one", 0))).unwrap().unwrap(), b"one");
}

#[test]
fn old_copies_are_collected_unless_a_recent_change_needs_them() {
    let folder = TempDir::new().unwrap();
    let kept = history(&folder, 1);
    for content in [&b"old"[..], b"needed"] {
        kept.keep(content).unwrap();
    }
    // The copies were made just now, which is before this cutoff.
    let cutoff = u64::MAX / 2;
    kept.record(&change(1, b"old", b"needed")).unwrap();
    kept.record(&change(cutoff + 1, b"needed", b"new")).unwrap();
    assert_eq!(kept.collect(Timestamp(cutoff), CollectRun::Dry).unwrap(), (1, 3));
    assert_eq!(kept.collect(Timestamp(0), CollectRun::Remove).unwrap(), (0, 0), "they are too new");
    assert_eq!(kept.collect(Timestamp(cutoff), CollectRun::Remove).unwrap(), (1, 3));
    assert_eq!(kept.copy_of(&digest(RecordedContent::file(b"old", 0))).unwrap(), None);
    assert!(kept.copy_of(&digest(RecordedContent::file(b"needed", 0))).unwrap().is_some());
    assert_eq!(kept.changes().unwrap().len(), 2, "the journal still names the files");
}
