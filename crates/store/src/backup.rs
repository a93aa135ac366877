//! A backup of the data that is stored only in `bosun.db`: the trusted projects, and the items of project and team
//! lists. Each change is appended to `bosun.backup.jsonl` as a line of JSON; the file begins with a full copy.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use host::Home;
use protocol::{ItemId, ListItem, Timestamp};
use rusqlite::{Connection, params};
use serde::{Deserialize, Serialize};

use crate::TrustRow;
use crate::error::io_error;
use crate::lists::{every_item, restore_item};
use crate::trust::all_rows;

/// The file is rewritten when its changes are longer than the full copy by this many bytes.
const MAX_CHANGE_BYTES: u64 = 1024 * 1024;

/// One line of the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub(crate) enum BackupLine {
    /// The first line of a rewritten file.
    Header {
        /// The size of the full copy that follows.
        bytes: u64,
    },
    /// The current content of an item.
    Item {
        /// Its list.
        list: String,
        /// The item.
        item: Box<ListItem>,
    },
    /// An item was removed.
    ItemRemoved {
        /// Its list.
        list: String,
        /// The item.
        id: ItemId,
    },
    /// A project is trusted.
    Trusted {
        /// Its root folder.
        top: String,
        /// The digest it was trusted with.
        digest: String,
        /// When it was trusted.
        at: Timestamp,
    },
    /// A project is no longer trusted.
    Distrusted {
        /// Its root folder.
        top: String,
    },
    /// A newer version wrote it.
    #[serde(other)]
    Unknown,
}

impl From<&TrustRow> for BackupLine {
    fn from(row: &TrustRow) -> BackupLine {
        BackupLine::Trusted { top: row.top.clone(), digest: row.digest.clone(), at: row.at }
    }
}

/// How much was restored from the backup.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct RestoredCounts {
    pub(crate) items: usize,
    pub(crate) trusted: usize,
}

/// Appends changes to the backup of this connection's file.
pub(crate) fn append(home: &Home, conn: &Connection, changes: &[BackupLine]) -> Result<(), crate::StoreError> {
    let path = home.index_backup();
    let _lock = home.lock("backup").map_err(|error| crate::StoreError::Home(error.to_string()))?;
    let append = || -> io::Result<()> {
        match File::open(&path).and_then(|file| must_rewrite(&file)) {
            Ok(false) => {
                let mut file = OpenOptions::new().append(true).open(&path)?;
                // The leading newline ends a line that was cut off by a crash.
                file.write_all(format!("\n{}", to_lines(changes)?).as_bytes())
            }
            Ok(true) | Err(_) => rewrite(&path, conn, changes),
        }
    };
    append().map_err(io_error(&path))
}

/// Restores data that this connection's database does not have, or has in an older version.
pub(crate) fn restore(home: &Home, conn: &Connection) -> rusqlite::Result<RestoredCounts> {
    let mut restored = RestoredCounts::default();
    let Ok(file) = File::open(home.index_backup()) else { return Ok(restored) };
    let (items, trusted) = read_contents(BufReader::new(file));
    for ((list, _), item) in items {
        restored.items += usize::from(restore_item(conn, &list, item)?);
    }
    for TrustRow { top, digest, at } in trusted.into_values() {
        restored.trusted += conn
            .execute("INSERT OR IGNORE INTO trust (top, digest, at) VALUES (?1, ?2, ?3)", params![top, digest, at.0])?;
    }
    Ok(restored)
}

type BackupContents = (BTreeMap<(String, ItemId), ListItem>, BTreeMap<String, TrustRow>);

/// The contents after applying all lines in order; unreadable lines are skipped.
fn read_contents(lines: impl BufRead) -> BackupContents {
    let (mut items, mut trusted) = BackupContents::default();
    for line in lines.split(b'\n').map_while(Result::ok) {
        let Ok(line) = serde_json::from_slice::<BackupLine>(&line) else { continue };
        match line {
            BackupLine::Item { list, item } => drop(items.insert((list, item.id), *item)),
            BackupLine::ItemRemoved { list, id } => drop(items.remove(&(list, id))),
            BackupLine::Trusted { top, digest, at } => drop(trusted.insert(top.clone(), TrustRow { top, digest, at })),
            BackupLine::Distrusted { top } => drop(trusted.remove(&top)),
            BackupLine::Header { .. } | BackupLine::Unknown => {}
        }
    }
    (items, trusted)
}

/// Whether the file is long enough to be rewritten.
fn must_rewrite(file: &File) -> io::Result<bool> {
    let mut first = String::new();
    BufReader::new(file.take(200)).read_line(&mut first)?;
    let Ok(BackupLine::Header { bytes }) = serde_json::from_str(&first) else { return Ok(true) };
    Ok(file.metadata()?.len() > bytes.saturating_mul(2).saturating_add(MAX_CHANGE_BYTES))
}

fn rewrite(path: &Path, conn: &Connection, changes: &[BackupLine]) -> io::Result<()> {
    let mut all: Vec<BackupLine> = every_item(conn).map_err(io::Error::other)?;
    all.extend(all_rows(conn).map_err(io::Error::other)?.iter().map(BackupLine::from));
    let all = to_lines(&all)?;
    let header = to_lines(&[BackupLine::Header { bytes: all.len() as u64 }])?;
    let part = path.with_extension("part");
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&part)?;
    file.write_all(format!("{header}{all}{}", to_lines(changes)?).as_bytes())?;
    file.sync_all()?;
    fs::rename(part, path)
}

fn to_lines(lines: &[BackupLine]) -> io::Result<String> {
    let mut text = String::new();
    for line in lines {
        text.push_str(&serde_json::to_string(line)?);
        text.push('\n');
    }
    Ok(text)
}
