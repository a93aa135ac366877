//! Which of the user's messages are this client's own: other clients of the session write to it as well, and their turns
//! are not results of this client.

use std::collections::HashSet;

use protocol::MailId;

/// Whose message the root has read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReadBy {
    /// This client's, as far as it is known.
    Client,
    /// Another client's.
    Others,
}

/// The client's own messages.
#[derive(Debug, Default)]
pub(super) struct OwnMail {
    own: HashSet<MailId>,
    /// Whether a message is on its way, so that its number is not known yet.
    is_sending: bool,
    /// What the root has read meanwhile.
    read_meanwhile: Vec<MailId>,
    /// Whether the root has read a message of another client since the last result.
    has_read_others: bool,
}

impl OwnMail {
    /// Begins to send a message.
    pub(super) fn begin_sending(&mut self) {
        self.is_sending = true;
        self.read_meanwhile.clear();
    }

    /// A message became no mail.
    pub(super) fn not_sent(&mut self) {
        self.settle();
    }

    /// A message has this number. Says whose messages were read meanwhile: the client's unless that is now known to be
    /// wrong.
    pub(super) fn sent(&mut self, mail: MailId) -> ReadBy {
        self.own.insert(mail);
        self.settle()
    }

    fn settle(&mut self) -> ReadBy {
        self.is_sending = false;
        let read = std::mem::take(&mut self.read_meanwhile);
        self.settle_read(&read)
    }

    /// What an activation that has ended has read, if it is not known yet whose that is.
    pub(super) fn take_unsettled(&mut self) -> Option<Vec<MailId>> {
        let is_unsettled = self.is_sending && !self.read_meanwhile.is_empty();
        is_unsettled.then(|| std::mem::take(&mut self.read_meanwhile))
    }

    /// Whose messages these are, now that it is known.
    pub(super) fn settle_read(&mut self, read: &[MailId]) -> ReadBy {
        let of_others = read.iter().filter(|mail| !self.own.remove(mail)).count();
        self.has_read_others |= of_others > 0;
        if of_others > 0 && of_others == read.len() { ReadBy::Others } else { ReadBy::Client }
    }

    /// The root has read a message.
    pub(super) fn read(&mut self, mail: MailId) -> ReadBy {
        if self.own.remove(&mail) {
            return ReadBy::Client;
        }
        if self.is_sending {
            self.read_meanwhile.push(mail);
            return ReadBy::Client;
        }
        self.has_read_others = true;
        ReadBy::Others
    }

    /// Whether the root has read a message of another client since this was last asked.
    pub(super) fn take_read_of_others(&mut self) -> bool {
        std::mem::take(&mut self.has_read_others)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_other_clients_are_not_the_clients_own() {
        let mut mail = OwnMail::default();
        assert_eq!(mail.read(MailId(1)), ReadBy::Others);
        assert!(mail.take_read_of_others() && !mail.take_read_of_others());
        mail.begin_sending();
        assert_eq!(mail.sent(MailId(2)), ReadBy::Client);
        assert_eq!((mail.read(MailId(2)), mail.read(MailId(3))), (ReadBy::Client, ReadBy::Others));
    }

    #[test]
    fn a_message_may_be_read_before_its_number_is_known() {
        let mut mail = OwnMail::default();
        mail.begin_sending();
        assert_eq!(mail.read(MailId(1)), ReadBy::Client);
        assert_eq!(mail.sent(MailId(1)), ReadBy::Client);
        assert!(!mail.take_read_of_others());
        mail.begin_sending();
        assert_eq!(mail.read(MailId(2)), ReadBy::Client);
        assert_eq!(mail.sent(MailId(3)), ReadBy::Others, "it was another client's");
        assert!(mail.take_read_of_others());
        // An activation with another client's message has ended, and the next one has begun with this client's.
        mail.begin_sending();
        assert_eq!(mail.read(MailId(4)), ReadBy::Client);
        let unsettled = mail.take_unsettled().unwrap();
        assert_eq!(mail.read(MailId(5)), ReadBy::Client);
        assert_eq!((mail.sent(MailId(5)), mail.settle_read(&unsettled)), (ReadBy::Client, ReadBy::Others));
        assert_eq!(mail.take_unsettled(), None);
    }
}
