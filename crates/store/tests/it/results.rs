//! What todos brought is kept by what they were done with, until nobody used it for long.

use protocol::{At, TodoId};
use store::{Index, ResultRow, Results};

use crate::support::*;

fn row(key: &str, todo: &str) -> ResultRow {
    let (todo, before, result) = (TodoId::from(todo), "b".into(), "it is done".into());
    ResultRow { key: key.into(), todo, before, after: None, result, work: Some("c0ffee".into()) }
}

#[test]
fn f5_a_result_is_found_by_its_key_in_its_project_alone() {
    let house = house();
    let results = Results::open(&house.home, "/src").unwrap();
    assert_eq!(results.get("k").unwrap(), None);
    results.put(&row("k", "lexer"), At(1)).unwrap();
    assert_eq!(results.get("k").unwrap(), Some(row("k", "lexer")));
    assert!(results.knows(&TodoId::from("lexer")).unwrap() && !results.knows(&TodoId::from("parser")).unwrap());
    let other = Results::open(&house.home, "/lib").unwrap();
    assert!(other.get("k").unwrap().is_none() && !other.knows(&TodoId::from("lexer")).unwrap());
    results.put(&ResultRow { work: None, ..row("k", "parser") }, At(2)).unwrap();
    assert_eq!(results.get("k").unwrap(), Some(ResultRow { work: None, ..row("k", "parser") }));
}

#[test]
fn f5_how_files_were_in_the_end_is_said_later() {
    let house = house();
    let results = Results::open(&house.home, "/src").unwrap();
    ["a", "b"].iter().for_each(|key| results.put(&row(key, "x"), At(1)).unwrap());
    results.set_after(&[("a".into(), "s".into()), ("none".into(), "s".into())], At(5)).unwrap();
    assert_eq!(results.get("a").unwrap().unwrap().after.as_deref(), Some("s"));
    assert_eq!(results.get("b").unwrap().unwrap().after, None);
    assert_eq!(Results::count_before(&house.home, At(5)).unwrap(), 1);
    assert_eq!(Results::drop_before(&house.home, At(5)).unwrap(), 1);
    assert!(results.get("a").unwrap().is_some() && results.get("b").unwrap().is_none());
}

#[test]
fn f5_an_index_that_is_made_anew_has_forgotten_and_works() {
    let house = house();
    Results::open(&house.home, "/src").unwrap().put(&row("k", "x"), At(1)).unwrap();
    std::fs::write(house.home.index_db(), "damage, long enough to be taken for a header").unwrap();
    let results = Results::open(&house.home, "/src").unwrap();
    assert_eq!(results.get("k").unwrap(), None);
    results.put(&row("k", "x"), At(1)).unwrap();
    drop(Index::rebuild(&house.home).unwrap());
    assert!(Results::open(&house.home, "/src").unwrap().get("k").unwrap().is_some());
}
