//! Replaces text in a file.

use host::ExpectedContent;
use protocol::tool_name;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::args::TypedTool;
use crate::refusal::stale_refusal;
use crate::text::{ReplaceScope, replace, snippet};
use crate::workspace_files::{self, changed_output};
use crate::{FileAccess, RequiredPermission, ToolAccess, ToolContext, ToolError, ToolOutput};

/// The `edit` tool.
pub(crate) struct EditTool;

/// The arguments of `edit`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EditArgs {
    /// The file.
    path: String,
    /// The text to replace.
    old: String,
    /// Its replacement.
    new: String,
    /// Replace every occurrence.
    #[serde(default)]
    all: bool,
}

impl TypedTool for EditTool {
    type Args = EditArgs;
    const NAME: &'static str = tool_name::EDIT;
    const ABOUT: &'static str = include_str!("edit.md");
    const ACCESS: ToolAccess = ToolAccess::Write;

    fn required_permissions(args: &EditArgs) -> Result<Vec<RequiredPermission>, ToolError> {
        // The output shows a part of the file.
        Ok(vec![RequiredPermission::Read(args.path.clone()), RequiredPermission::Edit(args.path.clone())])
    }

    async fn run(args: EditArgs, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        workspace_files::blocking(cx, move |cx| edit(&args, cx)).await
    }
}

fn edit(args: &EditArgs, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
    let place = workspace_files::resolve(cx, &args.path, FileAccess::Edit)?;
    let file = workspace_files::read(cx, &place)?;
    let shown = workspace_files::display_path(cx, place.path());
    match cx.stamps.last_seen(place.path()) {
        None => return Err(ToolError::Refused(format!("{shown} was not viewed yet; view it, then edit it"))),
        Some(seen) if seen != file.stamp => return Err(stale_refusal(&shown)),
        Some(_) => {}
    }
    let scope = if args.all { ReplaceScope::All } else { ReplaceScope::Only };
    let bytes = replace(&file.bytes, &args.old, &args.new, scope, cx.limits.file_bytes)
        .map_err(|error| ToolError::Refused(format!("{shown}: {error}")))?;
    workspace_files::write(cx, &place, &bytes, ExpectedContent::Unchanged(file.stamp))?;
    Ok(changed_output(cx, &format!("edited {shown}\n{}", snippet(&file.bytes, &bytes)), [place.path()]))
}
