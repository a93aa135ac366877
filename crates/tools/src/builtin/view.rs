//! Shows a file or a folder.

use std::io::BufRead;

use host::EntryKind;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::args::TypedTool;
use crate::text::{TextWindow, WindowEnd, WindowRequest, binary_kind, window};
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
    const NAME: &'static str = "view";
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
        first: args.offset.unwrap_or(1).max(1),
        lines: args.limit.unwrap_or(cx.limits.view_lines).min(cx.limits.view_lines).max(1),
        line: cx.limits.line,
        room: workspace_files::text_budget(cx),
        scan: cx.limits.scan,
    };
    let seen = window(&mut file.bytes, request).map_err(unreadable)?;
    let text = describe_window(&seen, request, size)?;
    cx.stamps.record(place.path(), file.stamp);
    Ok(ToolOutput::text(&text, cx))
}

fn describe_window(seen: &TextWindow, request: WindowRequest, size: u64) -> Result<String, ToolError> {
    if seen.text.is_empty() {
        return describe_empty_window(seen, request);
    }
    let note = match seen.end {
        WindowEnd::File if request.first == 1 => String::new(),
        WindowEnd::File => format!("[end of file at line {}]\n", seen.last),
        WindowEnd::Full => {
            format!("[more lines follow in this file of {size} bytes; continue with offset {}]\n", seen.last + 1)
        }
        WindowEnd::Scanned => format!("[stopped after {} of {size} bytes; use the shell for the rest]\n", request.scan),
    };
    Ok(format!("{}{note}", seen.text))
}

fn describe_empty_window(seen: &TextWindow, request: WindowRequest) -> Result<String, ToolError> {
    match seen.end {
        WindowEnd::File if seen.last == 0 => Ok("[empty file]".to_owned()),
        WindowEnd::File => {
            Err(ToolError::Refused(format!("offset {} is past the end; the last line is {}", request.first, seen.last)))
        }
        WindowEnd::Full | WindowEnd::Scanned => Err(ToolError::Refused(format!(
            "line {} was not reached within {} bytes; use the shell, for example `tail -c` or `sed -n`",
            request.first, request.scan
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
            names.push(format!("{}{mark}", workspace_files::one_line(&entry.name.to_string_lossy())));
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
