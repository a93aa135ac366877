//! Runs SQL on the session's own tables.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::args::Typed;
use crate::{Access, Context, Need, Output, ToolError};

/// The `sql` tool.
pub(crate) struct Sql;

/// The arguments of `sql`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// One or more SQLite statements.
    query: String,
}

impl Typed for Sql {
    type Args = Args;
    const NAME: &'static str = "sql";
    const ABOUT: &'static str = include_str!("sql.md");
    const ACCESS: Access = Access::Session;

    fn needs(_args: &Args) -> Result<Vec<Need>, ToolError> {
        Ok(vec![Need::Session])
    }

    async fn run(args: Args, cx: &Context) -> Result<Output, ToolError> {
        if args.query.trim().is_empty() {
            return Err(ToolError::refused("`query` is empty; give at least one statement"));
        }
        let rows = cx.sql.execute(args.query).await?;
        Ok(Output::text(&rows, cx))
    }
}
