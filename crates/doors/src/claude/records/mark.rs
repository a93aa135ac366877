//! The names of lines. A line's name says which part of which event it came from, so a file says how far it got.

use protocol::{TaskId, Turn};
use uuid::Uuid;

/// Where a line comes from: an event, and which line of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Mark {
    pub(super) seq: u64,
    pub(super) part: u16,
}

/// What is left of the last eight bytes beside the two bits that every UUID has there.
const REST: u64 = 0x3fff_ffff_ffff_ffff;

/// The name of the line that is this part of an event: always the same one.
pub fn line_uuid(session: Uuid, seq: u64, part: u16) -> Uuid {
    let (head, tail) = session.as_u64_pair();
    let tail = tail ^ ((seq << 16 | u64::from(part)) & REST);
    let mut bytes = Uuid::from_u64_pair(head, tail).into_bytes();
    bytes[6] = bytes[6] & 0x0f | 0x80;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    Uuid::from_bytes(bytes)
}

/// What messages of a model are called: all blocks of one answer alike.
pub fn message_id(task: TaskId, turn: Turn) -> String {
    format!("msg_{}_{}", task.uuid().simple(), turn.0)
}

impl Mark {
    /// The mark that a line's name bears, if it is of this session.
    pub(super) fn of(session: Uuid, line: Uuid) -> Option<Mark> {
        let (own, other) = (session.as_u64_pair(), line.as_u64_pair());
        // The version of the UUID is not part of the name.
        let same_head = (own.0 ^ other.0) & !0xf000 == 0;
        let tail = (own.1 ^ other.1) & REST;
        same_head.then_some(Mark { seq: tail >> 16, part: (tail & 0xffff) as u16 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_tells_where_its_line_comes_from() {
        let session = Uuid::from_u128(0x0198_1234_5678_7abc_8def_0123_4567_89ab);
        let mut names = std::collections::HashSet::new();
        for (seq, part) in [(1, 0), (1, 1), (2, 0), (65_536, 65_535), (1 << 40, 3)] {
            let name = line_uuid(session, seq, part);
            assert_eq!(Mark::of(session, name), Some(Mark { seq, part }));
            assert!(names.insert(name));
            assert_eq!(Mark::of(Uuid::nil(), name), None);
        }
        assert_eq!(Mark::of(session, Uuid::from_u128(7)), None);
    }
}
