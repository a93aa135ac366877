//! One owner at a time, and never a write by an old one.

use std::os::unix::fs::MetadataExt;

use protocol::{At, Fence};
use store::{SessionFile, StoreError, remove_session};

use crate::support::*;

#[test]
fn a_session_belongs_to_its_user_alone() {
    let house = house();
    create(&house.home, session(1));
    let mode = |path: std::path::PathBuf| std::fs::metadata(path).unwrap().mode() & 0o777;
    assert_eq!(mode(house.home.session_dir(session(1))), 0o700);
    assert_eq!(mode(house.home.session_db(session(1))), 0o600);
}

#[test]
fn the_fence_grows_and_an_old_owner_is_refused() {
    let house = house();
    let first = create(&house.home, session(1));
    assert_eq!(first.fence, Fence(1));
    commit(&first.writer, opening()).unwrap();
    let second = adopt(&house.home, session(1));
    assert_eq!(second.fence, Fence(2));
    assert_eq!(second.log.len(), 3);

    let refused = commit(&first.writer, vec![intent(20)]);
    assert_eq!(refused, Err(StoreError::Fenced { ours: Fence(1), theirs: Fence(2) }));
    assert_eq!(commit(&second.writer, vec![intent(21)]).unwrap().last_seq, 4);

    first.writer.release().unwrap();
    assert_eq!(reader(&house.home, session(1)).lease().unwrap(), Some((Fence(2), dead())));
}

#[test]
fn a_live_owner_keeps_its_session() {
    let house = house();
    let opened = SessionFile::create(&house.home, session(1), &me(), At(1)).unwrap();
    let owned = Err(StoreError::Owned { pid: std::process::id() });
    assert_eq!(SessionFile::adopt(&house.home, session(1), &dead(), At(2)).map(|_| ()), owned);
    assert_eq!(remove_session(&house.home, session(1)), owned);
    assert_eq!(reader(&house.home, session(1)).session_view().unwrap().owner_pid, Some(std::process::id()));
    commit(&opened.writer, opening()).unwrap();
}

#[test]
fn release_gives_the_session_back_as_one_file() {
    let house = house();
    let opened = SessionFile::create(&house.home, session(1), &me(), At(1)).unwrap();
    commit(&opened.writer, opening()).unwrap();
    opened.writer.release().unwrap();

    let beside = std::fs::read_dir(house.home.session_dir(session(1))).unwrap();
    let names: Vec<_> = beside.map(|entry| entry.unwrap().file_name()).filter(|name| name != "output").collect();
    assert_eq!(names, ["session.db"]);
    assert_eq!(reader(&house.home, session(1)).lease().unwrap(), None);
    assert_eq!(reader(&house.home, session(1)).session_view().unwrap().owner_pid, None);
    assert_eq!(adopt(&house.home, session(1)).fence, Fence(2));
}

#[test]
fn an_id_is_used_once() {
    let house = house();
    create(&house.home, session(1));
    let again = SessionFile::create(&house.home, session(1), &dead(), At(2)).map(|_| ());
    assert_eq!(again, Err(StoreError::Exists { id: session(1), path: house.home.session_dir(session(1)) }));
}
