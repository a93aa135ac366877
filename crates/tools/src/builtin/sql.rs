//! Runs SQL on the session's own tables.

use protocol::tool_name;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::args::TypedTool;
use crate::{RequiredPermission, ToolAccess, ToolContext, ToolError, ToolOutput, ToolPlace};

/// The `sql` tool.
pub(crate) struct SqlTool;

/// The arguments of `sql`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SqlArgs {
    /// One or more SQLite statements.
    query: String,
    /// What they do, in a few words, for people.
    #[serde(rename = "description")]
    _description: Option<String>,
}

impl TypedTool for SqlTool {
    type Args = SqlArgs;
    const NAME: &'static str = tool_name::SQL;
    const ABOUT: &'static str = include_str!("sql.md");
    const ACCESS: ToolAccess = ToolAccess::Session;

    fn place(_args: &SqlArgs) -> ToolPlace {
        ToolPlace::Session
    }

    fn required_permissions(_args: &SqlArgs) -> Result<Vec<RequiredPermission>, ToolError> {
        Ok(vec![RequiredPermission::Session])
    }

    async fn run(args: SqlArgs, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        if args.query.trim().is_empty() {
            return Err(ToolError::refused("`query` is empty; give at least one statement"));
        }
        let rows = cx.session()?.sql.execute(args.query).await?;
        Ok(ToolOutput::text(&rows, cx))
    }
}
