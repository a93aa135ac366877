//! The pages of a database file. Committed pages of the write-ahead log replace those of the file.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::Path;

use crate::StoreError;
use crate::error::{companion_path, io_error};

/// The page size in every file that Bosun creates.
pub(super) const PAGE_BYTES: usize = 4096;

/// The type of a b-tree page that holds rows of a table.
const TABLE_LEAF: u8 = 13;
/// All types of b-tree pages.
const PAGE_TYPES: [u8; 4] = [2, 5, 10, TABLE_LEAF];

const WAL_HEADER: usize = 32;
const FRAME_HEADER: usize = 24;

/// All pages of a database.
#[derive(Debug)]
pub(super) struct DatabasePages {
    file: Vec<u8>,
    /// The pages of the write-ahead log, by number.
    wal_pages: HashMap<u32, Vec<u8>>,
}

impl DatabasePages {
    pub(super) fn read(db: &Path) -> Result<DatabasePages, StoreError> {
        let file = fs::read(db).map_err(io_error(db))?;
        let log = companion_path(db, "-wal");
        let log = match fs::read(&log) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            read => read.map_err(io_error(&log))?,
        };
        Ok(DatabasePages { file, wal_pages: committed_pages(&log) })
    }

    /// The numbers of the pages, from 1.
    pub(super) fn numbers(&self) -> impl Iterator<Item = u32> + '_ {
        let in_file = u32::try_from(self.file.len().div_ceil(PAGE_BYTES)).unwrap_or(u32::MAX);
        let last = self.wal_pages.keys().copied().max().unwrap_or(0).max(in_file);
        1..=last
    }

    /// A page; the last one of a truncated file is shorter.
    pub(super) fn page(&self, number: u32) -> Option<&[u8]> {
        if let Some(page) = self.wal_pages.get(&number) {
            return Some(page);
        }
        let from = usize::try_from(number).ok()?.checked_sub(1)?.checked_mul(PAGE_BYTES)?;
        self.file.get(from..self.file.len().min(from.saturating_add(PAGE_BYTES))).filter(|page| !page.is_empty())
    }

    /// Whether a page has the header of a b-tree page.
    pub(super) fn has_valid_header(&self, number: u32) -> bool {
        self.page(number).and_then(|page| page.get(header_at(number))).is_some_and(|kind| PAGE_TYPES.contains(kind))
    }

    /// The cell positions that a leaf page lists.
    pub(super) fn cell_positions(&self, number: u32) -> Vec<usize> {
        let at = header_at(number);
        let Some(page) = self.page(number).filter(|page| page.get(at) == Some(&TABLE_LEAF)) else { return Vec::new() };
        let number = |at: usize| Some(usize::from(u16::from_be_bytes([*page.get(at)?, *page.get(at + 1)?])));
        let count = number(at + 3).unwrap_or(0).min(PAGE_BYTES / 4);
        (0..count).filter_map(|n| number(at + 8 + 2 * n)).collect()
    }
}

/// The position of a page's header; the first page begins with the file header.
fn header_at(number: u32) -> usize {
    if number == 1 { 100 } else { 0 }
}

/// The pages of a write-ahead log up to its last complete commit.
fn committed_pages(log: &[u8]) -> HashMap<u32, Vec<u8>> {
    let (mut pages, mut pending) = (HashMap::new(), Vec::new());
    let Some(header) = log.get(..WAL_HEADER) else { return pages };
    let number_at = |bytes: &[u8], at: usize| {
        bytes.get(at..at + 4).map_or(0, |four| u32::from_be_bytes([four[0], four[1], four[2], four[3]]))
    };
    let is_big_endian = match number_at(header, 0) {
        0x377f_0682 => false,
        0x377f_0683 => true,
        _ => return pages,
    };
    let mut sum = checksum(&header[..24], (0, 0), is_big_endian);
    if number_at(header, 8) as usize != PAGE_BYTES || sum != (number_at(header, 24), number_at(header, 28)) {
        return pages;
    }
    for frame in log[WAL_HEADER..].chunks_exact(FRAME_HEADER + PAGE_BYTES) {
        let (frame_header, page) = frame.split_at(FRAME_HEADER);
        sum = checksum(page, checksum(&frame_header[..8], sum, is_big_endian), is_big_endian);
        if frame_header[8..16] != header[16..24] || sum != (number_at(frame_header, 16), number_at(frame_header, 20)) {
            break;
        }
        pending.push((number_at(frame_header, 0), page.to_vec()));
        if number_at(frame_header, 4) != 0 {
            pages.extend(pending.drain(..));
        }
    }
    pages
}

/// SQLite's checksum of a write-ahead log, in the byte order that the log states.
fn checksum(bytes: &[u8], (mut a, mut b): (u32, u32), is_big_endian: bool) -> (u32, u32) {
    let number = |four: &[u8]| {
        let four = [four[0], four[1], four[2], four[3]];
        if is_big_endian { u32::from_be_bytes(four) } else { u32::from_le_bytes(four) }
    };
    for eight in bytes.chunks_exact(8) {
        a = a.wrapping_add(number(&eight[..4])).wrapping_add(b);
        b = b.wrapping_add(number(&eight[4..])).wrapping_add(a);
    }
    (a, b)
}
