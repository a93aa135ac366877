//! Shows a file or a folder.

use std::io::BufRead;

use host::EntryKind;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::args::Typed;
use crate::place::{self, Granted, Opened, Reader};
use crate::text::{Ask, End, Window, binary_kind, window};
use crate::{Access, Context, Need, Output, ToolError, Use};

/// The `view` tool.
pub(crate) struct View;

/// The arguments of `view`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// File or folder.
    path: String,
    /// First line, from 1.
    offset: Option<u64>,
    /// Most lines.
    limit: Option<usize>,
}

impl Typed for View {
    type Args = Args;
    const NAME: &'static str = "view";
    const ABOUT: &'static str = include_str!("view.md");
    const ACCESS: Access = Access::Read;

    fn needs(args: &Args) -> Result<Vec<Need>, ToolError> {
        Ok(vec![Need::Read(args.path.clone())])
    }

    async fn run(args: Args, cx: &Context) -> Result<Output, ToolError> {
        place::blocking(cx, move |cx| {
            let place = place::resolve(cx, &args.path, Use::Read)?;
            match place::open(cx, &place)? {
                Opened::Folder => list(&place, cx),
                Opened::File(file) => show(&args, &place, file, cx),
            }
        })
        .await
    }
}

/// How much of a file's start tells whether it is text.
const START: usize = 8 * 1024;

fn show(args: &Args, place: &Granted, mut file: Reader, cx: &Context) -> Result<Output, ToolError> {
    let size = file.stamp.size();
    let unreadable = |error| ToolError::Refused(format!("cannot read {}: {error}", place::shown(cx, place.path())));
    let start = file.bytes.fill_buf().map_err(unreadable)?;
    if let Some(kind) = binary_kind(&start[..start.len().min(START)]) {
        let shown = place::shown(cx, place.path());
        return Err(ToolError::Refused(format!("{shown} is not text: {kind}, {size} bytes")));
    }
    let ask = Ask {
        first: args.offset.unwrap_or(1).max(1),
        lines: args.limit.unwrap_or(cx.limits.view_lines).min(cx.limits.view_lines).max(1),
        line: cx.limits.line,
        room: place::room(cx),
        scan: cx.limits.scan,
    };
    let seen = window(&mut file.bytes, ask).map_err(unreadable)?;
    let text = told(&seen, ask, size)?;
    cx.stamps.record(place.path(), file.stamp);
    Ok(Output::text(&text, cx))
}

fn told(seen: &Window, ask: Ask, size: u64) -> Result<String, ToolError> {
    if seen.text.is_empty() {
        return nothing_seen(seen, ask);
    }
    let note = match seen.end {
        End::File if ask.first == 1 => String::new(),
        End::File => format!("[end of file at line {}]\n", seen.last),
        End::Full => format!("[more lines follow in this file of {size} bytes; go on with offset {}]\n", seen.last + 1),
        End::Scanned => format!("[stopped after {} of {size} bytes; use the shell to go further]\n", ask.scan),
    };
    Ok(format!("{}{note}", seen.text))
}

fn nothing_seen(seen: &Window, ask: Ask) -> Result<String, ToolError> {
    match seen.end {
        End::File if seen.last == 0 => Ok("[empty file]".to_owned()),
        End::File => {
            Err(ToolError::Refused(format!("offset {} is past the end; the last line is {}", ask.first, seen.last)))
        }
        End::Full | End::Scanned => Err(ToolError::Refused(format!(
            "line {} was not reached within {} bytes; use the shell, for example `tail -c` or `sed -n`",
            ask.first, ask.scan
        ))),
    }
}

fn list(folder: &Granted, cx: &Context) -> Result<Output, ToolError> {
    let shown = place::shown(cx, folder.path());
    let mut names = Vec::new();
    let mut left_out = 0;
    for entry in place::list(cx, folder)? {
        let entry = entry.map_err(|error| ToolError::Refused(format!("cannot list {shown}: {error}")))?;
        if cx.reach.check(&folder.path().join(&entry.name), Use::Read).is_ok() {
            let mark = match entry.kind {
                EntryKind::Folder => "/",
                EntryKind::Link => "@",
                EntryKind::File | EntryKind::Other => "",
            };
            names.push(format!("{}{mark}", place::one_line(&entry.name.to_string_lossy())));
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
    text += &place::left_out(left_out);
    Ok(Output::text(&text, cx))
}
