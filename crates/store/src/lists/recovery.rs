//! Recovers lists from a damaged file, as far as they can be read.

use std::path::Path;

use protocol::ListItem;
use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::rows::{COLUMNS, ItemRow, ListRows, read_row};
use crate::backup::BackupLine;
use crate::connect;

/// Copies every readable item of the damaged file into another database.
pub(crate) fn recover_lists(damaged: &Path, into: &Connection) -> rusqlite::Result<()> {
    let transaction = Transaction::new_unchecked(into, TransactionBehavior::Immediate)?;
    if let Ok(source) = connect::open_readable(damaged) {
        copy(&source, &transaction)?;
    }
    transaction.commit()
}

/// All items of all lists, as lines of the backup.
pub(crate) fn every_item(conn: &Connection) -> rusqlite::Result<Vec<BackupLine>> {
    conn.prepare(&format!("SELECT list, {COLUMNS} FROM bosun_items ORDER BY list, id"))?
        .query_map([], |row| {
            Ok(BackupLine::Item { list: row.get("list")?, item: Box::new(read_row(row)?.item(Vec::new())) })
        })?
        .collect()
}

/// Writes an item unless the list has it in this version or a later one; returns whether it did.
pub(crate) fn restore_item(conn: &Connection, list: &str, item: ListItem) -> rusqlite::Result<bool> {
    let (rows, row) = (ListRows { conn, key: list }, ItemRow::from(item));
    let is_newer = rows.find(row.id).map_or(true, |known| known.is_none_or(|known| known.version < row.version));
    if is_newer {
        rows.put(&row)?;
    }
    Ok(is_newer)
}

/// Copies the items. Unreadable ones are left out; a failed write is an error.
fn copy(source: &Connection, into: &Connection) -> rusqlite::Result<()> {
    let Ok(mut select) = source.prepare(&format!("SELECT list, {COLUMNS} FROM bosun_items")) else { return Ok(()) };
    let Ok(mut rows) = select.query([]) else { return Ok(()) };
    while let Ok(Some(row)) = rows.next() {
        if let (Ok(key), Ok(item)) = (row.get::<_, String>("list"), read_row(row)) {
            ListRows { conn: into, key: &key }.put(&item)?;
        }
    }
    Ok(())
}
