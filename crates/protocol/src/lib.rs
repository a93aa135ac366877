//! The types that all other crates share: ids, events, conversation content, task states, and the API's method table.
//! Data only: nothing here waits, reads a clock or touches the machine.

#![deny(missing_docs)]

mod agent;
pub mod api;
mod ask;
mod clip;
mod denial;
pub mod diff;
mod event;
mod external_task;
mod front_matter;
mod hidden_tasks;
mod hook;
mod id;
mod list;
mod mail;
mod mcp_server;
mod mcp_task;
mod mcp_tool_name;
mod merge_summary;
mod message;
mod mode;
mod model_name;
mod price;
mod quoted_text;
mod refusal;
mod rule;
mod seconds;
mod session_options;
mod slash;
mod task;
mod task_lookup;
mod task_type;
pub mod text;
mod timestamp;
mod todo;
mod tool_description;
mod tool_table;
mod usage;
mod usd;

pub use agent::{AgentSpec, DEFAULT_AGENT, DefinitionId, DefinitionSource, ModelPreference, SkillSpec, SpawnPolicy};
pub use ask::{Ask, AskDecision, AskId, AskSubject, DecidedBy};
pub use clip::{Clip, clip_middle};
pub use denial::{denial_reason, denial_text};
pub use event::{
    AgentLimits, Compaction, CompactionCause, Envelope, Event, LogEntry, ModelFault, RetryPlan, SessionConfig, WaitEnd,
};
pub use external_task::{
    ExternalActivity, ExternalReport, ExternalTaskEnd, ExternalTaskId, ExternalTaskProgress, ExternalTaskSpec,
};
pub use front_matter::FrontMatter;
pub use hidden_tasks::HiddenTasks;
pub use hook::{HookAction, HookDialect, HookEvent, HookFailure, HookProgram, HookSpec};
pub use id::{Fence, IdError, MailId, SessionId, TaskId, Turn};
pub use list::{
    ItemId, ItemStatus, ListAddress, ListAddressError, ListItem, ListName, ListNameError, format_item_cycle,
};
pub use mail::{MailBody, MailDelivery, Principal};
pub use mcp_server::{ForeignMcpServer, McpOAuthGrant, McpOAuthSpec, McpServerKind, McpServerSpec};
pub use mcp_task::{McpProgress, McpRemoteTask, McpTaskForm, McpTaskReport, McpTaskSpec, McpTaskStatus};
pub use mcp_tool_name::{MCP_TOOL_PREFIX, mcp_name_pattern, mcp_tool_name};
pub use merge_summary::{LeftoverCheckout, MergeDestination, MergeSummary, TodoMergeOutcome, TodoMergeResult};
pub use message::{
    CallId, ContentBlock, Image, ReasoningEffort, StopReason, ToolCallRequest, ToolResult, ToolResultStatus,
};
pub use mode::{AutopilotStop, FLEET_DEPLOYED, ObjectiveReport, PlanAction, SessionMode};
pub use model_name::{is_file_provider, model_display_name};
pub use price::{Price, QuotedTokens, TurnQuote};
pub use quoted_text::{quote, quote_within, strip_quote_marks, unquote};
pub use refusal::{Hinted, Refusal};
pub use rule::{PermissionMode, RuleEffect, RuleText};
pub use seconds::Seconds;
pub use session_options::{SessionOptions, SettingsFileScope};
pub use slash::{SlashSpec, TerminalCommand};
pub use task::{
    Activation, Attempt, CancelBy, CancelMode, CompletionPolicy, Evidence, Expectations, FailKind, Isolation,
    LimitKind, ModelUse, ParkReason, PlaceName, QuestionSpec, RunId, StopBlocker, TaskMode, TaskOutcome, TaskSpec,
    TaskState, TaskStatus, WaitMode, WrapUpReason,
};
pub use task_lookup::{NamedTask, TaskLookupError, find_task};
pub use task_type::{EndReport, OwnerLoss, TaskForm, TaskType};
pub use timestamp::{Timestamp, format_age};
pub use todo::{
    BlockReason, FleetConfig, FleetEnd, FleetStopReason, ReusedResult, Todo, TodoId, TodoStatus, format_cycle,
};
pub use tool_description::ToolDescription;
pub use tool_table::{
    ArgumentAlias, ArgumentEncoding, AtOnce, RULE_FAMILIES, RuleFamily, TOOLS, ToolClass, ToolEntry, ToolGroup,
    find_tool, rule_family, tool_name,
};
pub use usage::{Budget, Cost, Usage};
pub use usd::{Usd, parse_usd};
