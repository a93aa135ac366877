//! `/rewind`: lists the messages that the session can go back to, and goes back.

use std::sync::Arc;

use protocol::api::{RewindParams, RewindPoint, RewindResult, RewindScope};
use protocol::{TaskId, format_age};

use super::SlashOutcome;
use super::error::SlashError;
use crate::compact::one_line;
use crate::file_history::{RewindError, rewind, rewind_points};
use crate::session_context::SessionContext;
use crate::supervisor::Supervisor;

/// Maximum bytes of a message in the list.
const SHOWN_BYTES: usize = 60;

/// How many of the latest messages are listed.
const SHOWN_POINTS: usize = 20;

/// How many files of each kind are named.
const SHOWN_FILES: usize = 20;

pub(super) async fn run(
    context: &Arc<SessionContext>,
    supervisor: &Supervisor,
    root: TaskId,
    rest: &str,
) -> Result<SlashOutcome, SlashError> {
    let points = read_points(context, root).await?;
    let mut arguments = rest.split_whitespace();
    let Some(number) = arguments.next() else { return Ok(SlashOutcome::Text(list(context, &points))) };
    let scope = match (arguments.next(), arguments.next()) {
        (None, None) => RewindScope::Everything,
        (Some("conversation"), None) => RewindScope::Conversation,
        (Some("files"), None) => RewindScope::Files,
        (Some(_), _) | (None, Some(_)) => return Err(SlashError::RewindUsage),
    };
    let place: usize = number.parse().map_err(|_not_a_number| SlashError::RewindUsage)?;
    let point = place.checked_sub(1).and_then(|place| points.get(place));
    let point = point.ok_or_else(|| SlashError::NoRewindPoint(number.to_owned()))?;
    let result = rewind(context, supervisor, root, RewindParams { after: point.after, scope }).await?;
    Ok(SlashOutcome::done(report(point, scope, &result)))
}

async fn read_points(context: &Arc<SessionContext>, root: TaskId) -> Result<Vec<RewindPoint>, RewindError> {
    let context = Arc::clone(context);
    let read = tokio::task::spawn_blocking(move || rewind_points(&context, root)).await;
    Ok(read.map_err(std::io::Error::other)??.points)
}

fn list(context: &SessionContext, points: &[RewindPoint]) -> String {
    let now = context.facts.clock.now();
    let shown = points.iter().enumerate().skip(points.len().saturating_sub(SHOWN_POINTS));
    let rows: Vec<String> = shown
        .map(|(place, point)| {
            let files = match point.turn_files {
                0 => String::new(),
                1 => format!("  (1 file, +{} -{})", point.lines_added, point.lines_removed),
                many => format!("  ({many} files, +{} -{})", point.lines_added, point.lines_removed),
            };
            let text = one_line(&point.text, SHOWN_BYTES);
            format!("{:>3}  {}  {text}{files}", place + 1, format_age(point.at, now))
        })
        .collect();
    match rows.is_empty() {
        true => "there is no message to go back to".into(),
        false => rows.join("\n"),
    }
}

fn report(point: &RewindPoint, scope: RewindScope, result: &RewindResult) -> String {
    let text = one_line(&point.text, SHOWN_BYTES);
    let mut lines = vec![match scope {
        RewindScope::Conversation | RewindScope::Everything => format!("the conversation is as before \"{text}\""),
        RewindScope::Files => format!("the conversation stays; files go back to before \"{text}\""),
    }];
    let restored = result.restored.iter().map(|path| format!("restored {path}"));
    lines.extend(clipped(restored.collect()));
    let skipped = result.skipped.iter().map(|file| format!("not restored: {}: {}", file.path, file.obstacle.as_str()));
    lines.extend(clipped(skipped.collect()));
    lines.join("\n")
}

fn clipped(mut lines: Vec<String>) -> Vec<String> {
    let more = lines.len().saturating_sub(SHOWN_FILES);
    lines.truncate(SHOWN_FILES);
    if more > 0 {
        lines.push(format!("and {more} more"));
    }
    lines
}
