//! Copies, forks and removals of sessions.

use protocol::{Event, Fence, Timestamp};
use store::{SessionFile, StoreError, copy_session, fork_session, remove_session};

use crate::support::*;

#[test]
fn a_copy_has_the_log_but_no_owner() {
    let fixture = fixture();
    let home = &fixture.home;
    let opened = SessionFile::create(home, session(1), &this_process(), Timestamp(1)).unwrap();
    commit(&opened.writer, first_entries()).unwrap();
    let pending = r#"INSERT INTO bosun_commands (at, body) VALUES (5, '{"type":"stop"}')"#;
    raw_connection(&home.session_db(session(1))).execute(pending, []).unwrap();

    copy_session(home, session(1), session(2)).unwrap();
    assert_eq!(reader(home, session(2)).lease().unwrap(), None);
    assert_eq!(reader(home, session(2)).pending_commands().unwrap(), []);
    let fork = adopt(home, session(2));
    assert_eq!(fork.fence, Fence(2));
    assert_eq!(fork.log.iter().map(|envelope| envelope.entry.clone()).collect::<Vec<_>>(), first_entries());
    assert!(fork.log.iter().all(|envelope| envelope.session == session(2)));

    commit(&fork.writer, vec![intent(20)]).unwrap();
    commit(&opened.writer, vec![intent(21), intent(22)]).unwrap();
    assert_eq!(reader(home, session(1)).session_view().unwrap().events, 5);
    assert_eq!(reader(home, session(2)).session_view().unwrap().events, 4);
}

#[test]
fn a_fork_is_marked_until_its_log_says_so() {
    let fixture = fixture();
    let home = &fixture.home;
    commit(&create(home, session(1)).writer, first_entries()).unwrap();
    fork_session(home, session(1), session(2)).unwrap();
    assert_eq!(adopt(home, session(2)).forked_from, Some(session(1)));
    let again = adopt(home, session(2));
    assert_eq!(again.forked_from, Some(session(1)));
    commit(&again.writer, vec![entry(20, Event::SessionForked { from: session(1) })]).unwrap();
    assert_eq!(adopt(home, session(2)).forked_from, None);
    assert_eq!(adopt(home, session(1)).forked_from, None);
}

#[test]
fn copying_a_missing_session_or_onto_an_existing_one_is_refused() {
    let fixture = fixture();
    let missing = copy_session(&fixture.home, session(1), session(2));
    assert_eq!(missing, Err(StoreError::Missing { id: session(1), path: fixture.home.session_db(session(1)) }));
    assert!(!fixture.home.session_dir(session(2)).exists());
    create(&fixture.home, session(1));
    create(&fixture.home, session(2));
    assert!(matches!(copy_session(&fixture.home, session(1), session(2)), Err(StoreError::Exists { .. })));
}

#[test]
fn removing_a_session_leaves_others_unchanged() {
    let fixture = fixture();
    create(&fixture.home, session(1));
    create(&fixture.home, session(2));
    remove_session(&fixture.home, session(1)).unwrap();
    let left: Vec<_> =
        std::fs::read_dir(fixture.home.sessions_dir()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, [session(2).to_string().as_str()]);
    assert!(matches!(remove_session(&fixture.home, session(1)), Err(StoreError::Missing { .. })));
}

#[test]
fn a_damaged_session_can_be_removed() {
    let fixture = fixture();
    create(&fixture.home, session(1));
    std::fs::write(fixture.home.session_db(session(1)), "not a database at all, and long enough to tell").unwrap();
    remove_session(&fixture.home, session(1)).unwrap();
    assert!(!fixture.home.session_dir(session(1)).exists());
}
