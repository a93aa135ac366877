//! Lists are taken over from a file that is damaged, as far as they can be read.

use std::path::Path;

use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::rows::{COLUMNS, Rows, read};
use crate::connect;

/// Writes every item of the damaged file that reads well into the other.
pub(crate) fn rescue_lists(damaged: &Path, into: &Connection) -> rusqlite::Result<()> {
    let change = Transaction::new_unchecked(into, TransactionBehavior::Immediate)?;
    if let Ok(from) = connect::readable(damaged) {
        copy(&from, &change)?;
    }
    change.commit()
}

/// What cannot be read is left out; what cannot be written is an error.
fn copy(from: &Connection, into: &Connection) -> rusqlite::Result<()> {
    let Ok(mut select) = from.prepare(&format!("SELECT list, {COLUMNS} FROM bosun_items")) else { return Ok(()) };
    let Ok(mut rows) = select.query([]) else { return Ok(()) };
    while let Ok(Some(row)) = rows.next() {
        if let (Ok(key), Ok(item)) = (row.get::<_, String>("list"), read(row)) {
            Rows { conn: into, key: &key }.put(&item)?;
        }
    }
    Ok(())
}
