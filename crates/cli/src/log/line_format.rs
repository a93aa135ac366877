//! One record as one line: when, how grave, which process, which session, where from, and what.

use std::fmt;

use host::{Clock, SystemClock};
use tracing::{Event, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

use super::redact;
use crate::current_session;

/// Most bytes of a line: whatever a provider or a model says, a line stays one.
const MAX_LINE_BYTES: usize = 4096;

/// Writes a record as one line.
#[derive(Debug, Clone, Copy)]
pub(super) struct OneLineFormat;

impl<S, N> FormatEvent<S, N> for OneLineFormat
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(&self, context: &FmtContext<'_, S, N>, mut out: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        let mut said = String::new();
        context.format_fields(Writer::new(&mut said), event)?;
        let (now, pid) = (SystemClock.now(), std::process::id());
        let session = current_session::get().map_or_else(|| "-".to_owned(), |session| session.to_string());
        let (level, target) = (event.metadata().level(), event.metadata().target());
        writeln!(out, "{now} {level:<5} {pid} {session} {target}: {}", single_line(said))
    }
}

/// The text on one line of bounded length, without secrets and without what could drive a terminal.
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
