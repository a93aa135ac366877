//! The text of a server's message, before it is used.

use serde_json::Value;

/// The largest message of a server, in bytes.
pub(crate) const MAX_MESSAGE_BYTES: usize = 16 << 20;

/// The most values in a message: a small one takes up to eighty times as much memory as its text.
pub(crate) const MAX_MESSAGE_VALUES: usize = 250_000;

/// Why a text is not used as a message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum UnusableMessage {
    /// It is not JSON.
    #[error("its answer is not JSON: {0}")]
    NotJson(String),
    /// It has more bytes than a message may have.
    #[error("it sent a message of more than {MAX_MESSAGE_BYTES} bytes")]
    TooLarge,
    /// It has more values than a message may have.
    #[error("it sent a message of more than {MAX_MESSAGE_VALUES} values")]
    TooManyValues,
    /// Its values are nested too deeply.
    #[error("it sent a message with too many levels")]
    TooDeep,
}

/// Reads a message.
pub(crate) fn parse(text: &[u8]) -> Result<Value, UnusableMessage> {
    if text.len() > MAX_MESSAGE_BYTES {
        return Err(UnusableMessage::TooLarge);
    }
    // Each value has at least two bytes.
    if text.len() / 2 > MAX_MESSAGE_VALUES && count_values(text) > MAX_MESSAGE_VALUES {
        return Err(UnusableMessage::TooManyValues);
    }
    serde_json::from_slice(text).map_err(|error| match error.to_string() {
        text if text.starts_with("recursion limit exceeded") => UnusableMessage::TooDeep,
        text => UnusableMessage::NotJson(text),
    })
}

/// How many values a text may have at most: each is the first of a list or an object, or comes after a comma.
fn count_values(text: &[u8]) -> usize {
    let (mut count, mut in_string, mut is_escaped) = (0, false, false);
    for byte in text {
        match (in_string, byte) {
            (true, _) if is_escaped => is_escaped = false,
            (true, b'\\') => is_escaped = true,
            (_, b'"') => in_string = !in_string,
            (false, b'{' | b'[' | b',') => count += 1,
            (true | false, _) => {}
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_counted_outside_of_strings() {
        assert_eq!(count_values(br#"{"a":[1,2,{"b":"[,\",{"}],"c\\":"\\"}"#), 6);
        assert_eq!(count_values(b"7"), 0);
    }

    #[test]
    fn messages_that_need_too_much_memory_are_refused() {
        let list = |count: usize| format!("[{}0]", "0,".repeat(count - 1));
        assert!(parse(list(MAX_MESSAGE_VALUES).as_bytes()).is_ok());
        assert_eq!(parse(list(MAX_MESSAGE_VALUES + 1).as_bytes()), Err(UnusableMessage::TooManyValues));
        let text = format!("\"{}\"", ",[{".repeat(1 << 20));
        assert!(parse(text.as_bytes()).is_ok(), "a long text is one value");
        assert_eq!(parse(&vec![b' '; MAX_MESSAGE_BYTES + 1]), Err(UnusableMessage::TooLarge));
        assert_eq!(parse("[".repeat(1000).as_bytes()), Err(UnusableMessage::TooDeep));
        assert!(matches!(parse(b"[1"), Err(UnusableMessage::NotJson(why)) if why.contains("EOF")));
    }
}
