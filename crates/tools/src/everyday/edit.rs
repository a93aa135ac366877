//! Replaces text in a file.

use host::ExpectedContent;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::args::Typed;
use crate::place::{self, changed};
use crate::refusal::stale;
use crate::text::{Which, replace, snippet};
use crate::{Access, Context, Need, Output, ToolError, Use};

/// The `edit` tool.
pub(crate) struct Edit;

/// The arguments of `edit`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// The file.
    path: String,
    /// The text to replace.
    old: String,
    /// The text to put there.
    new: String,
    /// Replace every occurrence.
    #[serde(default)]
    all: bool,
}

impl Typed for Edit {
    type Args = Args;
    const NAME: &'static str = "edit";
    const ABOUT: &'static str = include_str!("edit.md");
    const ACCESS: Access = Access::Write;

    fn needs(args: &Args) -> Result<Vec<Need>, ToolError> {
        // The answer shows a part of the file.
        Ok(vec![Need::Read(args.path.clone()), Need::Edit(args.path.clone())])
    }

    async fn run(args: Args, cx: &Context) -> Result<Output, ToolError> {
        place::blocking(cx, move |cx| edit(&args, cx)).await
    }
}

fn edit(args: &Args, cx: &Context) -> Result<Output, ToolError> {
    let place = place::resolve(cx, &args.path, Use::Edit)?;
    let file = place::read(cx, &place)?;
    let shown = place::shown(cx, place.path());
    match cx.stamps.seen(place.path()) {
        None => return Err(ToolError::Refused(format!("{shown} was not viewed yet; view it, then edit it"))),
        Some(seen) if seen != file.stamp => return Err(stale(&shown)),
        Some(_) => {}
    }
    let which = if args.all { Which::All } else { Which::Only };
    let bytes = replace(&file.bytes, &args.old, &args.new, which, cx.limits.file)
        .map_err(|error| ToolError::Refused(format!("{shown}: {error}")))?;
    place::write(cx, &place, &bytes, ExpectedContent::Unchanged(file.stamp))?;
    Ok(changed(cx, &format!("edited {shown}\n{}", snippet(&file.bytes, &bytes)), [place.path()]))
}
