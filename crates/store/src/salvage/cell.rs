//! Reads rows of the log from the cells of a database page: the length of a row, its number, the column types, and the
//! columns.

use std::ops::Range;

use super::pages::{DatabasePages, PAGE_BYTES};

/// An event as stored in its row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EventCell {
    pub(super) seq: u64,
    pub(super) v: u32,
    pub(super) at: u64,
    pub(super) task: String,
    pub(super) body: String,
}

/// Maximum bytes of a row in its own page.
const MAX_IN_PAGE: usize = PAGE_BYTES - 35;
/// Minimum bytes of a row in its own page if the rest is on overflow pages.
const MIN_IN_PAGE: usize = (PAGE_BYTES - 12) * 32 / 255 - 23;

/// Maximum bytes of a row; no event is longer.
const MAX_ROW_BYTES: usize = 1 << 30;

/// The events of a page with an intact cell index.
pub(super) fn cells_of_leaf(pages: &DatabasePages, number: u32) -> Vec<EventCell> {
    pages.cell_positions(number).into_iter().filter_map(|at| read_cell(pages, number, at)).collect()
}

/// The events of a page whose header is lost: every position is tried.
pub(super) fn search_cells(pages: &DatabasePages, number: u32) -> Vec<EventCell> {
    (0..PAGE_BYTES).filter_map(|at| read_cell(pages, number, at)).collect()
}

/// The event at this position, if there is one.
fn read_cell(pages: &DatabasePages, number: u32, at: usize) -> Option<EventCell> {
    let page = pages.page(number)?;
    let (length, length_size) = varint(page.get(at..)?)?;
    let length = usize::try_from(length).ok().filter(|length| *length <= MAX_ROW_BYTES)?;
    let (seq, seq_size) = varint(page.get(at + length_size..)?)?;
    let row_start = at + length_size + seq_size;
    // Check the columns before copying anything.
    let columns = columns(page.get(row_start..)?)?;
    if columns.body.end != length {
        return None;
    }
    let row = read_row(pages, page, row_start, length)?;
    let text = |range: Range<usize>| String::from_utf8(row.get(range)?.to_vec()).ok();
    Some(EventCell {
        seq: Some(seq).filter(|seq| *seq > 0)?,
        v: u32::try_from(integer(&row, columns.v)?).ok()?,
        at: u64::try_from(integer(&row, columns.at)?).ok()?,
        task: text(columns.task)?,
        body: text(columns.body)?,
    })
}

/// The positions of a row's columns, and the types of its numbers.
struct EventColumns {
    /// Type and position.
    v: (u64, usize),
    /// Type and position.
    at: (u64, usize),
    task: Range<usize>,
    body: Range<usize>,
}

/// Parses the columns of a log row: its number (which is not stored in the row), two numbers and two texts.
fn columns(row: &[u8]) -> Option<EventColumns> {
    let (header, mut at) = varint(row)?;
    let header = usize::try_from(header).ok().filter(|header| (6..=16).contains(header))?;
    let mut kinds = [0; 5];
    for kind in &mut kinds {
        let (value, used) = varint(row.get(at..header)?)?;
        (*kind, at) = (value, at + used);
    }
    let [0, v, time, task, body] = kinds else { return None };
    let is_text = |kind: u64| kind >= 13 && kind % 2 == 1;
    if at != header || !is_text(task) || !is_text(body) {
        return None;
    }
    let length = |kind: u64| usize::try_from((kind - 13) / 2).ok().filter(|length| *length <= MAX_ROW_BYTES);
    let time_at = header + integer_bytes(v)?;
    let task_at = time_at + integer_bytes(time)?;
    let body_at = task_at + length(task)?;
    Some(EventColumns {
        v: (v, header),
        at: (time, time_at),
        task: task_at..body_at,
        body: body_at..body_at + length(body)?,
    })
}

/// A whole row, including the parts on overflow pages.
fn read_row(pages: &DatabasePages, page: &[u8], start: usize, length: usize) -> Option<Vec<u8>> {
    if length <= MAX_IN_PAGE {
        return Some(page.get(start..start + length)?.to_vec());
    }
    let preferred = MIN_IN_PAGE + (length - MIN_IN_PAGE) % (PAGE_BYTES - 4);
    let in_page = if preferred <= MAX_IN_PAGE { preferred } else { MIN_IN_PAGE };
    let mut row = page.get(start..start + in_page)?.to_vec();
    let mut next = page_number_at(page, start + in_page)?;
    while row.len() < length {
        let page = pages.page(next)?;
        row.extend(page.get(4..PAGE_BYTES.min(4 + length - row.len()))?);
        next = page_number_at(page, 0)?;
    }
    Some(row)
}

/// The page number at this position.
fn page_number_at(page: &[u8], at: usize) -> Option<u32> {
    let four = page.get(at..at + 4)?;
    Some(u32::from_be_bytes([four[0], four[1], four[2], four[3]]))
}

/// How many bytes a number of this type takes.
fn integer_bytes(kind: u64) -> Option<usize> {
    match kind {
        8 | 9 => Some(0),
        1..=4 => usize::try_from(kind).ok(),
        5 => Some(6),
        6 => Some(8),
        _other => None,
    }
}

fn integer(row: &[u8], (kind, at): (u64, usize)) -> Option<i64> {
    match kind {
        8 => Some(0),
        9 => Some(1),
        _stored => {
            let bytes = row.get(at..at + integer_bytes(kind)?)?;
            let sign = if bytes.first().is_some_and(|first| first & 0x80 != 0) { -1 } else { 0 };
            Some(bytes.iter().fold(sign, |sum: i64, byte| (sum << 8) | i64::from(*byte)))
        }
    }
}

/// Reads a varint of one to nine bytes; returns its value and length.
fn varint(bytes: &[u8]) -> Option<(u64, usize)> {
    let mut value = 0;
    for (n, byte) in bytes.iter().take(8).enumerate() {
        value = (value << 7) | u64::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            return Some((value, n + 1));
        }
    }
    bytes.get(8).map(|last| ((value << 8) | u64::from(*last), 9))
}
