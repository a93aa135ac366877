//! The ids of entries. An entry has the id of the corresponding frame, which encodes the event and the part of it, so
//! the last id in a file shows how far the file was written.

use uuid::Uuid;

/// The source of an entry: an event, and the number of its part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::claude) struct EventPart {
    pub(in crate::claude) seq: u64,
    pub(in crate::claude) part: u16,
}

/// The last eight bytes of a UUID without its two variant bits.
const LOW_BITS_MASK: u64 = 0x3fff_ffff_ffff_ffff;

impl EventPart {
    /// Decodes an entry's id, if it belongs to this session.
    pub(in crate::claude) fn from_uuid(session: Uuid, entry: Uuid) -> Option<EventPart> {
        let (own, other) = (session.as_u64_pair(), entry.as_u64_pair());
        // Ignore the version bits.
        let same_session = (own.0 ^ other.0) & !0xf000 == 0;
        let encoded = (own.1 ^ other.1) & LOW_BITS_MASK;
        same_session.then_some(EventPart { seq: encoded >> 16, part: (encoded & 0xffff) as u16 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claude::frames::frame_id;

    #[test]
    fn entry_ids_decode_to_event_and_part() {
        let session = Uuid::from_u128(0x0198_1234_5678_7abc_8def_0123_4567_89ab);
        let mut ids = std::collections::HashSet::new();
        for (seq, part) in [(1, 0), (1, 1), (2, 0), (65_536, 65_535), (1 << 40, 3)] {
            let id = frame_id(session, seq, part);
            assert_eq!(EventPart::from_uuid(session, id), Some(EventPart { seq, part }));
            assert!(ids.insert(id));
            assert_eq!(EventPart::from_uuid(Uuid::nil(), id), None);
        }
        assert_eq!(EventPart::from_uuid(session, Uuid::from_u128(7)), None);
    }
}
