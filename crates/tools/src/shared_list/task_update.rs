//! Changes an item.

use protocol::{Clip, ItemId, ItemStatus, tool_name};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::args::TypedTool;
use crate::{ItemEdit, RequiredPermission, ToolAccess, ToolContext, ToolError, ToolOutput, ToolPlace};

/// The `TaskUpdate` tool.
pub(crate) struct TaskUpdate;

/// The arguments of `TaskUpdate`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TaskUpdateArgs {
    /// The number of the item.
    #[serde(rename = "taskId")]
    task_id: String,
    /// The work to do, in one line.
    subject: Option<String>,
    /// What its owner must know.
    description: Option<String>,
    /// The work in progress, as a phrase.
    #[serde(rename = "activeForm")]
    active_form: Option<String>,
    /// `pending`, `in_progress`, `completed` or `deleted`.
    status: Option<String>,
    /// More items that wait for this one.
    #[serde(rename = "addBlocks", default)]
    add_blocks: Vec<String>,
    /// More items that this one waits for.
    #[serde(rename = "addBlockedBy", default)]
    add_blocked_by: Vec<String>,
    /// The owner: an agent's name.
    owner: Option<String>,
    /// Fields to set; `null` removes one.
    #[serde(default)]
    metadata: Map<String, Value>,
}

impl TypedTool for TaskUpdate {
    type Args = TaskUpdateArgs;
    const NAME: &'static str = tool_name::TASK_UPDATE;
    const ABOUT: &'static str = include_str!("task_update.md");
    const ACCESS: ToolAccess = ToolAccess::Session;

    fn place(_args: &TaskUpdateArgs) -> ToolPlace {
        ToolPlace::Session
    }

    fn required_permissions(args: &TaskUpdateArgs) -> Result<Vec<RequiredPermission>, ToolError> {
        parse_status(args.status.as_deref())?;
        Ok(vec![RequiredPermission::Session])
    }

    async fn run(args: TaskUpdateArgs, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let edit = ItemEdit {
            status: parse_status(args.status.as_deref())?,
            add_blocks: parse_ids(&args.add_blocks)?,
            add_blocked_by: parse_ids(&args.add_blocked_by)?,
            subject: args.subject,
            description: args.description,
            active_form: args.active_form,
            owner: args.owner,
            metadata: args.metadata,
        };
        Ok(ToolOutput::text(&cx.session()?.shared_list.update(parse_id(&args.task_id)?, edit).await?, cx))
    }
}

fn parse_status(name: Option<&str>) -> Result<Option<ItemStatus>, ToolError> {
    let Some(name) = name else { return Ok(None) };
    let known = ItemStatus::ALL.map(ItemStatus::as_str).join(", ");
    let unknown = || {
        let given = Clip::new(name, 100);
        ToolError::refused(format!("`status` is `{given}`; use only: {known}"))
    };
    ItemStatus::from_name(name).map(Some).ok_or_else(unknown)
}

fn parse_ids(given: &[String]) -> Result<Vec<ItemId>, ToolError> {
    given.iter().map(|given| parse_id(given)).collect()
}

fn parse_id(given: &str) -> Result<ItemId, ToolError> {
    given.parse().map_err(|_not_a_number| ToolError::refused(format!("Task not found: {}", Clip::new(given, 100))))
}
