//! Shared lists: versions, blockers, limits, and concurrent writers.

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::thread;

use host::Home;
use protocol::{ItemId, ItemStatus, ListItem, Timestamp};
use serde_json::{Map, Value, json};
use store::{
    ExpectedVersion, ItemChange, ItemList, ItemQuery, ListError, NewItem, SessionIndex, SessionReader, SqlConnection,
    SqlLimits, StoreError, from_jsonl, to_jsonl,
};

use crate::support::*;

fn team(home: &Home) -> ItemList {
    ItemList::of_team(home, "red").unwrap()
}

fn new(subject: &str) -> NewItem {
    NewItem { subject: subject.into(), description: "all of it".into(), author: "user".into(), ..NewItem::default() }
}

fn make(list: &ItemList, subject: &str) -> ListItem {
    list.create(new(subject), Timestamp(1)).unwrap().item
}

fn status(status: ItemStatus) -> ItemChange {
    ItemChange { status: Some(status), ..ItemChange::default() }
}

fn change(list: &ItemList, id: u32, change: &ItemChange) -> Result<ListItem, ListError> {
    list.update(ItemId(id), ExpectedVersion::Any, change, Timestamp(2)).map(|changed| changed.item)
}

fn object(value: Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap()
}

fn ids(items: &[ListItem]) -> Vec<u32> {
    items.iter().map(|item| item.id.0).collect()
}

#[test]
fn an_item_is_created_changed_found_and_deleted() {
    let fixture = fixture();
    let list = team(&fixture.home);
    let item = make(&list, "write the parser");
    assert_eq!((item.id, item.version, item.status), (ItemId(1), 1, ItemStatus::Pending));
    make(&list, "test it");
    let owned = ItemChange { owner: Some("tests".into()), ..status(ItemStatus::InProgress) };
    assert_eq!(change(&list, 1, &owned).unwrap().version, 2);
    let select = |select| ids(&list.items(&select).unwrap());
    assert_eq!(select(ItemQuery { status: Some(ItemStatus::InProgress), ..ItemQuery::default() }), [1]);
    assert_eq!(select(ItemQuery { owner: Some("tests".into()), ..ItemQuery::default() }), [1]);
    assert_eq!(select(ItemQuery { after: Some(ItemId(1)), limit: 5, ..ItemQuery::default() }), [2]);
    assert_eq!(change(&list, 1, &status(ItemStatus::Deleted)).unwrap().status, ItemStatus::Deleted);
    assert_eq!(list.get(ItemId(1)).unwrap_err().to_string(), "Task not found: 1");
    assert_eq!(change(&list, 1, &status(ItemStatus::Pending)), Err(ListError::Missing(ItemId(1))));
    assert_eq!(select(ItemQuery::default()), [2]);
    assert_eq!(make(&list, "another").id, ItemId(3), "an id is not used again");
}

#[test]
fn a_change_without_effect_keeps_the_version() {
    let fixture = fixture();
    let list = team(&fixture.home);
    make(&list, "a");
    assert_eq!(
        change(&list, 1, &ItemChange { subject: Some("a".into()), ..ItemChange::default() }).unwrap().version,
        1
    );
}

#[test]
fn metadata_is_merged_and_null_removes_a_field() {
    let fixture = fixture();
    let list = team(&fixture.home);
    list.create(NewItem { metadata: object(json!({"a": 1, "b": [2]})), ..new("x") }, Timestamp(1)).unwrap();
    let merge = ItemChange { metadata: object(json!({"a": null, "c": {"d": 3}})), ..ItemChange::default() };
    assert_eq!(Value::Object(change(&list, 1, &merge).unwrap().metadata), json!({"b": [2], "c": {"d": 3}}));
}

#[test]
fn a_blocked_item_cannot_be_started_or_completed_until_its_blockers_are_done() {
    let fixture = fixture();
    let list = team(&fixture.home);
    (0..3).for_each(|n| drop(make(&list, &format!("step {n}"))));
    let add = ItemChange { add_blocks: vec![ItemId(2)], ..ItemChange::default() };
    let changed = list.update(ItemId(1), ExpectedVersion::Any, &add, Timestamp(2)).unwrap();
    assert_eq!((&changed.item.blocks[..], changed.item.version), (&[ItemId(2)][..], 1));
    assert_eq!((ids(&changed.others), changed.others[0].version), (vec![2], 2));
    assert_eq!(list.get(ItemId(2)).unwrap().blocked_by, [ItemId(1)]);
    change(&list, 2, &ItemChange { add_blocked_by: vec![ItemId(3)], ..ItemChange::default() }).unwrap();
    for to in [ItemStatus::InProgress, ItemStatus::Completed] {
        let refused = change(&list, 2, &status(to)).unwrap_err();
        assert_eq!(refused.to_string(), "item 2 is blocked by 1, 3, which must be completed first");
    }
    change(&list, 1, &status(ItemStatus::Completed)).unwrap();
    assert_eq!(
        change(&list, 2, &status(ItemStatus::InProgress)),
        Err(ListError::Blocked { id: ItemId(2), by: vec![ItemId(3)] })
    );
    let deleted = list.update(ItemId(3), ExpectedVersion::Any, &status(ItemStatus::Deleted), Timestamp(3)).unwrap();
    assert_eq!(ids(&deleted.others), [2], "no item waits for a deleted one");
    assert_eq!(change(&list, 2, &status(ItemStatus::InProgress)).unwrap().blocked_by, [ItemId(1)]);
}

#[test]
fn a_cycle_is_refused_and_listed() {
    let fixture = fixture();
    let list = team(&fixture.home);
    (0..3).for_each(|n| drop(make(&list, &format!("step {n}"))));
    let after =
        |id: u32, on: u32| change(&list, id, &ItemChange { add_blocked_by: vec![ItemId(on)], ..ItemChange::default() });
    after(2, 1).unwrap();
    after(3, 2).unwrap();
    assert_eq!(after(1, 3).unwrap_err().to_string(), "items would wait for themselves: 1 → 3 → 2 → 1");
    assert_eq!(after(1, 1).unwrap_err(), ListError::Cycle(vec![ItemId(1)]));
    assert_eq!(after(1, 9).unwrap_err(), ListError::Missing(ItemId(9)));
    let blocks = ItemChange { add_blocks: vec![ItemId(1)], ..ItemChange::default() };
    assert!(matches!(change(&list, 3, &blocks), Err(ListError::Cycle(_))));
    assert!(list.get(ItemId(1)).unwrap().blocked_by.is_empty());
    assert_eq!(list.get(ItemId(1)).unwrap().version, 1, "no change is applied in part");
}

#[test]
fn a_stale_change_is_refused_with_the_current_item() {
    let fixture = fixture();
    let (ours, theirs) = (team(&fixture.home), team(&fixture.home));
    let read = make(&ours, "shared");
    let describe = |text: &str| ItemChange { description: Some(text.into()), ..ItemChange::default() };
    let first = theirs
        .update(ItemId(1), ExpectedVersion::Version(read.version), &describe("theirs"), Timestamp(2))
        .unwrap()
        .item;
    let refused =
        ours.update(ItemId(1), ExpectedVersion::Version(read.version), &describe("ours"), Timestamp(3)).unwrap_err();
    assert_eq!(refused, ListError::Stale { seen: 1, fresh: Box::new(first.clone()) });
    assert_eq!(ours.get(ItemId(1)).unwrap(), first);
    assert!(ours.update(ItemId(1), ExpectedVersion::Version(first.version), &describe("ours"), Timestamp(3)).is_ok());
    let last =
        theirs.update(ItemId(1), ExpectedVersion::Any, &status(ItemStatus::InProgress), Timestamp(4)).unwrap().item;
    assert_eq!(
        (&*last.description, last.version),
        ("ours", 4),
        "without a version, the last write of each field is kept"
    );
}

#[test]
fn a_preview_returns_the_result_without_changing_anything() {
    let fixture = fixture();
    let list = team(&fixture.home);
    let item = make(&list, "x");
    let preview = list
        .preview_update(ItemId(1), ExpectedVersion::Version(1), &status(ItemStatus::Completed), Timestamp(2))
        .unwrap();
    assert_eq!((preview.item.status, preview.item.version), (ItemStatus::Completed, 2));
    assert!(matches!(
        list.preview_update(ItemId(1), ExpectedVersion::Version(7), &status(ItemStatus::Completed), Timestamp(2)),
        Err(ListError::Stale { .. })
    ));
    assert_eq!(list.get(ItemId(1)).unwrap(), item);
}

/// Increases a count with compare-and-set, and retries until it succeeds.
fn count(list: &ItemList, name: &str) {
    loop {
        let item = list.get(ItemId(1)).unwrap();
        let next = item.metadata.get(name).and_then(Value::as_u64).unwrap_or(0) + 1;
        let metadata = object(json!({ name: next }));
        match list.update(
            ItemId(1),
            ExpectedVersion::Version(item.version),
            &ItemChange { metadata, ..ItemChange::default() },
            Timestamp(2),
        ) {
            Ok(_) => return,
            Err(ListError::Stale { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn sixty_four_threads_in_eight_processes_lose_no_update() {
    const EACH: u64 = 4;
    if let Some(root) = child_argument() {
        let home = Home::open(root).unwrap();
        return thread::scope(|scope| {
            for n in 0..8 {
                let home = &home;
                scope.spawn(move || {
                    let list = team(home);
                    (0..EACH).for_each(|_| count(&list, "all"));
                    count(&list, &format!("{n}"));
                });
            }
        });
    }
    let fixture = fixture();
    make(&team(&fixture.home), "counted");
    let case = "lists::sixty_four_threads_in_eight_processes_lose_no_update";
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| assert_succeeds(child_command(&this_binary(), case, fixture.home.root())));
        }
    });
    let item = team(&fixture.home).get(ItemId(1)).unwrap();
    assert_eq!(item.metadata["all"], 64 * EACH);
    assert!((0..8).all(|n: u32| item.metadata[&n.to_string()] == 8), "{:?}", item.metadata);
    assert_eq!(item.version, 1 + 64 * (EACH + 1));
}

#[test]
fn items_that_are_created_concurrently_have_unique_ids() {
    let fixture = fixture();
    drop(team(&fixture.home));
    thread::scope(|scope| {
        for n in 0..16 {
            let home = &fixture.home;
            scope.spawn(move || (0..4).for_each(|m| drop(make(&team(home), &format!("{n}.{m}")))));
        }
    });
    let items = team(&fixture.home).items(&ItemQuery::default()).unwrap();
    assert_eq!(ids(&items), (1..=64).collect::<Vec<_>>());
}

#[test]
fn killing_a_process_leaves_complete_items() {
    if let Some(root) = child_argument() {
        let list = team(&Home::open(root).unwrap());
        for n in 1.. {
            let item = make(&list, &format!("{n}"));
            let blocks = ItemChange { add_blocks: vec![item.id], ..ItemChange::default() };
            change(&list, 1, &blocks).unwrap();
            change(&list, item.id.0, &status(ItemStatus::Deleted)).unwrap();
            println!("done {n}");
        }
    }
    let fixture = fixture();
    make(&team(&fixture.home), "the first");
    let case = "lists::killing_a_process_leaves_complete_items";
    let mut other = child_command(&this_binary(), case, fixture.home.root()).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(other.stdout.take().unwrap()).lines().map(Result::unwrap);
    lines.find(|line| line == "done 20").unwrap();
    other.kill().unwrap();
    other.wait().unwrap();
    let list = team(&fixture.home);
    let items = list.items(&ItemQuery::default()).unwrap();
    assert!((1..=2).contains(&items.len()), "{items:?}");
    for item in &items[1..] {
        assert_eq!(item.blocked_by.is_empty(), items[0].blocks.is_empty(), "one side without the other");
        change(&list, item.id.0, &status(ItemStatus::Deleted)).unwrap();
    }
    assert!(list.get(ItemId(1)).unwrap().blocks.is_empty());
}

#[test]
fn lists_are_separate_and_outlive_sessions() {
    let fixture = fixture();
    let home = &fixture.home;
    commit(&create(home, session(1)).writer, first_entries()).unwrap();
    let lists = || {
        vec![
            ItemList::of_session(home, session(1)).unwrap(),
            ItemList::of_project(home, "/src/a").unwrap(),
            ItemList::of_project(home, "/src/b").unwrap(),
            team(home),
        ]
    };
    for (n, list) in lists().iter().enumerate() {
        (0..=n).for_each(|_| drop(make(list, "x")));
    }
    assert_eq!(
        lists().iter().map(|list| list.items(&ItemQuery::default()).unwrap().len()).collect::<Vec<_>>(),
        [1, 2, 3, 4]
    );
    store::remove_session(home, session(1)).unwrap();
    drop(SessionIndex::rebuild(home).unwrap());
    assert_eq!(ItemList::of_project(home, "/src/b").unwrap().items(&ItemQuery::default()).unwrap().len(), 3);
    assert!(matches!(ItemList::of_session(home, session(1)), Err(StoreError::Missing { .. })));
}

#[test]
fn lists_survive_a_damaged_index() {
    let fixture = fixture();
    let list = team(&fixture.home);
    ["a", "b"].iter().for_each(|subject| drop(make(&list, subject)));
    let kept = list.export().unwrap();
    drop(list);
    raw_connection(&fixture.home.index_db()).pragma_update(None, "application_id", 7).unwrap();
    assert_eq!(team(&fixture.home).export().unwrap(), kept);
    raw_connection(&fixture.home.index_db())
        .execute("UPDATE bosun_items SET body = 'no JSON' WHERE id = 1", [])
        .unwrap();
    raw_connection(&fixture.home.index_db()).pragma_update(None, "application_id", 7).unwrap();
    assert_eq!(team(&fixture.home).export().unwrap(), kept, "unreadable items are restored from the backup");
    let list = team(&fixture.home);
    make(&list, "c");
    change(&list, 1, &status(ItemStatus::Deleted)).unwrap();
    let kept = list.export().unwrap();
    drop(list);
    let file = fixture.home.index_db();
    std::fs::write(&file, "no database at all, but long enough to be taken for one".repeat(99)).unwrap();
    for ending in ["-wal", "-shm"] {
        std::fs::remove_file(file.with_extension(format!("db{ending}"))).unwrap_or_default();
    }
    assert_eq!(team(&fixture.home).export().unwrap(), kept, "nothing of it can be read");
    assert_eq!(ids(&kept), [2, 3]);
}

#[test]
fn the_backup_is_rewritten_when_it_has_grown() {
    let fixture = fixture();
    let list = team(&fixture.home);
    let subject = "long ".repeat(50);
    let (backup, mut longest) = (fixture.home.index_backup(), 0);
    make(&list, &subject);
    for n in 0..800_u32 {
        let change = ItemChange { description: Some(format!("{n} {}", "x".repeat(2_000))), ..ItemChange::default() };
        list.update(ItemId(1), ExpectedVersion::Any, &change, Timestamp(5)).unwrap();
        longest = longest.max(std::fs::metadata(&backup).unwrap().len());
    }
    assert!(longest < 1_200 * 1024, "{longest}");
    let kept = list.export().unwrap();
    drop(list);
    std::fs::remove_file(fixture.home.index_db()).unwrap();
    assert_eq!(team(&fixture.home).export().unwrap(), kept);
}

#[test]
fn completed_items_are_listed_until_archived_and_are_still_found_then() {
    let fixture = fixture();
    let list = team(&fixture.home);
    (0..2).for_each(|_| drop(make(&list, "x")));
    change(&list, 1, &status(ItemStatus::Completed)).unwrap();
    assert_eq!(ids(&list.items(&ItemQuery::default()).unwrap()), [1, 2]);
    assert_eq!(list.archive(Some(ItemId(2)), Timestamp(3)), Err(ListError::Unfinished(ItemId(2))));
    assert_eq!(ids(&list.archive(None, Timestamp(3)).unwrap()), [1]);
    assert!(list.archive(None, Timestamp(3)).unwrap().is_empty());
    assert_eq!(ids(&list.items(&ItemQuery::default()).unwrap()), [2]);
    assert_eq!(ids(&list.items(&ItemQuery { archived: true, ..ItemQuery::default() }).unwrap()), [1, 2]);
    assert!(list.get(ItemId(1)).unwrap().archived);
    assert!(!change(&list, 1, &status(ItemStatus::Pending)).unwrap().archived, "a reopened item is no longer archived");
}

#[test]
fn an_exported_list_can_be_imported_and_is_merged_by_version() {
    let fixture = fixture();
    let list = team(&fixture.home);
    list.create(NewItem { metadata: object(json!({"z": 1, "a": {"y": 2, "b": 3}})), ..new("first") }, Timestamp(1))
        .unwrap();
    list.create(NewItem { blocked_by: vec![ItemId(1)], ..new("second") }, Timestamp(1)).unwrap();
    let text = to_jsonl(&list.export().unwrap()).unwrap();
    let line = text.lines().next().unwrap();
    assert!(line.starts_with(r#"{"archived":false,"author":"user","blocks":["2"],"createdAt":1,"#), "{line}");
    assert!(line.contains(r#""metadata":{"a":{"b":3,"y":2},"z":1}"#), "{line}");
    let other = ItemList::of_project(&fixture.home, "/src").unwrap();
    let import = |text: &str| other.import(from_jsonl(text).unwrap(), Timestamp(9));
    assert_eq!(import(&text).unwrap().created, [ItemId(1), ItemId(2)]);
    assert_eq!(other.export().unwrap(), list.export().unwrap());
    assert_eq!(import(&text).unwrap().unchanged, [ItemId(1), ItemId(2)]);
    change(&list, 2, &ItemChange { owner: Some("a".into()), ..ItemChange::default() }).unwrap();
    let text = to_jsonl(&list.export().unwrap()).unwrap();
    assert_eq!(import(&text).unwrap().changed, [ItemId(2)]);
    change(&other, 2, &ItemChange { owner: Some("b".into()), ..ItemChange::default() }).unwrap();
    change(&list, 2, &ItemChange { owner: Some("c".into()), ..ItemChange::default() }).unwrap();
    let imported = import(&to_jsonl(&list.export().unwrap()).unwrap()).unwrap();
    assert_eq!((imported.conflicts, imported.unchanged), (vec![ItemId(2)], vec![ItemId(1)]));
    assert_eq!(other.get(ItemId(2)).unwrap().owner.as_deref(), Some("b"));
}

#[test]
fn an_invalid_file_is_not_imported_even_in_part() {
    let fixture = fixture();
    let list = team(&fixture.home);
    let line = |id: u32, on: &[u32]| {
        let on: Vec<String> = on.iter().map(ToString::to_string).collect();
        json!({"id": id.to_string(), "subject": "x", "status": "pending", "version": 1, "blockedBy": on,
            "createdAt": 1, "updatedAt": 1})
        .to_string()
    };
    let import = |lines: &[String]| list.import(from_jsonl(&lines.join("\n"))?, Timestamp(1));
    assert_eq!(
        import(&[line(1, &[2]), line(2, &[1])]).unwrap_err().to_string(),
        "items would wait for themselves: 1 → 2 → 1"
    );
    assert_eq!(import(&[line(1, &[7])]).unwrap_err(), ListError::Missing(ItemId(7)));
    assert!(import(&[line(0, &[])]).is_err());
    let broken = import(&[line(1, &[]), "{\"id\": 7".into()]).unwrap_err().to_string();
    assert!(broken.starts_with("line 2: "), "{broken}");
    assert!(list.export().unwrap().is_empty());
}

#[test]
fn hostile_metadata_is_refused_or_stored_unchanged() {
    let fixture = fixture();
    let list = team(&fixture.home);
    let with = |metadata: Value| {
        list.create(NewItem { metadata: object(metadata), ..new("x") }, Timestamp(1)).map(|made| made.item)
    };
    let large = with(json!({"a": "x".repeat(1024 * 1024)})).unwrap_err().to_string();
    assert!(large.starts_with("`metadata` has 1048584 bytes, and at most 16384 are allowed"), "{large}");
    let deep = (0..100).fold(json!(1), |inner, _| json!([inner]));
    assert!(with(json!({"a": deep})).unwrap_err().to_string().contains("nested more than 16 deep"));
    let odd = json!({"a\u{0}b": "\u{0}\u{202e}\"'; DROP TABLE bosun_items; --", "": null, "n": 1e308});
    let kept = with(odd.clone()).unwrap();
    assert_eq!(Value::Object(list.get(kept.id).unwrap().metadata), odd);
    for subject in ["", " ", "two\nlines", "nul\0", &"x".repeat(501)] {
        assert!(matches!(list.create(new(subject), Timestamp(1)), Err(ListError::Invalid(_))), "{subject}");
    }
    assert_eq!(list.export().unwrap().len(), 1);
}

#[test]
fn a_reserved_id_is_not_visible_until_it_is_filled() {
    let fixture = fixture();
    let list = team(&fixture.home);
    let id = list.reserve(Timestamp(1)).unwrap();
    assert_eq!((list.get(id), list.export().unwrap()), (Err(ListError::Missing(id)), Vec::new()));
    assert_eq!(make(&list, "next").id, ItemId(2));
    assert_eq!(list.create_reserved(id, new("first"), Timestamp(2)).unwrap().item.version, 1);
    assert_eq!(list.create_reserved(id, new("again"), Timestamp(2)), Err(ListError::Missing(id)), "it is filled once");
    change(&list, 1, &status(ItemStatus::Deleted)).unwrap();
    assert_eq!(
        list.create_reserved(id, new("again"), Timestamp(2)),
        Err(ListError::Missing(id)),
        "a deleted item stays deleted"
    );
}

#[test]
fn a_released_id_is_used_again() {
    let fixture = fixture();
    let list = team(&fixture.home);
    make(&list, "first");
    let id = list.reserve(Timestamp(1)).unwrap();
    list.release_reserved(id).unwrap();
    assert_eq!(make(&list, "second").id, ItemId(2));
    list.release_reserved(ItemId(2)).unwrap();
    assert_eq!(list.get(ItemId(2)).unwrap().subject, "second", "a filled id is not released");
}

#[test]
fn an_item_is_found_by_its_task() {
    let fixture = fixture();
    let list = team(&fixture.home);
    make(&list, "x");
    change(&list, 1, &ItemChange { task: Some(task(7)), ..status(ItemStatus::InProgress) }).unwrap();
    assert_eq!(ids(&list.of_task(task(7)).unwrap()), [1]);
    assert!(list.of_task(task(8)).unwrap().is_empty());
    assert_eq!(
        change(&list, 1, &status(ItemStatus::Completed)).unwrap().task,
        Some(task(7)),
        "the task stays recorded"
    );
}

#[test]
fn a_session_list_can_be_changed_while_an_owner_writes_but_not_by_the_model() {
    let fixture = fixture();
    let opened = create(&fixture.home, session(1));
    commit(&opened.writer, first_entries()).unwrap();
    let list = ItemList::of_session(&fixture.home, session(1)).unwrap();
    make(&list, "x");
    commit(&opened.writer, vec![intent(3)]).unwrap();
    make(&list, "y");
    assert_eq!(list.export().unwrap().len(), 2);
    assert!(SessionReader::open(&fixture.home, session(1)).is_ok());
    let space = SqlConnection::open(&fixture.home.session_db(session(1)), SqlLimits::default()).unwrap();
    for sql in ["SELECT * FROM bosun_items", "DELETE FROM bosun_items"] {
        assert!(space.run(sql, || false).is_err(), "{sql}");
    }
}
