//! The shared lists of items: a session's own, a project's, a team's.

use host::{Clock, Home, SystemClock};
use protocol::api::{
    AddItemParams, ArchiveItemsParams, ImportItemsParams, ImportItemsResult, ItemParams, ItemsParams, ItemsResult,
    ListExport, UpdateItemParams,
};
use protocol::{ListAddress, ListItem, TaskId};
use store::{ExpectedVersion, ItemChange, ItemImportReport, ItemList, ItemQuery, ListError, NewItem, StoreError};

/// The author of items that the user writes.
const AUTHOR: &str = "user";

/// The default number of items of a page.
const DEFAULT_ITEMS: u64 = 100;

fn open(home: &Home, list: &ListAddress) -> Result<ItemList, StoreError> {
    match list {
        ListAddress::Session(id) => ItemList::of_session(home, *id),
        ListAddress::Project(folder) => ItemList::of_project(home, folder),
        ListAddress::Team(name) => ItemList::of_team(home, name),
    }
}

/// Items of a list, in the order in which they were created.
pub fn items(home: &Home, params: &ItemsParams) -> Result<ItemsResult, ListError> {
    let ItemsParams { list, status, owner, archived, after, limit } = params;
    let limit = u32::try_from(limit.unwrap_or(DEFAULT_ITEMS)).unwrap_or(u32::MAX);
    let query = ItemQuery { status: *status, owner: owner.clone(), archived: *archived, after: *after, limit };
    Ok(ItemsResult { items: open(home, list)?.items(&query)? })
}

/// One item.
pub fn get(home: &Home, params: &ItemParams) -> Result<ListItem, ListError> {
    open(home, &params.list)?.get(params.item)
}

/// The items that a task does or did.
pub fn of_task(home: &Home, list: &ListAddress, task: TaskId) -> Result<Vec<ListItem>, ListError> {
    open(home, list)?.of_task(task)
}

/// Adds an item.
pub fn add(home: &Home, params: AddItemParams) -> Result<ListItem, ListError> {
    let AddItemParams { list, subject, description, active_form, owner, blocked_by, metadata } = params;
    let new = NewItem { subject, description, active_form, owner, blocked_by, metadata, author: AUTHOR.into() };
    Ok(open(home, &list)?.create(new, SystemClock.now())?.item)
}

/// Changes an item.
pub fn update(home: &Home, params: UpdateItemParams) -> Result<ListItem, ListError> {
    let UpdateItemParams {
        list,
        item,
        version,
        subject,
        description,
        active_form,
        status,
        owner,
        add_blocks,
        add_blocked_by,
        remove_blocked_by,
        metadata,
    } = params;
    let change = ItemChange {
        subject,
        description,
        active_form,
        status,
        owner,
        add_blocks,
        add_blocked_by,
        remove_blocked_by,
        metadata,
        author: AUTHOR.into(),
        ..ItemChange::default()
    };
    let expected = version.map_or(ExpectedVersion::Any, ExpectedVersion::Version);
    Ok(open(home, &list)?.update(item, expected, &change, SystemClock.now())?.item)
}

/// Archives a completed item, or all of them.
pub fn archive(home: &Home, params: &ArchiveItemsParams) -> Result<ItemsResult, ListError> {
    Ok(ItemsResult { items: open(home, &params.list)?.archive(params.item, SystemClock.now())? })
}

/// A list as JSON lines.
pub fn export(home: &Home, list: &ListAddress) -> Result<ListExport, ListError> {
    let items = open(home, list)?.export()?;
    Ok(ListExport { text: store::to_jsonl(&items)?, count: items.len() as u64 })
}

/// Imports exported items; the later of two versions is kept.
pub fn import(home: &Home, params: &ImportItemsParams) -> Result<ImportItemsResult, ListError> {
    let items = store::from_jsonl(&params.text)?;
    let ItemImportReport { created, changed, unchanged, conflicts } =
        open(home, &params.list)?.import(items, SystemClock.now())?;
    Ok(ImportItemsResult { created, changed, unchanged, conflicts })
}
