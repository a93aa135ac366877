//! Shows a file or a folder.

use std::io::BufRead;

use host::EntryKind;
use protocol::tool_name;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::args::TypedTool;
use crate::text::{TextWindow, WindowEnd, WindowRequest, binary_kind, read_window};
use crate::workspace_files::{self, FileReader, OpenedPath, PermittedPath};
use crate::{FileAccess, RequiredPermission, ToolAccess, ToolContext, ToolError, ToolOutput};

/// The `view` tool.
pub(crate) struct ViewTool;

/// The arguments of `view`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ViewArgs {
    /// File or folder.
    path: String,
    /// First line, from 1.
    offset: Option<u64>,
    /// Most lines.
    limit: Option<usize>,
}

impl TypedTool for ViewTool {
    type Args = ViewArgs;
    const NAME: &'static str = tool_name::VIEW;
    const ABOUT: &'static str = include_str!("view.md");
    const ACCESS: ToolAccess = ToolAccess::Read;

    fn required_permissions(args: &ViewArgs) -> Result<Vec<RequiredPermission>, ToolError> {
        Ok(vec![RequiredPermission::Read(args.path.clone())])
    }

    async fn run(args: ViewArgs, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        workspace_files::blocking(cx, move |cx| {
            let place = workspace_files::resolve(cx, &args.path, FileAccess::Read)?;
            match workspace_files::open(cx, &place)? {
                OpenedPath::Folder => list(&place, cx),
                OpenedPath::File(file) => show(&args, &place, file, cx),
            }
        })
        .await
    }
}

/// Bytes at a file's start that decide whether it is text.
const SNIFFED_BYTES: usize = 8 * 1024;

fn show(
    args: &ViewArgs,
    place: &PermittedPath,
    mut file: FileReader,
    cx: &ToolContext,
) -> Result<ToolOutput, ToolError> {
    let size = file.stamp.size();
    let unreadable =
        |error| ToolError::Refused(format!("cannot read {}: {error}", workspace_files::display_path(cx, place.path())));
    let start = file.bytes.fill_buf().map_err(unreadable)?;
    if let Some(kind) = binary_kind(&start[..start.len().min(SNIFFED_BYTES)]) {
        let shown = workspace_files::display_path(cx, place.path());
        return Err(ToolError::Refused(format!("{shown} is not text: {kind}, {size} bytes")));
    }
    let request = WindowRequest {
        first_line: args.offset.unwrap_or(1).max(1),
        max_lines: args.limit.unwrap_or(cx.limits.view_lines).min(cx.limits.view_lines).max(1),
        max_line_bytes: cx.limits.line_bytes,
        max_text_bytes: workspace_files::text_budget(cx),
        max_scan_bytes: cx.limits.scan_bytes,
    };
    let view = read_window(&mut file.bytes, request).map_err(unreadable)?;
    let text = describe_window(&view, request, size)?;
    cx.stamps.record(place.path(), file.stamp);
    Ok(ToolOutput::text(&text, cx))
}

fn describe_window(view: &TextWindow, request: WindowRequest, size: u64) -> Result<String, ToolError> {
    if view.text.is_empty() {
        return describe_empty_window(view, request);
    }
    let note = match view.end {
        WindowEnd::EndOfFile if request.first_line == 1 => String::new(),
        WindowEnd::EndOfFile => format!("[end of file at line {}]\n", view.last_line),
        WindowEnd::Full => {
            format!("[more lines follow in this file of {size} bytes; continue with offset {}]\n", view.last_line + 1)
        }
        WindowEnd::ScanLimit => {
            format!("[stopped after {} of {size} bytes; use the shell for the rest]\n", request.max_scan_bytes)
        }
    };
    Ok(format!("{}{note}", view.text))
}

fn describe_empty_window(view: &TextWindow, request: WindowRequest) -> Result<String, ToolError> {
    match view.end {
        WindowEnd::EndOfFile if view.last_line == 0 => Ok("[empty file]".to_owned()),
        WindowEnd::EndOfFile => Err(ToolError::Refused(format!(
            "offset {} is past the end; the last line is {}",
            request.first_line, view.last_line
        ))),
        WindowEnd::Full | WindowEnd::ScanLimit => Err(ToolError::Refused(format!(
            "line {} was not reached within {} bytes; use the shell, for example `tail -c` or `sed -n`",
            request.first_line, request.max_scan_bytes
        ))),
    }
}

fn list(folder: &PermittedPath, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
    let shown = workspace_files::display_path(cx, folder.path());
    let mut names = Vec::new();
    let mut left_out = 0;
    for entry in workspace_files::list(cx, folder)? {
        let entry = entry.map_err(|error| ToolError::Refused(format!("cannot list {shown}: {error}")))?;
        if cx.access_guard.check(&folder.path().join(&entry.name), FileAccess::Read).is_ok() {
            let mark = match entry.kind {
                EntryKind::Folder => "/",
                EntryKind::Link => "@",
                EntryKind::File | EntryKind::Other => "",
            };
            names.push(format!("{}{mark}", workspace_files::escape_control(&entry.name.to_string_lossy())));
        } else {
            left_out += 1;
        }
    }
    names.sort_unstable();
    let (total, rows) = (names.len(), cx.limits.rows);
    let mut text = format!("{shown}/ has {total} entries\n");
    for name in names.iter().take(rows) {
        text += &format!("{name}\n");
    }
    if total > rows {
        text += &format!("[… {} more; use glob to narrow]\n", total - rows);
    }
    text += &workspace_files::left_out_note(left_out);
    Ok(ToolOutput::text(&text, cx))
}
