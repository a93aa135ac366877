//! The index of sessions, a cache that can be rebuilt.

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
fn turn_entries(n: u32) -> Vec<LogEntry> {
    let (usage, cost) = (Usage { input: 10, ..Usage::default() }, Cost { tokens: 10, micros: 3 });
    let (content, stop, model) = (Vec::new(), StopReason::End, "script/demo".to_owned());
    let answered = Event::TurnAnswered { turn: Turn(n), content, stop, usage, cost, model };
    vec![entry(30, turn_begun(n)), entry(40, answered)]
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
fn a_lost_index_is_rebuilt_from_the_sessions() {
    let fixture = fixture();
    for n in 1..=3 {
        commit(&create(&fixture.home, session(n)).writer, first_entries()).unwrap();
    }
    std::fs::write(fixture.home.session_db(session(3)), "damaged").unwrap();
    let listed = SessionIndex::open(&fixture.home).unwrap().list(None).unwrap();
    assert_eq!(listed.iter().map(|row| &*row.state).collect::<Vec<_>>(), ["idle", "idle", "damaged"]);
    assert_eq!((listed[0].title.as_str(), listed[0].cwd.as_str()), ("Count the tests", "/src"));
}

#[test]
fn reconciling_makes_the_index_agree_with_the_folders() {
    let fixture = fixture();
    let index = SessionIndex::open(&fixture.home).unwrap();
    index.upsert(&row(7, "/removed", 1)).unwrap();
    commit(&create(&fixture.home, session(1)).writer, first_entries()).unwrap();
    drop(create(&fixture.home, session(2)));
    let listed = index.reconcile(&fixture.home).unwrap().list(None).unwrap();
    assert_eq!(listed.iter().map(|row| row.cwd.as_str()).collect::<Vec<_>>(), ["/src"]);
}

#[test]
fn a_damaged_index_is_moved_aside_and_rebuilt() {
    let fixture = fixture();
    commit(&create(&fixture.home, session(1)).writer, first_entries()).unwrap();
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
fn rebuilding_detects_damage_inside_the_file() {
    let fixture = fixture();
    commit(&create(&fixture.home, session(1)).writer, first_entries()).unwrap();
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
fn only_sessions_that_may_have_open_asks_are_returned() {
    let fixture = fixture();
    let home = &fixture.home;
    let write_session = |n: u128, more: Vec<protocol::LogEntry>| {
        let opened = create(home, session(n));
        commit(&opened.writer, first_entries().into_iter().chain(more).collect()).unwrap();
        opened.writer.release().unwrap();
    };
    let subject = AskSubject::Question { question: "which?".into(), choices: Vec::new() };
    let ask = Ask { id: AskId("0a".into()), call: CallId("c".into()), subject, until_at: None };
    write_session(1, Vec::new());
    write_session(2, vec![entry(30, Event::AskOpened(ask))]);
    write_session(3, vec![entry(30, Event::TaskInterrupted)]);
    let live = SessionFile::create(home, session(4), &this_process(), Timestamp(1)).unwrap();
    commit(&live.writer, first_entries()).unwrap();
    let index = SessionIndex::open(home).unwrap();
    write_session(5, Vec::new());
    let mut possibly_waiting: Vec<_> =
        index.reconcile(home).unwrap().possibly_waiting().unwrap().into_iter().map(|row| row.id).collect();
    possibly_waiting.sort();
    assert_eq!(possibly_waiting, [session(2), session(3), session(4)]);
    drop(live);
}

/// D13: lists come from the index, so an unchanged file is not opened for them.
#[test]
fn an_idle_session_is_listed_summed_and_found_without_opening_its_file() {
    let fixture = fixture();
    let home = &fixture.home;
    let opened = create(home, session(1));
    commit(&opened.writer, first_entries().into_iter().chain(turn_entries(1)).collect()).unwrap();
    opened.writer.release().unwrap();
    let index = SessionIndex::open(home).unwrap();
    index.record_session(home, &SessionReader::open(home, session(1)).unwrap()).unwrap();
    let view = reader(home, session(1)).session_view().unwrap();
    let (tasks, spendings) = (reader(home, session(1)).tasks(&TasksParams::all_tasks()).unwrap().tasks, {
        reader(home, session(1)).spendings(Timestamp(0)).unwrap()
    });
    // Replace the content of the file, but keep its size and time.
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
    assert_eq!(spent.partly_counted, []);
    for given in [tasks[0].id.to_string(), tasks[0].id.to_string()[5..18].to_owned()] {
        assert_eq!(index.sessions_of_task(&given, 2).unwrap(), [session(1)], "{given}");
    }
    assert_eq!(index.sessions_of_task("ffffff", 2).unwrap(), []);
    assert_eq!(index.newest_with_task_state(Some(tasks[0].state.as_str())).unwrap(), [session(1)]);
    assert_eq!(index.newest_with_task_state(Some("parked")).unwrap(), []);
}

/// D13: after any change of a file its row is updated, even if the process that changed it did not report it.
#[test]
fn a_row_is_updated_when_its_owner_died_and_when_its_file_changed() {
    let fixture = fixture();
    let home = &fixture.home;
    let page = |index: &SessionIndex| index.page(home, &SessionQuery::default()).unwrap().rows;
    let live = SessionFile::create(home, session(1), &this_process(), Timestamp(1)).unwrap();
    commit(&live.writer, first_entries()).unwrap();
    let index = SessionIndex::open(home).unwrap().reconcile(home).unwrap();
    assert_eq!(page(&index)[0].owner_pid, Some(std::process::id()));
    // It continues without updating the index.
    commit(&live.writer, turn_entries(1)).unwrap();
    let index = index.reconcile(home).unwrap();
    let spent = page(&index)[0].spent;
    assert!(spent.tokens > 0);
    live.writer.release().unwrap();
    let index = index.reconcile(home).unwrap();
    assert_eq!(page(&index)[0].owner_pid, None);
    // Another owner leaves a socket when it dies.
    let other = adopt(home, session(1));
    commit(&other.writer, turn_entries(2)).unwrap();
    other.writer.release().unwrap();
    std::fs::write(home.socket(session(1)), "").unwrap();
    let index = index.reconcile(home).unwrap();
    assert!(index.list(None).unwrap()[0].spent.tokens > spent.tokens);
    std::fs::remove_file(home.socket(session(1))).unwrap();
    // The stamps of shown rows are always checked.
    std::fs::write(home.session_db(session(1)), "damaged").unwrap();
    let index = index.reconcile(home).unwrap();
    assert_eq!((&*page(&index)[0].state, &*page(&index)[0].title), ("damaged", "Count the tests"));
    std::fs::remove_file(home.session_db(session(1))).unwrap();
    assert_eq!(page(&index), []);
}

#[test]
fn sessions_are_returned_in_pages() {
    let fixture = fixture();
    let home = &fixture.home;
    for n in 1..=5 {
        commit(&create(home, session(n)).writer, first_entries()).unwrap();
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
fn a_prefix_of_the_id_prefix_matches_every_session() {
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
