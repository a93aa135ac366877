//! Creates a file.

use host::ExpectedContent;
use protocol::tool_name;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::args::TypedTool;
use crate::workspace_files::{self, changed_output};
use crate::{FileAccess, RequiredPermission, ToolAccess, ToolContext, ToolError, ToolOutput};

/// The `create` tool.
pub(crate) struct CreateTool;

/// The arguments of `create`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateArgs {
    /// The new file.
    path: String,
    /// Its whole text.
    content: String,
}

impl TypedTool for CreateTool {
    type Args = CreateArgs;
    const NAME: &'static str = tool_name::CREATE;
    const ABOUT: &'static str = include_str!("create.md");
    const ACCESS: ToolAccess = ToolAccess::Write;

    fn required_permissions(args: &CreateArgs) -> Result<Vec<RequiredPermission>, ToolError> {
        Ok(vec![RequiredPermission::Edit(args.path.clone())])
    }

    async fn run(args: CreateArgs, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        workspace_files::blocking(cx, move |cx| {
            let place = workspace_files::resolve(cx, &args.path, FileAccess::Edit)?;
            let (expect, verb) = match cx.stamps.last_seen(place.path()) {
                Some(stamp) if place.exists() => (ExpectedContent::Unchanged(stamp), "replaced"),
                Some(_) | None => (ExpectedContent::New, "created"),
            };
            workspace_files::write(cx, &place, args.content.as_bytes(), expect)?;
            let lines = match args.content.lines().count() {
                1 => "1 line".to_owned(),
                count => format!("{count} lines"),
            };
            let text = format!("{verb} {} ({lines})", workspace_files::display_path(cx, place.path()));
            Ok(changed_output(cx, &text, [place.path()]))
        })
        .await
    }
}
