//! The result cache: results are stored by cache key until no fleet has used them for long.

use protocol::{Timestamp, TodoId};
use store::{FleetResultRow, FleetResultStore, SessionIndex};

use crate::support::*;

fn row(key: &str, todo: &str) -> FleetResultRow {
    let (todo, before, result) = (TodoId::from(todo), "b".into(), "it is done".into());
    FleetResultRow { key: key.into(), todo, before, after: None, result, commit_id: Some("c0ffee".into()) }
}

#[test]
fn a_result_is_found_by_its_key_only_in_its_project() {
    let fixture = fixture();
    let results = FleetResultStore::open(&fixture.home, "/src").unwrap();
    assert_eq!(results.get("k").unwrap(), None);
    results.put(&row("k", "lexer"), Timestamp(1)).unwrap();
    assert_eq!(results.get("k").unwrap(), Some(row("k", "lexer")));
    assert!(results.has_todo(&TodoId::from("lexer")).unwrap() && !results.has_todo(&TodoId::from("parser")).unwrap());
    let other = FleetResultStore::open(&fixture.home, "/lib").unwrap();
    assert!(other.get("k").unwrap().is_none() && !other.has_todo(&TodoId::from("lexer")).unwrap());
    results.put(&FleetResultRow { commit_id: None, ..row("k", "parser") }, Timestamp(2)).unwrap();
    assert_eq!(results.get("k").unwrap(), Some(FleetResultRow { commit_id: None, ..row("k", "parser") }));
}

#[test]
fn the_final_file_states_are_set_later() {
    let fixture = fixture();
    let results = FleetResultStore::open(&fixture.home, "/src").unwrap();
    ["a", "b"].iter().for_each(|key| results.put(&row(key, "x"), Timestamp(1)).unwrap());
    results.set_files_after(&[("a".into(), "s".into()), ("none".into(), "s".into())], Timestamp(5)).unwrap();
    assert_eq!(results.get("a").unwrap().unwrap().after.as_deref(), Some("s"));
    assert_eq!(results.get("b").unwrap().unwrap().after, None);
    assert_eq!(FleetResultStore::count_unused_since(&fixture.home, Timestamp(5)).unwrap(), 1);
    assert_eq!(FleetResultStore::remove_unused_since(&fixture.home, Timestamp(5)).unwrap(), 1);
    assert!(results.get("a").unwrap().is_some() && results.get("b").unwrap().is_none());
}

#[test]
fn results_are_lost_with_a_damaged_index_but_survive_a_rebuild() {
    let fixture = fixture();
    FleetResultStore::open(&fixture.home, "/src").unwrap().put(&row("k", "x"), Timestamp(1)).unwrap();
    std::fs::write(fixture.home.index_db(), "damage, long enough to be taken for a header").unwrap();
    let results = FleetResultStore::open(&fixture.home, "/src").unwrap();
    assert_eq!(results.get("k").unwrap(), None);
    results.put(&row("k", "x"), Timestamp(1)).unwrap();
    drop(SessionIndex::rebuild(&fixture.home).unwrap());
    assert!(FleetResultStore::open(&fixture.home, "/src").unwrap().get("k").unwrap().is_some());
}
