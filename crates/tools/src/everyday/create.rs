//! Makes a file.

use host::ExpectedContent;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::args::Typed;
use crate::place::{self, changed};
use crate::{Access, Context, Need, Output, ToolError, Use};

/// The `create` tool.
pub(crate) struct Create;

/// The arguments of `create`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// The new file.
    path: String,
    /// Its whole text.
    content: String,
}

impl Typed for Create {
    type Args = Args;
    const NAME: &'static str = "create";
    const ABOUT: &'static str = include_str!("create.md");
    const ACCESS: Access = Access::Write;

    fn needs(args: &Args) -> Result<Vec<Need>, ToolError> {
        Ok(vec![Need::Edit(args.path.clone())])
    }

    async fn run(args: Args, cx: &Context) -> Result<Output, ToolError> {
        place::blocking(cx, move |cx| {
            let place = place::resolve(cx, &args.path, Use::Edit)?;
            let (expect, verb) = match cx.stamps.seen(place.path()) {
                Some(stamp) if place.exists() => (ExpectedContent::Unchanged(stamp), "replaced"),
                Some(_) | None => (ExpectedContent::New, "created"),
            };
            place::write(cx, &place, args.content.as_bytes(), expect)?;
            let text = format!("{verb} {} ({} lines)", place::shown(cx, place.path()), args.content.lines().count());
            Ok(changed(cx, &text, [place.path()]))
        })
        .await
    }
}
