//! The index of sessions is a cache that can be lost.

use protocol::{Ask, AskId, AskSubject, CallId, Cost, Event, LogEntry, StopReason, Timestamp, Turn, Usage};
use store::{SessionFile, SessionIndex, SessionMatch, SessionQuery, SessionReader, SessionRow};

use protocol::api::TasksParams;

use crate::support::*;

fn row(n: u128, cwd: &str, updated_at: u64) -> SessionRow {
    SessionRow {
        id: session(n),
        cwd: cwd.into(),
        title: format!("session {n}"),
        model: "script/demo".into(),
        created_at: Timestamp(1),
        updated_at: Timestamp(updated_at),
        state: "idle".into(),
        has_open_asks: false,
        spent: Cost { tokens: 30, micros: 7 },
        priced: true,
        owner_pid: None,
    }
}

/// A turn that used tokens.
fn turn(n: u32) -> Vec<LogEntry> {
    let (usage, cost) = (Usage { input: 10, ..Usage::default() }, Cost { tokens: 10, micros: 3 });
    let (content, stop, model) = (Vec::new(), StopReason::End, "script/demo".to_owned());
    let answered = Event::TurnAnswered { turn: Turn(n), content, stop, usage, cost, model };
    vec![entry(30, begun(n)), entry(40, answered)]
}

#[test]
fn sessions_are_listed_newest_first_and_found_by_prefix() {
    let fixture = fixture();
    let index = SessionIndex::open(&fixture.home).unwrap();
    let rows = [row(0x1a, "/a", 5), row(0x1b, "/b", 9), row(0x2a << 120, "/a", 7)];
    rows.iter().for_each(|row| index.upsert(row).unwrap());
    let [a, b, c] = rows;
    assert_eq!(index.list(None).unwrap(), [b.clone(), c.clone(), a.clone()]);
    assert_eq!(index.list(Some("/a")).unwrap(), [c.clone(), a.clone()]);
    assert_eq!(index.list(Some("/nowhere")).unwrap(), []);

    assert_eq!(index.find("2A").unwrap(), SessionMatch::One(c.clone()));
    assert_eq!(index.find("ses-2a").unwrap(), SessionMatch::One(c.clone()));
    assert_eq!(index.find(&a.id.to_string()).unwrap(), SessionMatch::One(a.clone()));
    assert_eq!(index.find("ses-0000").unwrap(), SessionMatch::Many(vec![b, a]));
    assert_eq!(index.find("ses-f").unwrap(), SessionMatch::NotFound);
    assert_eq!(index.find("%").unwrap(), SessionMatch::NotFound);

    index.upsert(&SessionRow { updated_at: Timestamp(99), ..row(0x1a, "/a", 0) }).unwrap();
    assert_eq!(index.list(None).unwrap()[0].id, session(0x1a));
    index.remove(session(0x1a)).unwrap();
    assert_eq!(index.list(None).unwrap().len(), 2);
}

#[test]
fn a_lost_index_is_made_again_from_the_sessions() {
    let fixture = fixture();
    for n in 1..=3 {
        commit(&create(&fixture.home, session(n)).writer, opening()).unwrap();
    }
    std::fs::write(fixture.home.session_db(session(3)), "damaged").unwrap();
    let listed = SessionIndex::open(&fixture.home).unwrap().list(None).unwrap();
    assert_eq!(listed.iter().map(|row| &*row.state).collect::<Vec<_>>(), ["idle", "idle", "damaged"]);
    assert_eq!((listed[0].title.as_str(), listed[0].cwd.as_str()), ("Count the tests", "/src"));
}

#[test]
fn an_index_agrees_with_the_folders_when_it_is_asked_to() {
    let fixture = fixture();
    let index = SessionIndex::open(&fixture.home).unwrap();
    index.upsert(&row(7, "/removed", 1)).unwrap();
    commit(&create(&fixture.home, session(1)).writer, opening()).unwrap();
    drop(create(&fixture.home, session(2)));
    let listed = index.reconcile(&fixture.home).unwrap().list(None).unwrap();
    assert_eq!(listed.iter().map(|row| row.cwd.as_str()).collect::<Vec<_>>(), ["/src"]);
}

#[test]
fn a_damaged_index_is_moved_aside_and_made_again() {
    let fixture = fixture();
    commit(&create(&fixture.home, session(1)).writer, opening()).unwrap();
    SessionIndex::open(&fixture.home).unwrap();
    let path = fixture.home.index_db();
    for n in 1..=2 {
        std::fs::write(&path, format!("damage of the {n}th kind, long enough to be a header")).unwrap();
        assert_eq!(SessionIndex::open(&fixture.home).unwrap().list(None).unwrap().len(), 1);
        let aside = path.with_file_name(format!("bosun.db.damaged-{n}"));
        assert!(std::fs::read_to_string(aside).unwrap().starts_with("damage of the"));
    }
}

#[test]
fn damage_inside_is_found_by_rebuilding() {
    let fixture = fixture();
    commit(&create(&fixture.home, session(1)).writer, opening()).unwrap();
    drop(SessionIndex::open(&fixture.home).unwrap());
    let path = fixture.home.index_db();
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[4096..].fill(0xAA);
    std::fs::write(&path, bytes).unwrap();
    assert!(SessionIndex::open(&fixture.home).and_then(|index| index.list(None)).is_err());
    assert_eq!(SessionIndex::rebuild(&fixture.home).unwrap().list(None).unwrap().len(), 1);
    assert!(path.with_file_name("bosun.db.damaged-1").exists());
}

#[test]
fn only_sessions_that_were_not_left_at_rest_are_looked_into() {
    let fixture = fixture();
    let home = &fixture.home;
    let left = |n: u128, more: Vec<protocol::LogEntry>| {
        let opened = create(home, session(n));
        commit(&opened.writer, opening().into_iter().chain(more).collect()).unwrap();
        opened.writer.release().unwrap();
    };
    let subject = AskSubject::Question { question: "which?".into(), choices: Vec::new() };
    let ask = Ask { id: AskId("0a".into()), call: CallId("c".into()), subject, until_at: None };
    left(1, Vec::new());
    left(2, vec![entry(30, Event::AskOpened(ask))]);
    left(3, vec![entry(30, Event::TaskInterrupted)]);
    let live = SessionFile::create(home, session(4), &me(), Timestamp(1)).unwrap();
    commit(&live.writer, opening()).unwrap();
    let index = SessionIndex::open(home).unwrap();
    left(5, Vec::new());
    let mut unsettled: Vec<_> =
        index.reconcile(home).unwrap().possibly_waiting().unwrap().into_iter().map(|row| row.id).collect();
    unsettled.sort();
    assert_eq!(unsettled, [session(2), session(3), session(4)]);
    drop(live);
}

/// D13: lists come from the index, so a file that nobody touched is not opened for them.
#[test]
fn a_session_at_rest_is_listed_summed_and_found_without_its_file() {
    let fixture = fixture();
    let home = &fixture.home;
    let opened = create(home, session(1));
    commit(&opened.writer, opening().into_iter().chain(turn(1)).collect()).unwrap();
    opened.writer.release().unwrap();
    let index = SessionIndex::open(home).unwrap();
    index.record_session(home, &SessionReader::open(home, session(1)).unwrap()).unwrap();
    let view = reader(home, session(1)).session_view().unwrap();
    let (tasks, spendings) = (reader(home, session(1)).tasks(&TasksParams::all_tasks()).unwrap().tasks, {
        reader(home, session(1)).spendings(Timestamp(0)).unwrap()
    });
    // Whoever opened it now would find nothing.
    let path = home.session_db(session(1));
    let (length, changed_at) = (std::fs::metadata(&path).unwrap().len(), std::fs::metadata(&path).unwrap().modified());
    let blank = std::fs::File::create(&path).unwrap();
    blank.set_len(length).unwrap();
    blank.set_modified(changed_at.unwrap()).unwrap();

    let index = index.reconcile(home).unwrap();
    let page = index.page(home, &SessionQuery::default()).unwrap();
    assert_eq!((page.total, &page.rows), (1, &vec![SessionRow::from(&view)]));
    assert_eq!(page.rows[0].spent, view.spent);
    assert!(view.spent.tokens > 0);
    let spent = index.spendings(None, Timestamp(0)).unwrap();
    assert_eq!(spent.spendings.into_iter().map(|(_, _, spending)| spending).collect::<Vec<_>>(), spendings);
    assert_eq!(spent.in_part, []);
    for given in [tasks[0].id.to_string(), tasks[0].id.to_string()[5..18].to_owned()] {
        assert_eq!(index.sessions_of_task(&given, 2).unwrap(), [session(1)], "{given}");
    }
    assert_eq!(index.sessions_of_task("ffffff", 2).unwrap(), []);
    assert_eq!(index.newest(Some(tasks[0].state.as_str())).unwrap(), [session(1)]);
    assert_eq!(index.newest(Some("parked")).unwrap(), []);
}

/// D13: whatever changes a file makes its row again, whether anybody says so here or not.
#[test]
fn a_row_is_made_again_when_its_owner_died_and_when_its_file_changed() {
    let fixture = fixture();
    let home = &fixture.home;
    let page = |index: &SessionIndex| index.page(home, &SessionQuery::default()).unwrap().rows;
    let live = SessionFile::create(home, session(1), &me(), Timestamp(1)).unwrap();
    commit(&live.writer, opening()).unwrap();
    let index = SessionIndex::open(home).unwrap().reconcile(home).unwrap();
    assert_eq!(page(&index)[0].owner_pid, Some(std::process::id()));
    // It goes on without a word to the index.
    commit(&live.writer, turn(1)).unwrap();
    let index = index.reconcile(home).unwrap();
    let spent = page(&index)[0].spent;
    assert!(spent.tokens > 0);
    live.writer.release().unwrap();
    let index = index.reconcile(home).unwrap();
    assert_eq!(page(&index)[0].owner_pid, None);
    // Another owner leaves a socket when it dies.
    let other = adopt(home, session(1));
    commit(&other.writer, turn(2)).unwrap();
    other.writer.release().unwrap();
    std::fs::write(home.socket(session(1)), "").unwrap();
    let index = index.reconcile(home).unwrap();
    assert!(index.list(None).unwrap()[0].spent.tokens > spent.tokens);
    std::fs::remove_file(home.socket(session(1))).unwrap();
    // What is shown is looked at in any case.
    std::fs::write(home.session_db(session(1)), "damaged").unwrap();
    let index = index.reconcile(home).unwrap();
    assert_eq!((&*page(&index)[0].state, &*page(&index)[0].title), ("damaged", "Count the tests"));
    std::fs::remove_file(home.session_db(session(1))).unwrap();
    assert_eq!(page(&index), []);
}

#[test]
fn sessions_come_in_pages() {
    let fixture = fixture();
    let home = &fixture.home;
    for n in 1..=5 {
        commit(&create(home, session(n)).writer, opening()).unwrap();
    }
    let index = SessionIndex::open(home).unwrap();
    let all = index.page(home, &SessionQuery::default()).unwrap();
    assert_eq!((all.rows.len(), all.total), (5, 5));
    let wanted = SessionQuery { cwd: Some("/src".into()), offset: 1, limit: Some(2), ..SessionQuery::default() };
    let some = index.page(home, &wanted).unwrap();
    assert_eq!((&*some.rows, some.total), (&all.rows[1..3], 5));
    let none = SessionQuery { state: Some("parked".into()), ..SessionQuery::default() };
    assert_eq!(index.page(home, &none).unwrap().total, 0);
}

#[test]
fn the_beginning_of_what_every_id_begins_with_is_the_beginning_of_every_id() {
    let fixture = fixture();
    let index = SessionIndex::open(&fixture.home).unwrap();
    index.upsert(&row(1, "/a", 1)).unwrap();
    for prefix in ["s", "ses", "ses-", "SES"] {
        assert!(matches!(index.find(prefix), Ok(SessionMatch::One(_))), "{prefix}");
    }
    index.upsert(&row(2, "/b", 2)).unwrap();
    assert!(matches!(index.find("ses"), Ok(SessionMatch::Many(rows)) if rows.len() == 2));
    assert_eq!(index.find("sex"), Ok(SessionMatch::NotFound));
}
