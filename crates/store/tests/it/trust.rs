//! Trusted projects: adding, removing, and restoring them from the backup.

use protocol::Timestamp;
use store::{IndexRebuild, SessionIndex, TrustRow, TrustStore, take_index_rebuilds};

use crate::support::*;

fn row(top: &str, digest: &str, at: u64) -> TrustRow {
    TrustRow { top: top.into(), digest: digest.into(), at: Timestamp(at) }
}

#[test]
fn a_project_is_trusted_until_it_is_removed() {
    let fixture = fixture();
    let trust = TrustStore::open(&fixture.home).unwrap();
    assert_eq!(trust.digest("/src").unwrap(), None);
    trust.add(&row("/src", "a", 1)).unwrap();
    trust.add(&row("/lib", "b", 2)).unwrap();
    trust.add(&row("/src", "c", 3)).unwrap();
    assert_eq!(TrustStore::open(&fixture.home).unwrap().digest("/src").unwrap().as_deref(), Some("c"));
    assert_eq!(trust.list().unwrap(), [row("/lib", "b", 2), row("/src", "c", 3)]);
    assert!(trust.remove("/src").unwrap());
    assert!(!trust.remove("/src").unwrap());
    assert_eq!(trust.digest("/src").unwrap(), None);
}

#[test]
fn exactly_the_trusted_projects_are_restored_after_damage() {
    let fixture = fixture();
    let trust = TrustStore::open(&fixture.home).unwrap();
    [row("/src", "a", 1), row("/lib", "b", 2), row("/src", "c", 3)].iter().for_each(|row| trust.add(row).unwrap());
    trust.remove("/lib").unwrap();
    drop(trust);
    for content in ["damage, long enough to be taken for a header", ""] {
        std::fs::write(fixture.home.index_db(), content).unwrap();
        if content.is_empty() {
            std::fs::remove_file(fixture.home.index_db()).unwrap();
        }
        assert_eq!(TrustStore::open(&fixture.home).unwrap().list().unwrap(), [row("/src", "c", 3)], "{content}");
    }
    // Damage that is only detected when the table is read.
    let file = fixture.home.index_db();
    let page = strings(&raw_connection(&file), "SELECT CAST(rootpage AS TEXT) FROM sqlite_schema WHERE name = 'trust'")
        [0]
    .parse::<usize>();
    let page = page.unwrap() - 1;
    raw_connection(&file).pragma_update(None, "wal_checkpoint", "TRUNCATE").unwrap_or_default();
    let mut bytes = std::fs::read(&file).unwrap();
    bytes[page * 4096..(page + 1) * 4096].fill(0xAA);
    std::fs::write(&file, bytes).unwrap();
    assert_eq!(TrustStore::open(&fixture.home).unwrap().digest("/src").unwrap().as_deref(), Some("c"));
}

/// D16: a rebuild of the index is reported.
#[test]
fn a_rebuilt_index_is_reported_once() {
    let fixture = fixture();
    commit(&create(&fixture.home, session(1)).writer, first_entries()).unwrap();
    TrustStore::open(&fixture.home).unwrap().add(&row("/src", "a", 1)).unwrap();
    let index = fixture.home.index_db();
    // Another test of the same process may have rebuilt its own index.
    let reports =
        || -> Vec<IndexRebuild> { take_index_rebuilds().into_iter().filter(|rebuilt| rebuilt.path == index).collect() };
    assert_eq!(reports(), []);
    std::fs::write(&index, "damage, long enough to be taken for a header").unwrap();
    drop(SessionIndex::open(&fixture.home).unwrap());
    let [rebuilt] = reports().try_into().unwrap();
    let aside = index.with_file_name("bosun.db.damaged-1");
    assert_eq!((rebuilt.sessions, rebuilt.items, rebuilt.trusted), (1, 0, 1));
    for text in ["was damaged (", "was rebuilt", "1 trusted project", aside.to_str().unwrap()] {
        assert!(rebuilt.to_string().contains(text), "{text}: {rebuilt}");
    }
    assert_eq!(reports(), []);
}
