//! Trust is kept, taken back, and lost rather than invented.

use protocol::Timestamp;
use store::{IndexRebuild, SessionIndex, TrustRow, TrustStore, take_index_rebuilds};

use crate::support::*;

fn row(top: &str, digest: &str, at: u64) -> TrustRow {
    TrustRow { top: top.into(), digest: digest.into(), at: Timestamp(at) }
}

#[test]
fn a_project_is_trusted_until_it_is_taken_back() {
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
fn what_was_trusted_is_trusted_when_the_index_was_damaged_and_nothing_else_is() {
    let fixture = fixture();
    let trust = TrustStore::open(&fixture.home).unwrap();
    [row("/src", "a", 1), row("/lib", "b", 2), row("/src", "c", 3)].iter().for_each(|row| trust.add(row).unwrap());
    trust.remove("/lib").unwrap();
    drop(trust);
    for harm in ["damage, long enough to be taken for a header", ""] {
        std::fs::write(fixture.home.index_db(), harm).unwrap();
        if harm.is_empty() {
            std::fs::remove_file(fixture.home.index_db()).unwrap();
        }
        assert_eq!(TrustStore::open(&fixture.home).unwrap().list().unwrap(), [row("/src", "c", 3)], "{harm}");
    }
    // Damage that only reading finds.
    let file = fixture.home.index_db();
    let page = strings(&raw(&file), "SELECT CAST(rootpage AS TEXT) FROM sqlite_schema WHERE name = 'trust'")[0]
        .parse::<usize>();
    let page = page.unwrap() - 1;
    raw(&file).pragma_update(None, "wal_checkpoint", "TRUNCATE").unwrap_or_default();
    let mut bytes = std::fs::read(&file).unwrap();
    bytes[page * 4096..(page + 1) * 4096].fill(0xAA);
    std::fs::write(&file, bytes).unwrap();
    assert_eq!(TrustStore::open(&fixture.home).unwrap().digest("/src").unwrap().as_deref(), Some("c"));
}

/// D16: whoever lost the index hears of it.
#[test]
fn an_index_that_was_made_again_is_told_of_once() {
    let fixture = fixture();
    commit(&create(&fixture.home, session(1)).writer, opening()).unwrap();
    TrustStore::open(&fixture.home).unwrap().add(&row("/src", "a", 1)).unwrap();
    let index = fixture.home.index_db();
    // Another test of the same process may have lost an index of its own.
    let told =
        || -> Vec<IndexRebuild> { take_index_rebuilds().into_iter().filter(|rebuilt| rebuilt.path == index).collect() };
    assert_eq!(told(), []);
    std::fs::write(&index, "damage, long enough to be taken for a header").unwrap();
    drop(SessionIndex::open(&fixture.home).unwrap());
    let [rebuilt] = told().try_into().unwrap();
    let aside = index.with_file_name("bosun.db.damaged-1");
    assert_eq!((rebuilt.sessions, rebuilt.items, rebuilt.trusted), (1, 0, 1));
    for words in ["was damaged (", "was rebuilt", "1 trusted project", aside.to_str().unwrap()] {
        assert!(rebuilt.to_string().contains(words), "{words}: {rebuilt}");
    }
    assert_eq!(told(), []);
}
