//! The index of sessions is a cache that can be lost.

use protocol::{Ask, AskId, At, CallId, Event, Subject};
use store::{Found, Index, SessionRow};

use crate::support::*;

fn row(n: u128, cwd: &str, updated_at: u64) -> SessionRow {
    SessionRow {
        id: session(n),
        cwd: cwd.into(),
        title: format!("session {n}"),
        model: "script/demo".into(),
        created_at: At(1),
        updated_at: At(updated_at),
        state: "idle".into(),
    }
}

#[test]
fn sessions_are_listed_newest_first_and_found_by_prefix() {
    let house = house();
    let index = Index::open(&house.home).unwrap();
    let rows = [row(0x1a, "/a", 5), row(0x1b, "/b", 9), row(0x2a << 120, "/a", 7)];
    rows.iter().for_each(|row| index.upsert(row).unwrap());
    let [a, b, c] = rows;
    assert_eq!(index.list(None).unwrap(), [b.clone(), c.clone(), a.clone()]);
    assert_eq!(index.list(Some("/a")).unwrap(), [c.clone(), a.clone()]);
    assert_eq!(index.list(Some("/nowhere")).unwrap(), []);

    assert_eq!(index.find("2A").unwrap(), Found::One(c.clone()));
    assert_eq!(index.find("ses-2a").unwrap(), Found::One(c.clone()));
    assert_eq!(index.find(&a.id.to_string()).unwrap(), Found::One(a.clone()));
    assert_eq!(index.find("ses-0000").unwrap(), Found::Many(vec![b, a]));
    assert_eq!(index.find("ses-f").unwrap(), Found::Nothing);
    assert_eq!(index.find("%").unwrap(), Found::Nothing);

    index.upsert(&SessionRow { updated_at: At(99), ..row(0x1a, "/a", 0) }).unwrap();
    assert_eq!(index.list(None).unwrap()[0].id, session(0x1a));
    index.remove(session(0x1a)).unwrap();
    assert_eq!(index.list(None).unwrap().len(), 2);
}

#[test]
fn a_lost_index_is_made_again_from_the_sessions() {
    let house = house();
    for n in 1..=3 {
        commit(&create(&house.home, session(n)).writer, opening()).unwrap();
    }
    std::fs::write(house.home.session_db(session(3)), "damaged").unwrap();
    let listed = Index::open(&house.home).unwrap().list(None).unwrap();
    assert_eq!(listed.len(), 2);
    assert_eq!((listed[0].title.as_str(), listed[0].cwd.as_str()), ("Count the tests", "/src"));
}

#[test]
fn an_index_agrees_with_the_folders_when_it_is_asked_to() {
    let house = house();
    let index = Index::open(&house.home).unwrap();
    index.upsert(&row(7, "/removed", 1)).unwrap();
    commit(&create(&house.home, session(1)).writer, opening()).unwrap();
    drop(create(&house.home, session(2)));
    let listed = index.agree(&house.home).unwrap().list(None).unwrap();
    assert_eq!(listed.iter().map(|row| row.cwd.as_str()).collect::<Vec<_>>(), ["/src"]);
}

#[test]
fn a_damaged_index_is_moved_aside_and_made_again() {
    let house = house();
    commit(&create(&house.home, session(1)).writer, opening()).unwrap();
    Index::open(&house.home).unwrap();
    let path = house.home.index_db();
    for n in 1..=2 {
        std::fs::write(&path, format!("damage of the {n}th kind, long enough to be a header")).unwrap();
        assert_eq!(Index::open(&house.home).unwrap().list(None).unwrap().len(), 1);
        let aside = path.with_file_name(format!("bosun.db.damaged-{n}"));
        assert!(std::fs::read_to_string(aside).unwrap().starts_with("damage of the"));
    }
}

#[test]
fn damage_inside_is_found_by_rebuilding() {
    let house = house();
    commit(&create(&house.home, session(1)).writer, opening()).unwrap();
    drop(Index::open(&house.home).unwrap());
    let path = house.home.index_db();
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[4096..].fill(0xAA);
    std::fs::write(&path, bytes).unwrap();
    assert!(Index::open(&house.home).and_then(|index| index.list(None)).is_err());
    assert_eq!(Index::rebuild(&house.home).unwrap().list(None).unwrap().len(), 1);
    assert!(path.with_file_name("bosun.db.damaged-1").exists());
}

#[test]
fn only_sessions_that_were_not_left_at_rest_are_looked_into() {
    let house = house();
    let home = &house.home;
    let left = |n: u128, more: Vec<protocol::Entry>| {
        let opened = create(home, session(n));
        commit(&opened.writer, opening().into_iter().chain(more).collect()).unwrap();
        opened.writer.release().unwrap();
    };
    let subject = Subject::Question { question: "which?".into(), choices: Vec::new() };
    let ask = Ask { id: AskId("0a".into()), call: CallId("c".into()), subject, until_at: None };
    left(1, Vec::new());
    left(2, vec![entry(30, Event::Asked(ask))]);
    left(3, vec![entry(30, Event::TaskInterrupted)]);
    let live = create(home, session(4));
    commit(&live.writer, opening()).unwrap();
    left(5, Vec::new());
    std::fs::write(home.socket(session(5)), "").unwrap();

    let index = Index::open(home).unwrap();
    let states: Vec<String> = index.list(None).unwrap().into_iter().map(|row| row.state).collect();
    assert_eq!(states.iter().filter(|state| *state == "idle").count(), 3);
    let mut unsettled: Vec<_> = index.unsettled(home).unwrap().into_iter().map(|row| row.id).collect();
    unsettled.sort();
    assert_eq!(unsettled, [session(2), session(3), session(4), session(5)]);
    drop(live);
}

#[test]
fn the_beginning_of_what_every_id_begins_with_is_the_beginning_of_every_id() {
    let house = house();
    let index = Index::open(&house.home).unwrap();
    index.upsert(&row(1, "/a", 1)).unwrap();
    for prefix in ["s", "ses", "ses-", "SES"] {
        assert!(matches!(index.find(prefix), Ok(Found::One(_))), "{prefix}");
    }
    index.upsert(&row(2, "/b", 2)).unwrap();
    assert!(matches!(index.find("ses"), Ok(Found::Many(rows)) if rows.len() == 2));
    assert_eq!(index.find("sex"), Ok(Found::Nothing));
}
