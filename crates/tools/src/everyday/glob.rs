//! Finds files by name.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::args::Typed;
use crate::walk::{Pattern, Stop, Walk};
use crate::{Access, Context, Need, Output, ToolError, place};

/// The `glob` tool.
pub(crate) struct Glob;

/// The arguments of `glob`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// E.g. `*.md` (at any depth) or `src/**/*.rs`.
    pattern: String,
    /// Folder to look in; the working folder by default.
    path: Option<String>,
    /// Most files given.
    limit: Option<usize>,
}

impl Typed for Glob {
    type Args = Args;
    const NAME: &'static str = "glob";
    const ABOUT: &'static str = include_str!("glob.md");
    const ACCESS: Access = Access::Read;

    fn needs(args: &Args) -> Result<Vec<Need>, ToolError> {
        Ok(vec![Need::Read(args.path.clone().unwrap_or_else(|| ".".into()))])
    }

    async fn run(args: Args, cx: &Context) -> Result<Output, ToolError> {
        place::blocking(cx, move |cx| {
            let pattern = Pattern::new(&args.pattern)?;
            let root = place::existing(cx, args.path.as_deref().unwrap_or("."))?;
            let stop = Stop::new(cx);
            let mut walk = Walk::new(cx, &root, Some(&pattern), stop.clone());
            let mut text = listed(&mut walk, args.limit.unwrap_or(cx.limits.rows).max(1), cx);
            text += &place::left_out(walk.left_out());
            if stop.is_due() {
                text += "[stopped before the end; narrow `path`]\n";
            }
            Ok(Output::text(if text.is_empty() { "no files match" } else { &text }, cx))
        })
        .await
    }
}

fn listed(walk: &mut Walk<'_>, limit: usize, cx: &Context) -> String {
    let mut text = String::new();
    for (count, file) in walk.enumerate() {
        if count == limit || text.len() >= place::room(cx) {
            text += &format!("[stopped at {count} files; narrow the pattern or raise `limit`]\n");
            break;
        }
        text += &format!("{}\n", place::shown(cx, file.path()));
    }
    text
}
