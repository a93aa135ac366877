//! Finds files by name.

use protocol::tool_name;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::args::TypedTool;
use crate::walk::{FileWalk, GlobPattern, SearchDeadline};
use crate::{RequiredPermission, ToolAccess, ToolContext, ToolError, ToolOutput, workspace_files};

/// The `glob` tool.
pub(crate) struct GlobTool;

/// The arguments of `glob`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GlobArgs {
    /// E.g. `*.md` (at any depth) or `src/**/*.rs`.
    pattern: String,
    /// Folder to look in; the working folder by default.
    path: Option<String>,
    /// Most files.
    limit: Option<usize>,
}

impl TypedTool for GlobTool {
    type Args = GlobArgs;
    const NAME: &'static str = tool_name::GLOB;
    const ABOUT: &'static str = include_str!("glob.md");
    const ACCESS: ToolAccess = ToolAccess::Read;

    fn required_permissions(args: &GlobArgs) -> Result<Vec<RequiredPermission>, ToolError> {
        Ok(vec![RequiredPermission::Read(args.path.clone().unwrap_or_else(|| ".".into()))])
    }

    async fn run(args: GlobArgs, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        workspace_files::blocking(cx, move |cx| {
            let pattern = GlobPattern::new(&args.pattern)?;
            let root = workspace_files::resolve_existing(cx, args.path.as_deref().unwrap_or("."))?;
            let stop = SearchDeadline::new(cx);
            let mut walk = FileWalk::new(cx, &root, Some(&pattern), stop.clone());
            let mut text = list_paths(&mut walk, args.limit.unwrap_or(cx.limits.rows).max(1), cx);
            text += &workspace_files::left_out_note(walk.left_out());
            if stop.is_due() {
                text += "[stopped before the end; narrow `path`]\n";
            }
            Ok(ToolOutput::text(if text.is_empty() { "no files match" } else { &text }, cx))
        })
        .await
    }
}

fn list_paths(walk: &mut FileWalk<'_>, limit: usize, cx: &ToolContext) -> String {
    let mut text = String::new();
    for (count, file) in walk.enumerate() {
        if count == limit || text.len() >= workspace_files::text_budget(cx) {
            text += &format!("[stopped at {count} files; narrow the pattern or raise `limit`]\n");
            break;
        }
        text += &format!("{}\n", workspace_files::display_path(cx, file.path()));
    }
    text
}
