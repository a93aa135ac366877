//! Rows of the log as cells of a database page: the length of a row, its number, the column types, and the columns.

use std::ops::Range;

use super::pages::{DatabasePages, PAGE};

/// An event as stored in its row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EventCell {
    pub(super) seq: u64,
    pub(super) v: u32,
    pub(super) at: u64,
    pub(super) task: String,
    pub(super) body: String,
}

/// Most bytes of a row in its own page, and fewest when the rest is on overflow pages.
const MOST_HERE: usize = PAGE - 35;
const LEAST_HERE: usize = (PAGE - 12) * 32 / 255 - 23;

/// Longer than any event.
const LONGEST: usize = 1 << 30;

/// The events of a page with an intact cell index.
pub(super) fn cells_of_leaf(pages: &DatabasePages, number: u32) -> Vec<EventCell> {
    pages.cells_at(number).into_iter().filter_map(|at| cell(pages, number, at)).collect()
}

/// The events of a page whose header is lost: every position is tried.
pub(super) fn cells_anywhere(pages: &DatabasePages, number: u32) -> Vec<EventCell> {
    (0..PAGE).filter_map(|at| cell(pages, number, at)).collect()
}

/// The event at this position, if there is one.
fn cell(pages: &DatabasePages, number: u32, at: usize) -> Option<EventCell> {
    let page = pages.page(number)?;
    let (length, used) = varint(page.get(at..)?)?;
    let length = usize::try_from(length).ok().filter(|length| *length <= LONGEST)?;
    let (seq, more) = varint(page.get(at + used..)?)?;
    let from = at + used + more;
    // The columns are checked before anything is copied.
    let columns = columns(page.get(from..)?)?;
    if columns.body.end != length {
        return None;
    }
    let row = whole(pages, page, from, length)?;
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
    v: (u64, usize),
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
        let (read, used) = varint(row.get(at..header)?)?;
        (*kind, at) = (read, at + used);
    }
    let [0, v, when, task, body] = kinds else { return None };
    let is_text = |kind: u64| kind >= 13 && kind % 2 == 1;
    if at != header || !is_text(task) || !is_text(body) {
        return None;
    }
    let length = |kind: u64| usize::try_from((kind - 13) / 2).ok().filter(|length| *length <= LONGEST);
    let when_at = header + width(v)?;
    let task_at = when_at + width(when)?;
    let body_at = task_at + length(task)?;
    Some(EventColumns {
        v: (v, header),
        at: (when, when_at),
        task: task_at..body_at,
        body: body_at..body_at + length(body)?,
    })
}

/// A whole row, including its overflow pages.
fn whole(pages: &DatabasePages, page: &[u8], from: usize, length: usize) -> Option<Vec<u8>> {
    if length <= MOST_HERE {
        return Some(page.get(from..from + length)?.to_vec());
    }
    let rest = LEAST_HERE + (length - LEAST_HERE) % (PAGE - 4);
    let here = if rest <= MOST_HERE { rest } else { LEAST_HERE };
    let mut row = page.get(from..from + here)?.to_vec();
    let mut next = pointer(page, from + here)?;
    while row.len() < length {
        let page = pages.page(next)?;
        row.extend(page.get(4..PAGE.min(4 + length - row.len()))?);
        next = pointer(page, 0)?;
    }
    Some(row)
}

fn pointer(page: &[u8], at: usize) -> Option<u32> {
    let four = page.get(at..at + 4)?;
    Some(u32::from_be_bytes([four[0], four[1], four[2], four[3]]))
}

/// How many bytes a number of this type takes.
fn width(kind: u64) -> Option<usize> {
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
            let bytes = row.get(at..at + width(kind)?)?;
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
