//! Applies a patch to several files: all of it or none of it.

use std::collections::HashSet;
use std::path::PathBuf;

use host::{ExpectedContent, FileStamp};
use protocol::tool_name;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::args::TypedTool;
use crate::patch::{Hunk, PatchChange, parse};
use crate::patch::{HunkFit, apply};
use crate::refusal::stale_refusal;
use crate::workspace_files::{self, PermittedPath, changed_output};
use crate::{FileAccess, RequiredPermission, ToolAccess, ToolContext, ToolError, ToolOutput};

/// The `apply_patch` tool.
pub(crate) struct ApplyPatch;

/// The arguments of `apply_patch`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ApplyPatchArgs {
    /// The whole patch.
    patch: String,
}

impl TypedTool for ApplyPatch {
    type Args = ApplyPatchArgs;
    const NAME: &'static str = tool_name::APPLY_PATCH;
    const ABOUT: &'static str = include_str!("apply_patch.md");
    const ACCESS: ToolAccess = ToolAccess::Write;

    fn required_permissions(args: &ApplyPatchArgs) -> Result<Vec<RequiredPermission>, ToolError> {
        let changes = parse(&args.patch).map_err(|error| ToolError::Refused(error.to_string()))?;
        // A patch reveals the text it matches, and a moved file may be readable at its new path.
        let reads =
            changes.iter().filter_map(PatchChange::source).map(|path| RequiredPermission::Read(path.to_owned()));
        let edits = changes.iter().flat_map(PatchChange::paths).map(|path| RequiredPermission::Edit(path.to_owned()));
        Ok(reads.chain(edits).collect())
    }

    async fn run(args: ApplyPatchArgs, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        workspace_files::blocking(cx, move |cx| {
            let changes = parse(&args.patch).map_err(|error| ToolError::Refused(error.to_string()))?;
            let steps = plan(&changes, cx).map_err(|error| with_note(error, "no file was changed"))?;
            perform(&steps, cx)?;
            let text: Vec<String> = steps.iter().map(|step| step.describe(cx)).collect();
            Ok(changed_output(cx, &text.join("\n"), steps.iter().map(|step| step.target.path())))
        })
        .await
    }
}

/// One file to write or remove, checked and computed.
struct PatchStep {
    target: PermittedPath,
    action: PatchAction,
}

enum PatchAction {
    Add(Vec<u8>),
    /// The new path of a moved file, which keeps its mode.
    AddMoved(Vec<u8>, u32),
    Update(OriginalFile, Vec<u8>),
    Remove(OriginalFile),
}

/// A file as it was before the patch.
struct OriginalFile {
    bytes: Vec<u8>,
    stamp: FileStamp,
    mode: u32,
}

impl PatchStep {
    fn describe(&self, cx: &ToolContext) -> String {
        let verb = match self.action {
            PatchAction::Add(_) | PatchAction::AddMoved(..) => "added",
            PatchAction::Update(..) => "updated",
            PatchAction::Remove(_) => "removed",
        };
        format!("{verb} {}", workspace_files::display_path(cx, self.target.path()))
    }
}

/// Checks every change and computes every file, in the order they will be made: writes first, removals last.
fn plan(changes: &[PatchChange], cx: &ToolContext) -> Result<Vec<PatchStep>, ToolError> {
    let mut steps = Vec::new();
    for change in changes {
        match change {
            PatchChange::Add { path, lines } => steps.push(plan_add(path, lines, cx)?),
            PatchChange::Update { path, to, hunks } => steps.extend(plan_update(path, to.as_deref(), hunks, cx)?),
            PatchChange::Delete { path } => steps.push(plan_delete(path, cx)?),
        }
    }
    let mut paths: HashSet<PathBuf> = HashSet::new();
    if let Some(step) = steps.iter().find(|step| !paths.insert(step.target.path().to_owned())) {
        let shown = workspace_files::display_path(cx, step.target.path());
        return Err(ToolError::Refused(format!("{shown} occurs twice in the patch; put its changes into one section")));
    }
    steps.sort_by_key(|step| matches!(step.action, PatchAction::Remove(_)));
    Ok(steps)
}

fn plan_add(path: &str, lines: &[String], cx: &ToolContext) -> Result<PatchStep, ToolError> {
    let target = resolve_new_path(path, cx)?;
    let text: String = lines.iter().flat_map(|line| [line, "\n"]).collect();
    Ok(PatchStep { target, action: PatchAction::Add(text.into_bytes()) })
}

fn resolve_new_path(path: &str, cx: &ToolContext) -> Result<PermittedPath, ToolError> {
    let path_to_create = workspace_files::resolve(cx, path, FileAccess::Edit)?;
    if path_to_create.exists() {
        return Err(ToolError::Refused(format!("{path} already exists; use `*** Update File` or another name")));
    }
    Ok(path_to_create)
}

fn plan_update(path: &str, to: Option<&str>, hunks: &[Hunk], cx: &ToolContext) -> Result<Vec<PatchStep>, ToolError> {
    let (target, before, view_state) = read_existing(path, cx)?;
    let patched = apply(&before.bytes, hunks).map_err(|error| ToolError::Refused(format!("{path}: {error}")))?;
    if view_state == FileViewState::Unseen && (patched.fit != HunkFit::Exact || hunks.is_empty()) {
        let text = format!("{path} was not viewed yet, and the patch does not match it exactly; view it first");
        return Err(ToolError::Refused(text));
    }
    Ok(match to {
        None => vec![PatchStep { target, action: PatchAction::Update(before, patched.bytes) }],
        Some(to) => vec![
            PatchStep { target: resolve_new_path(to, cx)?, action: PatchAction::AddMoved(patched.bytes, before.mode) },
            PatchStep { target, action: PatchAction::Remove(before) },
        ],
    })
}

fn plan_delete(path: &str, cx: &ToolContext) -> Result<PatchStep, ToolError> {
    let (place, before, view_state) = read_existing(path, cx)?;
    if view_state == FileViewState::Unseen {
        return Err(ToolError::Refused(format!("{path} was not viewed yet; view it before you delete it")));
    }
    Ok(PatchStep { target: place, action: PatchAction::Remove(before) })
}

/// Whether the agent has viewed the current content of a file.
#[derive(PartialEq, Eq)]
enum FileViewState {
    Current,
    Unseen,
}

fn read_existing(path: &str, cx: &ToolContext) -> Result<(PermittedPath, OriginalFile, FileViewState), ToolError> {
    let place = workspace_files::resolve(cx, path, FileAccess::Edit)?;
    let file = workspace_files::read(cx, &place)?;
    let view_state = match cx.stamps.last_seen(place.path()) {
        None => FileViewState::Unseen,
        Some(stamp) if stamp == file.stamp => FileViewState::Current,
        Some(_) => return Err(stale_refusal(&workspace_files::display_path(cx, place.path()))),
    };
    Ok((place, OriginalFile { bytes: file.bytes, stamp: file.stamp, mode: file.mode }, view_state))
}

/// Makes the changes; when one fails, reverts the ones made before it.
fn perform(steps: &[PatchStep], cx: &ToolContext) -> Result<(), ToolError> {
    for (count, step) in steps.iter().enumerate() {
        if let Err(error) = apply_step(step, cx) {
            let failed: Vec<String> = steps[..count].iter().rev().filter_map(|step| revert_step(step, cx)).collect();
            return Err(if failed.is_empty() {
                with_note(error, "no file was changed: the changes already made were reverted")
            } else {
                with_note(error, &format!("these files could not be reverted and stay changed: {}", failed.join(", ")))
            });
        }
    }
    Ok(())
}

fn apply_step(step: &PatchStep, cx: &ToolContext) -> Result<(), ToolError> {
    let PatchStep { target: place, action } = step;
    match action {
        PatchAction::Add(bytes) => workspace_files::write(cx, place, bytes, ExpectedContent::New),
        PatchAction::AddMoved(bytes, mode) => workspace_files::write_with_mode(cx, place, bytes, *mode),
        PatchAction::Update(before, bytes) => {
            workspace_files::write(cx, place, bytes, ExpectedContent::Unchanged(before.stamp))
        }
        PatchAction::Remove(before) => workspace_files::remove(cx, place, before.stamp),
    }
}

/// Restores a file unless it was changed meanwhile; returns its path when that fails.
fn revert_step(step: &PatchStep, cx: &ToolContext) -> Option<String> {
    let PatchStep { target: place, action } = step;
    // A written file has a stamp; a removed one has none.
    let result = match (action, cx.stamps.last_seen(place.path())) {
        (PatchAction::Add(_) | PatchAction::AddMoved(..), Some(ours)) => workspace_files::remove(cx, place, ours),
        (PatchAction::Update(before, _), Some(ours)) => {
            workspace_files::write(cx, place, &before.bytes, ExpectedContent::Unchanged(ours))
        }
        (PatchAction::Remove(before), _) => workspace_files::write_with_mode(cx, place, &before.bytes, before.mode),
        (PatchAction::Add(_) | PatchAction::AddMoved(..) | PatchAction::Update(..), None) => Ok(()),
    };
    result.err().map(|_| workspace_files::display_path(cx, place.path()))
}

fn with_note(error: ToolError, note: &str) -> ToolError {
    match error {
        ToolError::Refused(text) => ToolError::Refused(format!("{text}\n{note}")),
        rejected @ ToolError::Rejected(_) => rejected,
        ToolError::Failed(source) => ToolError::failed(format!("{source}; {note}")),
    }
}
