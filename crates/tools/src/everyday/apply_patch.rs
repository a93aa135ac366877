//! Applies a patch to several files: all of it or nothing.

use std::collections::HashSet;
use std::path::PathBuf;

use host::{ExpectedContent, FileStamp};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::args::Typed;
use crate::patch::{Change, Hunk, parse};
use crate::patch::{Fit, apply};
use crate::place::{self, Granted, changed};
use crate::refusal::stale;
use crate::{Access, Context, Need, Output, ToolError, Use};

/// The `apply_patch` tool.
pub(crate) struct ApplyPatch;

/// The arguments of `apply_patch`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// The whole patch.
    patch: String,
}

impl Typed for ApplyPatch {
    type Args = Args;
    const NAME: &'static str = "apply_patch";
    const ABOUT: &'static str = include_str!("apply_patch.md");
    const ACCESS: Access = Access::Write;

    fn needs(args: &Args) -> Result<Vec<Need>, ToolError> {
        let changes = parse(&args.patch).map_err(|error| ToolError::Refused(error.to_string()))?;
        // A patch tells what it matches, and a moved file may be read at its new place.
        let reads = changes.iter().filter_map(Change::source).map(|path| Need::Read(path.to_owned()));
        let edits = changes.iter().flat_map(Change::paths).map(|path| Need::Edit(path.to_owned()));
        Ok(reads.chain(edits).collect())
    }

    async fn run(args: Args, cx: &Context) -> Result<Output, ToolError> {
        place::blocking(cx, move |cx| {
            let changes = parse(&args.patch).map_err(|error| ToolError::Refused(error.to_string()))?;
            let steps = plan(&changes, cx).map_err(|error| note(error, "nothing was changed"))?;
            perform(&steps, cx)?;
            let text: Vec<String> = steps.iter().map(|step| step.told(cx)).collect();
            Ok(changed(cx, &text.join("\n"), steps.iter().map(|step| step.place.path())))
        })
        .await
    }
}

/// One file to write or remove, checked and computed.
struct Step {
    place: Granted,
    action: Action,
}

enum Action {
    Add(Vec<u8>),
    /// The new place of a moved file, which keeps its mode.
    Arrive(Vec<u8>, u32),
    Update(Before, Vec<u8>),
    Remove(Before),
}

/// A file as it was before the patch.
struct Before {
    bytes: Vec<u8>,
    stamp: FileStamp,
    mode: u32,
}

impl Step {
    fn told(&self, cx: &Context) -> String {
        let verb = match self.action {
            Action::Add(_) | Action::Arrive(..) => "added",
            Action::Update(..) => "updated",
            Action::Remove(_) => "removed",
        };
        format!("{verb} {}", place::shown(cx, self.place.path()))
    }
}

/// Checks every change and computes every file, in the order they will be made: writes first, removals last.
fn plan(changes: &[Change], cx: &Context) -> Result<Vec<Step>, ToolError> {
    let mut steps = Vec::new();
    for change in changes {
        match change {
            Change::Add { path, lines } => steps.push(added(path, lines, cx)?),
            Change::Update { path, to, hunks } => steps.extend(updated(path, to.as_deref(), hunks, cx)?),
            Change::Delete { path } => steps.push(deleted(path, cx)?),
        }
    }
    let mut paths: HashSet<PathBuf> = HashSet::new();
    if let Some(step) = steps.iter().find(|step| !paths.insert(step.place.path().to_owned())) {
        let shown = place::shown(cx, step.place.path());
        return Err(ToolError::Refused(format!("{shown} occurs twice in the patch; put its changes into one section")));
    }
    steps.sort_by_key(|step| matches!(step.action, Action::Remove(_)));
    Ok(steps)
}

fn added(path: &str, lines: &[String], cx: &Context) -> Result<Step, ToolError> {
    let place = vacant(path, cx)?;
    let text: String = lines.iter().flat_map(|line| [line, "\n"]).collect();
    Ok(Step { place, action: Action::Add(text.into_bytes()) })
}

fn vacant(path: &str, cx: &Context) -> Result<Granted, ToolError> {
    let place = place::resolve(cx, path, Use::Edit)?;
    if place.exists() {
        return Err(ToolError::Refused(format!("{path} exists already; use `*** Update File` or another name")));
    }
    Ok(place)
}

fn updated(path: &str, to: Option<&str>, hunks: &[Hunk], cx: &Context) -> Result<Vec<Step>, ToolError> {
    let (place, before, seen) = present(path, cx)?;
    let patched = apply(&before.bytes, hunks).map_err(|error| ToolError::Refused(format!("{path}: {error}")))?;
    if seen == Seen::Never && (patched.fit != Fit::Exact || hunks.is_empty()) {
        let text = format!("{path} was not viewed yet, and the patch does not match it exactly; view it first");
        return Err(ToolError::Refused(text));
    }
    Ok(match to {
        None => vec![Step { place, action: Action::Update(before, patched.bytes) }],
        Some(to) => vec![
            Step { place: vacant(to, cx)?, action: Action::Arrive(patched.bytes, before.mode) },
            Step { place, action: Action::Remove(before) },
        ],
    })
}

fn deleted(path: &str, cx: &Context) -> Result<Step, ToolError> {
    let (place, before, seen) = present(path, cx)?;
    if seen == Seen::Never {
        return Err(ToolError::Refused(format!("{path} was not viewed yet; view it before you delete it")));
    }
    Ok(Step { place, action: Action::Remove(before) })
}

/// Whether the agent knows a file as it is.
#[derive(PartialEq, Eq)]
enum Seen {
    AsItIs,
    Never,
}

fn present(path: &str, cx: &Context) -> Result<(Granted, Before, Seen), ToolError> {
    let place = place::resolve(cx, path, Use::Edit)?;
    let file = place::read(cx, &place)?;
    let seen = match cx.stamps.seen(place.path()) {
        None => Seen::Never,
        Some(stamp) if stamp == file.stamp => Seen::AsItIs,
        Some(_) => return Err(stale(&place::shown(cx, place.path()))),
    };
    Ok((place, Before { bytes: file.bytes, stamp: file.stamp, mode: file.mode }, seen))
}

/// Makes the changes; when one fails, the ones made before it are taken back.
fn perform(steps: &[Step], cx: &Context) -> Result<(), ToolError> {
    for (count, step) in steps.iter().enumerate() {
        if let Err(error) = make(step, cx) {
            let kept: Vec<String> = steps[..count].iter().rev().filter_map(|step| take_back(step, cx)).collect();
            return Err(if kept.is_empty() {
                note(error, "no file was changed: what was already written has been taken back")
            } else {
                note(error, &format!("these could not be taken back and stay changed: {}", kept.join(", ")))
            });
        }
    }
    Ok(())
}

fn make(step: &Step, cx: &Context) -> Result<(), ToolError> {
    let Step { place, action } = step;
    match action {
        Action::Add(bytes) => place::write(cx, place, bytes, ExpectedContent::New),
        Action::Arrive(bytes, mode) => place::write_with_mode(cx, place, bytes, *mode),
        Action::Update(before, bytes) => place::write(cx, place, bytes, ExpectedContent::Unchanged(before.stamp)),
        Action::Remove(before) => place::remove(cx, place, before.stamp),
    }
}

/// Restores a file unless somebody changed it meanwhile; gives its name when that fails.
fn take_back(step: &Step, cx: &Context) -> Option<String> {
    let Step { place, action } = step;
    // What was written left its stamp, what was removed none.
    let result = match (action, cx.stamps.seen(place.path())) {
        (Action::Add(_) | Action::Arrive(..), Some(ours)) => place::remove(cx, place, ours),
        (Action::Update(before, _), Some(ours)) => {
            place::write(cx, place, &before.bytes, ExpectedContent::Unchanged(ours))
        }
        (Action::Remove(before), _) => place::write_with_mode(cx, place, &before.bytes, before.mode),
        (Action::Add(_) | Action::Arrive(..) | Action::Update(..), None) => Ok(()),
    };
    result.err().map(|_| place::shown(cx, place.path()))
}

fn note(error: ToolError, note: &str) -> ToolError {
    match error {
        ToolError::Refused(text) => ToolError::Refused(format!("{text}\n{note}")),
        ToolError::Broken(source) => ToolError::broken(format!("{source}; {note}")),
    }
}
