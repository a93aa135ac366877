//! The route table: the whole HTTP API.

use hyper::Method as Verb;
use protocol::api::{
    AddMcpServerParams, AddRuleParams, AddRuleResult, AddTrustParams, AgentResult, AgentsResult, AllAsksParams,
    AllAsksResult, AskModelParams, AskModelResult, AsksParams, AsksResult, BeginFleetParams, CatalogFoldersResult,
    CatalogProblems, CatalogView, CheckoutParams, CheckoutsResult, CollectParams, CollectResult, CommandFate,
    ContextView, CutConversationParams, DefinitionParams, DoctorResult, EventsPage, EventsParams, ExplainParams,
    ExplanationView, ExportParams, ExportResult, FindSkillsParams, FleetParams, FleetResult, FleetStatusResult,
    FolderParams, FoundSession, FullDefinition, ImportItemsResult, ImportSettingsParams, ImportSettingsResult,
    InvokeSlashResult, ItemsResult, ListExport, McpDefinitionsResult, McpLogResult, McpServerNameParams,
    McpServersResult, McpSettingsFile, McpTestResult, Method, ModeParams, ModelParams, ModelsResult, MovedCheckout,
    NewTodo, OutputResult, PermissionParams, PlanParams, PlanResult, ProjectTrust, PromptSuggestion,
    ReloadSkillsResult, RemoveMcpServerParams, RemoveTrustResult, RenameSessionParams, RepairResult, ResumeFleetParams,
    RewindParams, RewindPoints, RewindPreview, RewindPreviewParams, RewindResult, RulesParams, RunShellParams,
    RunShellResult, SelectAgentParams, SendResult, SessionCommand, SessionIdParams, SessionPrefixParams, SessionView,
    SessionWaitParams, SessionWaitResult, SessionsOfTask, SessionsPage, SessionsParams, SetMcpServersParams,
    SetMcpServersResult, SettingsFiles, SettingsParams, SettingsView, SkillsResult, SlashList, StartAgentParams,
    StartAgentResult, TaskPrefixParams, TaskRecord, TaskWaitResult, TasksPage, TasksParams, TestMcpServerParams,
    TodayUsage, TodoEdits, TodoIds, TodoView, TodosPage, TodosParams, ToggleMcpServerParams, ToggleSkillParams,
    TrustedProjects, UncommittedFiles, UsageParams, UsageReport,
};
use protocol::{ListItem, SessionOptions};

use super::payloads::{
    ArchiveBody, CommandInput, DecisionBody, EventsQuery, ImportBody, ItemPatch, ItemsQuery, MessageBody, NewItemBody,
    ServerInfo, StopOptions, TaskWaitQuery, TodoPatch,
};
use super::route::{Route, RouteAction, RouteInput, RouteOutput};

macro_rules! routes {
    ($($verb:ident $path:literal, $name:literal, $takes:expr, $gives:expr, $act:expr, $about:literal;)*) => {
        /// Every route, in the order that the docs list them.
        pub(super) static ROUTES: &[Route] = &[
            $(Route {
                verb: Verb::$verb,
                path: $path,
                name: $name,
                about: $about,
                takes: $takes,
                gives: $gives,
                act: $act,
            },)*
        ];

        /// The types of each route, in the same order.
        pub(super) mod schemas {
            // The same rows, with types in place of parsers.
            use super::super::route_schemas::{RouteInput, RouteOutput, RouteSchemas};
            use super::*;

            pub(in crate::http) fn route_schemas() -> Vec<RouteSchemas> {
                vec![$(RouteSchemas { takes: $takes, gives: $gives },)*]
            }
        }
    };
}

routes! {
    GET "/v1", "getServerInfo", RouteInput::Nothing, RouteOutput::json::<ServerInfo>(), RouteAction::ServerInfo,
        "Describes the server.";
    GET "/v1/openapi.json", "getOpenApi", RouteInput::Nothing, RouteOutput::json::<serde_json::Value>(), RouteAction::OpenApiDocument,
        "Returns this table as an OpenAPI document.";

    GET "/v1/sessions", "listSessions", RouteInput::query::<SessionsParams>(), RouteOutput::json::<SessionsPage>(),
        RouteAction::Call(Method::SessionsList), "Lists sessions, newest first, in pages.";
    GET "/v1/find/session", "findSession", RouteInput::query::<SessionPrefixParams>(), RouteOutput::json::<SessionIdParams>(),
        RouteAction::Call(Method::SessionsFind), "Finds the one session whose id begins with a text.";
    GET "/v1/find/latest-session", "findLatestSession", RouteInput::query::<FolderParams>(), RouteOutput::json::<FoundSession>(),
        RouteAction::Call(Method::SessionsLatest), "Finds the session of a folder with the latest event.";
    GET "/v1/find/task", "findTask", RouteInput::query::<TaskPrefixParams>(), RouteOutput::json::<SessionsOfTask>(),
        RouteAction::Call(Method::TasksFind), "Finds the sessions that have a task whose id begins with a text.";
    POST "/v1/sessions", "beginSession", RouteInput::body::<SessionOptions>(), RouteOutput::created::<SessionView>(), RouteAction::Create,
        "Starts a session, which runs in this server whether or not a client watches it.";
    POST "/v1/fleets", "beginFleet", RouteInput::body::<BeginFleetParams>(), RouteOutput::created::<SessionView>(), RouteAction::BeginFleet,
        "Starts a session with a fleet, for a prompt or from a plan.";
    GET "/v1/sessions/{session}", "getSession", RouteInput::Nothing, RouteOutput::json::<SessionView>(),
        RouteAction::Call(Method::SessionGet),
        "Describes the session: its settings, the process that runs it, and its state.";
    DELETE "/v1/sessions/{session}", "removeSession", RouteInput::Nothing, RouteOutput::Nothing, RouteAction::Remove,
        "Removes a session that no other process runs, with all its data.";
    POST "/v1/sessions/{session}/repair", "repairSession", RouteInput::Nothing, RouteOutput::json::<RepairResult>(),
        RouteAction::Call(Method::SessionsRepair), "Accepts a log as it is, although committed events are missing or differ.";
    GET "/v1/sessions/{session}/export", "exportSession", RouteInput::query::<ExportParams>(), RouteOutput::json::<ExportResult>(),
        RouteAction::Call(Method::SessionExport), "Returns the whole log, as far as it can be read.";
    GET "/v1/sessions/{session}/log", "listEvents", RouteInput::query::<EventsParams>(), RouteOutput::json::<EventsPage>(),
        RouteAction::Call(Method::EventsList), "Lists events, oldest first, in pages.";
    GET "/v1/sessions/{session}/wait", "waitForSession", RouteInput::query::<SessionWaitParams>(),
        RouteOutput::json::<SessionWaitResult>(), RouteAction::Call(Method::SessionWait),
        "Waits until nothing is left to do, or a limit is reached; at most two minutes.";
    POST "/v1/sessions/{session}/command", "giveCommand", RouteInput::body::<SessionCommand>(), RouteOutput::json::<CommandFate>(),
        RouteAction::Call(Method::SessionCommand), "Carries out a command, now or when the session is resumed.";
    POST "/v1/sessions/{session}/messages", "sendMessage", RouteInput::body::<MessageBody>(), RouteOutput::created::<SendResult>(),
        RouteAction::Call(Method::SessionSend), "Sends the session's root a message.";
    POST "/v1/sessions/{session}/interrupt", "interruptSession", RouteInput::Nothing, RouteOutput::Nothing,
        RouteAction::Call(Method::SessionInterrupt), "Stops the running turn; the session stays open.";
    POST "/v1/sessions/{session}/stop", "stopSession", RouteInput::Nothing, RouteOutput::Nothing, RouteAction::Stop,
        "Stops every task and ends the run; the session can be resumed.";
    POST "/v1/sessions/{session}/resume", "resumeSession", RouteInput::body::<SessionOptions>(), RouteOutput::json::<SessionView>(),
        RouteAction::Resume, "Resumes a session that no process runs; a running one stays as it is.";
    POST "/v1/sessions/{session}/fork", "forkSession", RouteInput::body::<SessionOptions>(), RouteOutput::created::<SessionView>(),
        RouteAction::Fork, "Continues in a copy; the original session stays as it is.";
    GET "/v1/sessions/{session}/events", "watchSession", RouteInput::query::<EventsQuery>(), RouteOutput::Events, RouteAction::Watch,
        "Streams the session's events, from a sequence number on.";

    GET "/v1/sessions/{session}/mode", "getMode", RouteInput::Nothing, RouteOutput::json::<ModeParams>(),
        RouteAction::Call(Method::ModeGet), "Returns the session mode.";
    POST "/v1/sessions/{session}/mode", "setMode", RouteInput::body::<ModeParams>(), RouteOutput::Nothing,
        RouteAction::Call(Method::ModeSet), "Changes the session mode.";
    GET "/v1/sessions/{session}/plan", "getPlan", RouteInput::Nothing, RouteOutput::json::<PlanResult>(),
        RouteAction::Call(Method::PlanRead), "Returns the session's plan, if it has one.";
    POST "/v1/sessions/{session}/plan", "setPlan", RouteInput::body::<PlanParams>(), RouteOutput::Nothing,
        RouteAction::Call(Method::PlanUpdate), "Replaces the plan.";
    DELETE "/v1/sessions/{session}/plan", "removePlan", RouteInput::Nothing, RouteOutput::Nothing,
        RouteAction::Call(Method::PlanDelete), "Removes the plan.";
    GET "/v1/sessions/{session}/model", "getModel", RouteInput::Nothing, RouteOutput::json::<ModelParams>(),
        RouteAction::Call(Method::ModelGet), "Returns the root's model.";
    POST "/v1/sessions/{session}/model", "setModel", RouteInput::body::<ModelParams>(), RouteOutput::Nothing,
        RouteAction::Call(Method::ModelSet), "Changes the root's model, from the next turn on.";
    GET "/v1/sessions/{session}/context", "getContext", RouteInput::Nothing, RouteOutput::json::<ContextView>(),
        RouteAction::Call(Method::ContextGet), "Returns what the next request to the root's model consists of.";
    POST "/v1/sessions/{session}/question", "askModel", RouteInput::body::<AskModelParams>(), RouteOutput::json::<AskModelResult>(),
        RouteAction::Call(Method::ModelAsk), "Asks the session's model about the conversation, outside of it.";
    POST "/v1/sessions/{session}/cut", "cutConversation", RouteInput::body::<CutConversationParams>(), RouteOutput::Nothing,
        RouteAction::Call(Method::ConversationCut), "Removes the end of the root's conversation; the log keeps it.";
    POST "/v1/sessions/{session}/title", "renameSession", RouteInput::body::<RenameSessionParams>(), RouteOutput::Nothing,
        RouteAction::Call(Method::SessionRename), "Gives the session a title.";
    POST "/v1/sessions/{session}/suggestion", "suggestPrompt", RouteInput::Nothing, RouteOutput::json::<PromptSuggestion>(),
        RouteAction::Call(Method::PromptSuggest), "Asks a small model what the user may want to say next.";
    GET "/v1/sessions/{session}/rewind", "listRewindPoints", RouteInput::Nothing, RouteOutput::json::<RewindPoints>(),
        RouteAction::Call(Method::RewindPointsList), "Lists the messages of the user that the session can go back to.";
    POST "/v1/sessions/{session}/rewind/preview", "previewRewind", RouteInput::body::<RewindPreviewParams>(), RouteOutput::json::<RewindPreview>(),
        RouteAction::Call(Method::RewindPreview), "Returns what going back would do to files.";
    POST "/v1/sessions/{session}/rewind", "rewind", RouteInput::body::<RewindParams>(), RouteOutput::json::<RewindResult>(),
        RouteAction::Call(Method::RewindApply), "Goes back to an earlier message, in the conversation, in files or in both.";
    POST "/v1/sessions/{session}/permission", "setPermission", RouteInput::body::<PermissionParams>(), RouteOutput::Nothing,
        RouteAction::Call(Method::PermissionSet), "Changes the permission mode, as long as the session runs.";
    POST "/v1/sessions/{session}/rules", "setRules", RouteInput::body::<RulesParams>(), RouteOutput::Nothing,
        RouteAction::Call(Method::RulesSet), "Adds and removes permission rules, as long as the session runs.";
    GET "/v1/sessions/{session}/agent", "getAgent", RouteInput::Nothing, RouteOutput::json::<AgentResult>(),
        RouteAction::Call(Method::AgentGet), "Returns the root's agent definition, if it is not the default one.";
    POST "/v1/sessions/{session}/agent", "selectAgent", RouteInput::body::<SelectAgentParams>(), RouteOutput::json::<AgentResult>(),
        RouteAction::Call(Method::AgentSelect), "Has the root use another agent definition.";
    GET "/v1/sessions/{session}/fleet", "getFleet", RouteInput::Nothing, RouteOutput::json::<FleetStatusResult>(),
        RouteAction::Call(Method::SessionFleetGet), "Returns the latest fleet and its progress.";
    POST "/v1/sessions/{session}/fleet", "startFleet", RouteInput::body::<FleetParams>(), RouteOutput::json::<FleetResult>(),
        RouteAction::Call(Method::SessionFleetStart),
        "Starts a fleet: the root splits a request into todos, and agents do them in parallel.";
    POST "/v1/sessions/{session}/fleet/resume", "resumeFleet", RouteInput::body::<ResumeFleetParams>(), RouteOutput::json::<FleetResult>(),
        RouteAction::Call(Method::SessionFleetResume),
        "Resumes the latest fleet; one that has ended tries its blocked todos again.";
    GET "/v1/sessions/{session}/fleet/uncommitted", "listUncommitted", RouteInput::Nothing, RouteOutput::json::<UncommittedFiles>(),
        RouteAction::Call(Method::SessionFleetUncommitted),
        "Lists the uncommitted files that the workers of the latest fleet do not see.";

    GET "/v1/sessions/{session}/commands", "listCommands", RouteInput::Nothing, RouteOutput::json::<SlashList>(),
        RouteAction::Call(Method::CommandsList), "Lists the slash commands.";
    POST "/v1/sessions/{session}/commands/{name}", "invokeCommand", RouteInput::body::<CommandInput>(),
        RouteOutput::json::<InvokeSlashResult>(), RouteAction::Call(Method::CommandsInvoke),
        "Runs a slash command; a command for the model returns the prompt for the client to send.";
    GET "/v1/sessions/{session}/agents", "listAgents", RouteInput::Nothing, RouteOutput::json::<AgentsResult>(),
        RouteAction::Call(Method::AgentsList), "Lists the agents that can be started.";
    POST "/v1/sessions/{session}/agents", "startAgent", RouteInput::body::<StartAgentParams>(),
        RouteOutput::created::<StartAgentResult>(), RouteAction::Call(Method::AgentsStart),
        "Starts an agent in the background; the root receives its result.";

    GET "/v1/sessions/{session}/skills", "listSkills", RouteInput::Nothing, RouteOutput::json::<SkillsResult>(),
        RouteAction::Call(Method::SkillsList), "Lists the session's skills.";
    POST "/v1/sessions/{session}/skills/toggle", "toggleSkill", RouteInput::body::<ToggleSkillParams>(), RouteOutput::Nothing,
        RouteAction::Call(Method::SkillsToggle), "Switches a skill on or off, as long as the session runs.";
    POST "/v1/sessions/{session}/skills/reload", "reloadSkills", RouteInput::Nothing, RouteOutput::json::<ReloadSkillsResult>(),
        RouteAction::Call(Method::SkillsReload), "Reads the session's skills again.";
    POST "/v1/sessions/{session}/shell", "runShell", RouteInput::body::<RunShellParams>(),
        RouteOutput::created::<RunShellResult>(), RouteAction::Call(Method::ShellRun),
        "Runs a shell command of the user in the background.";

    GET "/v1/sessions/{session}/tasks", "listTasks", RouteInput::query::<TasksParams>(), RouteOutput::json::<TasksPage>(),
        RouteAction::Call(Method::TasksList), "Lists the session's tasks, oldest first, in pages.";
    GET "/v1/sessions/{session}/tasks/{task}", "getTask", RouteInput::Nothing, RouteOutput::json::<TaskRecord>(),
        RouteAction::Call(Method::TasksGet), "Returns the full record of one task.";
    GET "/v1/sessions/{session}/tasks/{task}/output", "getOutput", RouteInput::Nothing, RouteOutput::json::<OutputResult>(),
        RouteAction::Call(Method::TasksOutput), "Returns a task's latest output or message, clipped.";
    GET "/v1/sessions/{session}/tasks/{task}/wait", "waitForTask", RouteInput::query::<TaskWaitQuery>(),
        RouteOutput::json::<TaskWaitResult>(), RouteAction::Call(Method::TasksWait),
        "Waits until a task is at rest; at most two minutes.";
    POST "/v1/sessions/{session}/tasks/{task}/stop", "stopTask", RouteInput::body::<StopOptions>(), RouteOutput::Nothing,
        RouteAction::Call(Method::TasksStop), "Stops a task and everything below it.";
    POST "/v1/sessions/{session}/tasks/{task}/promote", "promoteTask", RouteInput::Nothing, RouteOutput::Nothing,
        RouteAction::Call(Method::TasksPromote), "Moves a task that the root waits for to the background.";
    POST "/v1/sessions/{session}/tasks/{task}/messages", "sendTaskMessage", RouteInput::body::<MessageBody>(),
        RouteOutput::created::<SendResult>(), RouteAction::Call(Method::SessionSend), "Sends a task a message.";
    DELETE "/v1/sessions/{session}/tasks/{task}", "forgetTask", RouteInput::Nothing, RouteOutput::Nothing,
        RouteAction::Call(Method::TasksForget), "Removes the record of a task that has ended.";

    GET "/v1/sessions/{session}/mcp", "listSessionMcpServers", RouteInput::Nothing, RouteOutput::json::<McpServersResult>(),
        RouteAction::Call(Method::SessionMcpList), "Lists the session's MCP servers, with their states and tools.";
    POST "/v1/sessions/{session}/mcp/servers", "setSessionMcpServers", RouteInput::body::<SetMcpServersParams>(),
        RouteOutput::json::<SetMcpServersResult>(), RouteAction::Call(Method::SessionMcpSetServers),
        "Replaces the MCP servers that a client added to the running session.";
    POST "/v1/sessions/{session}/mcp/toggle", "toggleSessionMcpServer", RouteInput::body::<ToggleMcpServerParams>(),
        RouteOutput::Nothing, RouteAction::Call(Method::SessionMcpToggle), "Switches an MCP server of the session on or off.";
    POST "/v1/sessions/{session}/mcp/reconnect", "reconnectSessionMcpServer", RouteInput::body::<McpServerNameParams>(),
        RouteOutput::Nothing, RouteAction::Call(Method::SessionMcpReconnect),
        "Connects to an MCP server, anew if it is connected, and lists its tools.";

    GET "/v1/sessions/{session}/todos", "listTodos", RouteInput::query::<TodosParams>(), RouteOutput::json::<TodosPage>(),
        RouteAction::Call(Method::TodosList), "Lists the session's todos with their dependencies, in pages.";
    POST "/v1/sessions/{session}/todos", "addTodo", RouteInput::body::<NewTodo>(), RouteOutput::created::<TodoView>(),
        RouteAction::Call(Method::TodosAdd), "Adds a todo.";
    PATCH "/v1/sessions/{session}/todos", "editTodos", RouteInput::body::<TodoEdits>(), RouteOutput::json::<TodoIds>(),
        RouteAction::Call(Method::TodosEdit), "Adds and changes several todos, now or when the session is resumed.";
    PATCH "/v1/sessions/{session}/todos/{todo}", "changeTodo", RouteInput::body::<TodoPatch>(), RouteOutput::json::<TodoView>(),
        RouteAction::Call(Method::TodosUpdate), "Changes a todo: its text, dependencies or status.";

    GET "/v1/sessions/{session}/asks", "listAsks", RouteInput::query::<AsksParams>(), RouteOutput::json::<AsksResult>(),
        RouteAction::Call(Method::AsksList), "Lists the asks that wait for a person's decision, oldest first.";
    POST "/v1/sessions/{session}/asks/{ask}", "decideAsk", RouteInput::body::<DecisionBody>(), RouteOutput::Nothing,
        RouteAction::Call(Method::AsksDecide), "Decides one ask: allows or denies a call, or answers a question.";

    GET "/v1/asks", "listAllAsks", RouteInput::query::<AllAsksParams>(), RouteOutput::json::<AllAsksResult>(),
        RouteAction::Call(Method::AsksAll), "Lists the asks of all sessions, oldest first.";
    GET "/v1/usage", "getUsage", RouteInput::query::<UsageParams>(), RouteOutput::json::<UsageReport>(),
        RouteAction::Call(Method::UsageGet), "Adds up what sessions used and spent.";
    GET "/v1/lists/{list}/items", "listItems", RouteInput::query::<ItemsQuery>(), RouteOutput::json::<ItemsResult>(),
        RouteAction::Call(Method::ListsItems), "Lists the items of a shared list.";
    POST "/v1/lists/{list}/items", "addItem", RouteInput::body::<NewItemBody>(), RouteOutput::created::<ListItem>(),
        RouteAction::Call(Method::ListsAdd), "Adds an item.";
    GET "/v1/lists/{list}/items/{item}", "getItem", RouteInput::Nothing, RouteOutput::json::<ListItem>(),
        RouteAction::Call(Method::ListsGet), "Returns one item.";
    PATCH "/v1/lists/{list}/items/{item}", "changeItem", RouteInput::body::<ItemPatch>(), RouteOutput::json::<ListItem>(),
        RouteAction::Call(Method::ListsUpdate), "Changes, completes or deletes an item.";
    POST "/v1/lists/{list}/archive", "archiveItems", RouteInput::body::<ArchiveBody>(), RouteOutput::json::<ItemsResult>(),
        RouteAction::Call(Method::ListsArchive), "Archives a completed item, or all of them.";
    GET "/v1/lists/{list}/export", "exportList", RouteInput::Nothing, RouteOutput::json::<ListExport>(),
        RouteAction::Call(Method::ListsExport), "Returns a list as JSON lines.";
    POST "/v1/lists/{list}/import", "importItems", RouteInput::body::<ImportBody>(), RouteOutput::json::<ImportItemsResult>(),
        RouteAction::Call(Method::ListsImport), "Imports exported items; the later of two versions is kept.";

    GET "/v1/usage/today", "getUsageToday", RouteInput::Nothing, RouteOutput::json::<TodayUsage>(),
        RouteAction::Call(Method::UsageToday), "Returns what all sessions spent today, and the limit of a day.";
    GET "/v1/settings", "getSettings", RouteInput::query::<SettingsParams>(), RouteOutput::json::<SettingsView>(),
        RouteAction::Call(Method::SettingsGet), "Returns the effective settings of a folder, and where each was set.";
    GET "/v1/settings/files", "listSettingsFiles", RouteInput::query::<SettingsParams>(), RouteOutput::json::<SettingsFiles>(),
        RouteAction::Call(Method::SettingsFiles), "Lists the settings files of a folder, strongest first.";
    POST "/v1/settings/rules", "addRule", RouteInput::body::<AddRuleParams>(), RouteOutput::json::<AddRuleResult>(),
        RouteAction::Call(Method::SettingsAddRule), "Adds a permission rule to the user's settings.";
    POST "/v1/settings/import", "importSettings", RouteInput::body::<ImportSettingsParams>(),
        RouteOutput::json::<ImportSettingsResult>(), RouteAction::Call(Method::SettingsImport),
        "Shows what the files of another product become in Bosun, and writes it if wanted.";
    POST "/v1/explain", "explainCall", RouteInput::body::<ExplainParams>(), RouteOutput::json::<ExplanationView>(),
        RouteAction::Call(Method::PermissionsExplain), "Explains whether a call would be allowed, asked about or denied.";
    GET "/v1/trust", "getTrust", RouteInput::query::<SettingsParams>(), RouteOutput::json::<ProjectTrust>(),
        RouteAction::Call(Method::TrustGet), "Returns what the files of a project control, and whether the user trusts them.";
    POST "/v1/trust", "addTrust", RouteInput::body::<AddTrustParams>(), RouteOutput::json::<ProjectTrust>(),
        RouteAction::Call(Method::TrustAdd), "Trusts a project with its current files.";
    DELETE "/v1/trust", "removeTrust", RouteInput::query::<SettingsParams>(), RouteOutput::json::<RemoveTrustResult>(),
        RouteAction::Call(Method::TrustRemove), "Stops trusting a project.";
    GET "/v1/trust/projects", "listTrustedProjects", RouteInput::Nothing, RouteOutput::json::<TrustedProjects>(),
        RouteAction::Call(Method::TrustList), "Lists the projects that the user trusts.";
    GET "/v1/catalog", "getCatalog", RouteInput::query::<SettingsParams>(), RouteOutput::json::<CatalogView>(),
        RouteAction::Call(Method::CatalogList), "Lists the agents, skills, slash commands and plugins of a folder.";
    POST "/v1/catalog/skills", "findSkills", RouteInput::body::<FindSkillsParams>(), RouteOutput::json::<SkillsResult>(),
        RouteAction::Call(Method::CatalogSkills), "Lists the skills of a folder, as a session in it would have them.";
    GET "/v1/catalog/folders", "listCatalogFolders", RouteInput::query::<SettingsParams>(),
        RouteOutput::json::<CatalogFoldersResult>(), RouteAction::Call(Method::CatalogFolders),
        "Lists the folders in which the agents and skills of a folder are looked for.";
    GET "/v1/catalog/definition", "getDefinition", RouteInput::query::<DefinitionParams>(), RouteOutput::json::<FullDefinition>(),
        RouteAction::Call(Method::CatalogGet), "Returns one agent, skill or slash command in full.";
    GET "/v1/catalog/problems", "listProblems", RouteInput::query::<SettingsParams>(), RouteOutput::json::<CatalogProblems>(),
        RouteAction::Call(Method::CatalogCheck), "Lists the problems of definitions, each with its remedy.";
    GET "/v1/models", "listModels", RouteInput::query::<SettingsParams>(), RouteOutput::json::<ModelsResult>(),
        RouteAction::Call(Method::ModelsList), "Lists the providers, their models, and those that are not asked now.";
    POST "/v1/models/reopen", "reopenModels", RouteInput::Nothing, RouteOutput::Nothing,
        RouteAction::Call(Method::ModelsReopen), "Forgets which providers asked to wait.";
    GET "/v1/mcp", "listMcpServers", RouteInput::query::<SettingsParams>(), RouteOutput::json::<McpDefinitionsResult>(),
        RouteAction::Call(Method::McpList), "Lists the MCP servers that sessions in a folder may use.";
    POST "/v1/mcp", "addMcpServer", RouteInput::body::<AddMcpServerParams>(), RouteOutput::json::<McpSettingsFile>(),
        RouteAction::Call(Method::McpAdd), "Adds an MCP server to the user's settings.";
    POST "/v1/mcp/remove", "removeMcpServer", RouteInput::body::<RemoveMcpServerParams>(), RouteOutput::json::<McpSettingsFile>(),
        RouteAction::Call(Method::McpRemove), "Removes an MCP server from the user's settings.";
    POST "/v1/mcp/test", "testMcpServer", RouteInput::body::<TestMcpServerParams>(), RouteOutput::json::<McpTestResult>(),
        RouteAction::Call(Method::McpTest), "Starts an MCP server and lists its tools.";
    GET "/v1/mcp/logs", "getMcpServerLog", RouteInput::query::<McpServerNameParams>(), RouteOutput::json::<McpLogResult>(),
        RouteAction::Call(Method::McpLogs), "Returns what an MCP server wrote to its error output.";
    GET "/v1/checkouts", "listCheckouts", RouteInput::Nothing, RouteOutput::json::<CheckoutsResult>(),
        RouteAction::Call(Method::CheckoutsList), "Lists the checkouts that agents work in, and those in the trash.";
    POST "/v1/checkouts/discard", "discardCheckout", RouteInput::body::<CheckoutParams>(), RouteOutput::json::<MovedCheckout>(),
        RouteAction::Call(Method::CheckoutsDiscard), "Moves a checkout that no agent works in to the trash.";
    POST "/v1/checkouts/restore", "restoreCheckout", RouteInput::body::<CheckoutParams>(), RouteOutput::json::<MovedCheckout>(),
        RouteAction::Call(Method::CheckoutsRestore), "Restores a checkout from the trash.";
    GET "/v1/doctor", "checkInstallation", RouteInput::Nothing, RouteOutput::json::<DoctorResult>(),
        RouteAction::Call(Method::DoctorCheck), "Checks the installation, with a remedy for each problem.";
    POST "/v1/collect", "collect", RouteInput::body::<CollectParams>(), RouteOutput::json::<CollectResult>(),
        RouteAction::Call(Method::HomeCollect), "Removes old idle sessions, unreachable output, and leftovers of removed sessions.";
}

#[cfg(test)]
mod tests {
    use protocol::api::{METHODS, MethodScope};

    use super::*;

    /// Work that an SDK's client reports to a session over its own connection, and the control of the session host,
    /// which has its own socket.
    const NOT_OVER_HTTP: [Method; 7] = [
        Method::TasksRegister,
        Method::TasksReport,
        Method::TasksOrphan,
        Method::HostGet,
        Method::HostAttach,
        Method::HostStop,
        Method::HostHandOver,
    ];

    #[test]
    fn every_method_of_the_api_has_a_route() {
        let served: Vec<Method> = ROUTES.iter().filter_map(|route| route.act.method()).collect();
        let missing: Vec<&str> = METHODS
            .iter()
            .filter(|spec| !served.contains(&spec.method) && !NOT_OVER_HTTP.contains(&spec.method))
            .map(|spec| spec.name)
            .collect();
        assert!(missing.is_empty(), "without a route: {missing:?}");
    }

    #[test]
    fn only_methods_of_one_session_need_its_id() {
        for route in ROUTES {
            let RouteAction::Call(method) = route.act else { continue };
            let names_session = route.param_names().any(|name| name == "session");
            let needs_session = method.scope() == MethodScope::Session || method == Method::SessionsRepair;
            assert_eq!(names_session, needs_session, "{}", route.path);
        }
    }
}
