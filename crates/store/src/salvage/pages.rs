//! The pages of a database file, replaced by those of its write-ahead log as far as they were committed.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::Path;

use crate::StoreError;
use crate::error::{companion, io_error};

/// The page size in every file that Bosun creates.
pub(super) const PAGE: usize = 4096;

/// The types of b-tree pages: a leaf with rows of a table, and all four types.
const LEAF: u8 = 13;
const KINDS: [u8; 4] = [2, 5, 10, LEAF];

const WAL_HEADER: usize = 32;
const FRAME_HEADER: usize = 24;

/// All pages of a database.
#[derive(Debug)]
pub(super) struct DatabasePages {
    file: Vec<u8>,
    newer: HashMap<u32, Vec<u8>>,
}

impl DatabasePages {
    pub(super) fn read(db: &Path) -> Result<DatabasePages, StoreError> {
        let file = fs::read(db).map_err(io_error(db))?;
        let log = companion(db, "-wal");
        let log = match fs::read(&log) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            read => read.map_err(io_error(&log))?,
        };
        Ok(DatabasePages { file, newer: committed(&log) })
    }

    /// The numbers of the pages, from 1.
    pub(super) fn numbers(&self) -> impl Iterator<Item = u32> + '_ {
        let in_file = u32::try_from(self.file.len().div_ceil(PAGE)).unwrap_or(u32::MAX);
        let last = self.newer.keys().copied().max().unwrap_or(0).max(in_file);
        1..=last
    }

    /// A page; the last one of a truncated file is shorter.
    pub(super) fn page(&self, number: u32) -> Option<&[u8]> {
        if let Some(page) = self.newer.get(&number) {
            return Some(page);
        }
        let from = usize::try_from(number).ok()?.checked_sub(1)?.checked_mul(PAGE)?;
        self.file.get(from..self.file.len().min(from.saturating_add(PAGE))).filter(|page| !page.is_empty())
    }

    /// Whether a page has the header of a b-tree page.
    pub(super) fn is_in_order(&self, number: u32) -> bool {
        self.page(number).and_then(|page| page.get(header_at(number))).is_some_and(|kind| KINDS.contains(kind))
    }

    /// The cell positions that a leaf page lists.
    pub(super) fn cells_at(&self, number: u32) -> Vec<usize> {
        let at = header_at(number);
        let Some(page) = self.page(number).filter(|page| page.get(at) == Some(&LEAF)) else { return Vec::new() };
        let pair = |at: usize| Some(usize::from(u16::from_be_bytes([*page.get(at)?, *page.get(at + 1)?])));
        let count = pair(at + 3).unwrap_or(0).min(PAGE / 4);
        (0..count).filter_map(|n| pair(at + 8 + 2 * n)).collect()
    }
}

/// The position of a page's header; the first page begins with the file header.
fn header_at(number: u32) -> usize {
    if number == 1 { 100 } else { 0 }
}

/// The pages of a write-ahead log up to its last complete commit.
fn committed(log: &[u8]) -> HashMap<u32, Vec<u8>> {
    let (mut pages, mut pending) = (HashMap::new(), Vec::new());
    let Some(header) = log.get(..WAL_HEADER) else { return pages };
    let number = |bytes: &[u8], at: usize| {
        bytes.get(at..at + 4).map_or(0, |four| u32::from_be_bytes([four[0], four[1], four[2], four[3]]))
    };
    let is_big = match number(header, 0) {
        0x377f_0682 => false,
        0x377f_0683 => true,
        _ => return pages,
    };
    let mut sum = checksum(&header[..24], (0, 0), is_big);
    if number(header, 8) as usize != PAGE || sum != (number(header, 24), number(header, 28)) {
        return pages;
    }
    for frame in log[WAL_HEADER..].chunks_exact(FRAME_HEADER + PAGE) {
        let (head, page) = frame.split_at(FRAME_HEADER);
        sum = checksum(page, checksum(&head[..8], sum, is_big), is_big);
        if head[8..16] != header[16..24] || sum != (number(head, 16), number(head, 20)) {
            break;
        }
        pending.push((number(head, 0), page.to_vec()));
        if number(head, 4) != 0 {
            pages.extend(pending.drain(..));
        }
    }
    pages
}

/// SQLite's checksum of a write-ahead log, in the byte order that the log names.
fn checksum(bytes: &[u8], (mut a, mut b): (u32, u32), is_big: bool) -> (u32, u32) {
    let number = |four: &[u8]| {
        let four = [four[0], four[1], four[2], four[3]];
        if is_big { u32::from_be_bytes(four) } else { u32::from_le_bytes(four) }
    };
    for eight in bytes.chunks_exact(8) {
        a = a.wrapping_add(number(&eight[..4])).wrapping_add(b);
        b = b.wrapping_add(number(&eight[4..])).wrapping_add(a);
    }
    (a, b)
}
