//! Trust is kept, taken back, and lost rather than invented.

use protocol::At;
use store::{Index, Trust, TrustRow};

use crate::support::*;

fn row(top: &str, digest: &str, at: u64) -> TrustRow {
    TrustRow { top: top.into(), digest: digest.into(), at: At(at) }
}

#[test]
fn a_project_is_trusted_until_it_is_taken_back() {
    let house = house();
    let trust = Trust::open(&house.home).unwrap();
    assert_eq!(trust.digest("/src").unwrap(), None);
    trust.add(&row("/src", "a", 1)).unwrap();
    trust.add(&row("/lib", "b", 2)).unwrap();
    trust.add(&row("/src", "c", 3)).unwrap();
    assert_eq!(Trust::open(&house.home).unwrap().digest("/src").unwrap().as_deref(), Some("c"));
    assert_eq!(trust.list().unwrap(), [row("/lib", "b", 2), row("/src", "c", 3)]);
    assert!(trust.remove("/src").unwrap());
    assert!(!trust.remove("/src").unwrap());
    assert_eq!(trust.digest("/src").unwrap(), None);
}

#[test]
fn an_index_of_the_second_form_trusts_nobody_and_keeps_its_sessions() {
    let house = house();
    commit(&create(&house.home, session(1)).writer, opening()).unwrap();
    drop(Index::open(&house.home).unwrap());
    raw(&house.home.index_db())
        .execute_batch(
            "DROP TABLE trust; DROP TABLE bosun_items; DROP TABLE fleet_results; DROP TABLE spendings;
             DROP TABLE session_tasks; PRAGMA user_version = 2",
        )
        .unwrap();
    assert_eq!(Trust::open(&house.home).unwrap().list().unwrap(), []);
    assert_eq!(Index::open(&house.home).unwrap().list(None).unwrap().len(), 1);
}

#[test]
fn a_damaged_index_trusts_nobody() {
    let house = house();
    Trust::open(&house.home).unwrap().add(&row("/src", "a", 1)).unwrap();
    std::fs::write(house.home.index_db(), "damage, long enough to be taken for a header").unwrap();
    assert_eq!(Trust::open(&house.home).unwrap().digest("/src").unwrap(), None);
}
