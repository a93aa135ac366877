//! Formats a log record as one line: time, level, process, session, target and message.

use std::fmt;

use host::{Clock, SystemClock};
use tracing::{Event, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

use super::redact;
use crate::current_session;

/// The maximum length of a line in bytes. Texts of providers and models can be long.
const MAX_LINE_BYTES: usize = 4096;

/// Formats a record as one line.
#[derive(Debug, Clone, Copy)]
pub(super) struct OneLineFormat;

impl<S, N> FormatEvent<S, N> for OneLineFormat
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(&self, context: &FmtContext<'_, S, N>, mut out: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        let mut message = String::new();
        context.format_fields(Writer::new(&mut message), event)?;
        let (now, pid) = (SystemClock.now(), std::process::id());
        let session = current_session::get().map_or_else(|| "-".to_owned(), |session| session.to_string());
        let (level, target) = (event.metadata().level(), event.metadata().target());
        writeln!(out, "{now} {level:<5} {pid} {session} {target}: {}", single_line(message))
    }
}

/// The text on one line of bounded length, without secrets and terminal control characters.
fn single_line(text: String) -> String {
    let text = redact(text);
    let clipped = protocol::clip_middle(&text, MAX_LINE_BYTES);
    let mut line = String::with_capacity(clipped.len());
    for c in clipped.chars() {
        if c.is_control() {
            line.extend(c.escape_default());
        } else {
            line.push(c);
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_of_many_lines_is_one_line_of_bounded_length() {
        assert_eq!(single_line("a\nb\u{1b}[31mc\td".into()), "a\\nb\\u{1b}[31mc\\td");
        let long = single_line("line\n".repeat(100_000));
        assert!(!long.contains('\n') && long.len() < 2 * MAX_LINE_BYTES, "{}", long.len());
    }
}
