//! The method table. The command line, the terminal UI and the adapters are all clients of it.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{
    AddItemParams, AddMcpServerParams, AddRuleParams, AddRuleResult, AddTrustParams, AgentResult, AgentsResult,
    AllAsksParams, AllAsksResult, ArchiveItemsParams, AskModelParams, AskModelResult, AsksDecideParams, AsksParams,
    AsksResult, BeginFleetParams, CatalogFoldersResult, CatalogProblems, CatalogView, CheckoutParams, CheckoutsResult,
    ClosedConnectionParams, CollectParams, CollectResult, CommandFate, ContextView, CutConversationParams,
    DefinitionParams, DoctorResult, EventsPage, EventsParams, ExplainParams, ExplanationView, ExportParams,
    ExportResult, ExternalTaskResult, FindSkillsParams, FleetParams, FleetResult, FleetStatusResult, FolderParams,
    FoundSession, FullDefinition, HandOver, HostView, ImportItemsParams, ImportItemsResult, ImportSettingsParams,
    ImportSettingsResult, InvokeSlashParams, InvokeSlashResult, ItemParams, ItemsParams, ItemsResult, ListExport,
    ListMcpServersParams, ListParams, McpDefinitionsResult, McpLogResult, McpServerNameParams, McpServersResult,
    McpSettingsFile, McpTestResult, ModeParams, ModelParams, ModelsResult, MovedCheckout, NewTodo, OutputResult,
    PermissionParams, PlanParams, PlanResult, ProjectTrust, PromptSuggestion, RegisterTaskParams, ReloadSkillsResult,
    RemoveMcpServerParams, RemoveTrustResult, RenameSessionParams, ReopenSessionParams, RepairResult, ReportTaskParams,
    ResumeFleetParams, RewindParams, RewindPoints, RewindPreview, RewindPreviewParams, RewindResult, RulesParams,
    RunShellParams, RunShellResult, SelectAgentParams, SendParams, SendResult, SessionCommand, SessionIdParams,
    SessionPrefixParams, SessionView, SessionWaitParams, SessionWaitResult, SessionsOfTask, SessionsPage,
    SessionsParams, SetMcpServersParams, SetMcpServersResult, SettingsFiles, SettingsParams, SettingsView,
    SkillsResult, SlashList, StartAgentParams, StartAgentResult, StopTaskParams, SubscribeParams, TaskParams,
    TaskPrefixParams, TaskRecord, TaskWaitParams, TaskWaitResult, TasksPage, TasksParams, TestMcpServerParams,
    TodayUsage, TodoChange, TodoEdits, TodoIds, TodoView, TodosPage, TodosParams, ToggleMcpServerParams,
    ToggleSkillParams, TrustedProjects, UncommittedFiles, UpdateItemParams, UsageParams, UsageReport,
};
use crate::{ListItem, SessionOptions};

/// How calls of a method are ordered against each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallOrdering {
    /// Answered at once, in any order.
    Any,
    /// Applied one after the other, in the order they came, across all clients of the session.
    Session,
}

/// One row of the table.
#[derive(Debug, Clone, Copy)]
pub struct MethodSpec {
    /// The method.
    pub method: Method,
    /// Its name on the wire.
    pub name: &'static str,
    /// How its calls are ordered.
    pub order: CallOrdering,
    /// Who can answer it.
    pub source: AnswerSource,
    /// What it is for, in one line.
    pub about: &'static str,
}

/// What a method is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MethodScope {
    /// One session.
    Session,
    /// No session in particular: everything in Bosun's home, or the user's settings.
    Home,
}

/// Who can answer a method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerSource {
    /// Any process, from the session's file, whether the session runs or rests. The answer never waits for an owner.
    File,
    /// Only the process that runs the session.
    Owner,
    /// The process that runs the session; if none does, any process, from its file.
    OwnerFirst,
    /// The process that runs the session; if none does, the session's file takes the change for the next owner.
    Command,
    /// Any process, from the files in Bosun's home.
    Home,
    /// A process that keeps sessions for its clients.
    Host,
    /// A process that knows the user's settings and environment.
    Settings,
}

impl AnswerSource {
    /// What the methods with this source are about.
    pub fn scope(self) -> MethodScope {
        match self {
            AnswerSource::File | AnswerSource::Owner | AnswerSource::OwnerFirst | AnswerSource::Command => {
                MethodScope::Session
            }
            AnswerSource::Home | AnswerSource::Host | AnswerSource::Settings => MethodScope::Home,
        }
    }
}

/// A method with the types of its parameters and its result.
pub trait ApiCall {
    /// The method.
    const METHOD: Method;
    /// What it takes.
    type Params: Serialize + DeserializeOwned;
    /// What it returns.
    type Result: Serialize + DeserializeOwned;
}

/// The parameters of a method that takes none, and the result of one that returns none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Nothing {}

macro_rules! methods {
    (
        session {
            $($session:ident, $s_name:literal, $s_order:ident, $s_source:ident, $s_params:ident => $s_result:ident,
                $s_about:literal;)*
        }
        home {
            $($home:ident, $h_name:literal, $h_order:ident, $h_source:ident, $h_params:ident => $h_result:ident,
                $h_about:literal;)*
        }
    ) => {
        /// A method about one session. Its own type, so that the compiler names a method that an answer forgets.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum SessionMethod {
            $(#[doc = $s_about] $session,)*
        }

        impl Method {
            /// The same method, if it is about one session.
            pub fn of_session(self) -> Option<SessionMethod> {
                match self {
                    $(Method::$session => Some(SessionMethod::$session),)*
                    $(Method::$home => None,)*
                }
            }
        }

        method_table! {
            $($session, $s_name, $s_order, $s_source, $s_params => $s_result, $s_about;)*
            $($home, $h_name, $h_order, $h_source, $h_params => $h_result, $h_about;)*
        }
    };
}

macro_rules! method_table {
    ($($variant:ident, $name:literal, $order:ident, $source:ident, $params:ident => $result:ident, $about:literal;)*) => {
        /// A method of the API.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Method {
            $(#[doc = $about] $variant,)*
        }

        /// Every method, in the order the docs list them.
        pub const METHODS: &[MethodSpec] = &[
            $(MethodSpec {
                method: Method::$variant,
                name: $name,
                order: CallOrdering::$order,
                source: AnswerSource::$source,
                about: $about,
            },)*
        ];

        /// One type per method, to call it with typed parameters and a typed result.
        pub mod calls {
            use super::{ApiCall, Method};

            $(
                #[doc = $about]
                #[derive(Debug, Clone, Copy)]
                pub struct $variant;

                impl ApiCall for $variant {
                    const METHOD: Method = Method::$variant;
                    type Params = super::$params;
                    type Result = super::$result;
                }
            )*
        }
    };
}

methods! {
    session {
        SessionGet, "session.get", Any, File, Nothing => SessionView,
            "The session: its configuration, its owner and its state.";
        SessionCommand, "session.command", Session, Command, SessionCommand => CommandFate,
            "Carries out a command of the user, now or when the session is resumed.";
        SessionSend, "session.send", Session, Owner, SendParams => SendResult,
            "Sends a message to a task of the session, the root unless named.";
        SessionInterrupt, "session.interrupt", Session, Owner, Nothing => Nothing,
            "Stops the running turn; the session stays.";
        SessionStop, "session.stop", Session, Owner, Nothing => Nothing,
            "Stops every task and ends the run; the session can be resumed.";
        SessionWait, "session.wait", Any, OwnerFirst, SessionWaitParams => SessionWaitResult,
            "Waits until nothing is left to do, or one of the limits of a run is reached.";
        SessionExport, "session.export", Any, File, ExportParams => ExportResult,
            "The whole log, as far as it can be read.";
        SessionFleetGet, "session.fleet.get", Any, File, Nothing => FleetStatusResult,
            "The latest fleet of the session and its progress.";
        SessionFleetStart, "session.fleet.start", Session, Owner, FleetParams => FleetResult,
            "Experimental: starts a fleet: the root splits a request into todos, and agents do them in parallel.";
        SessionFleetResume, "session.fleet.resume", Session, Owner, ResumeFleetParams => FleetResult,
            "Experimental: resumes the latest fleet; one that has ended tries its blocked todos again.";
        SessionFleetUncommitted, "session.fleet.uncommitted", Any, Owner, Nothing => UncommittedFiles,
            "Experimental: the uncommitted files that the workers of the latest fleet do not see.";
        CommandsList, "commands.list", Any, Owner, Nothing => SlashList,
            "All slash commands: built in, from files, plugins and skills.";
        CommandsInvoke, "commands.invoke", Session, Owner, InvokeSlashParams => InvokeSlashResult,
            "Runs a slash command; a command for the model returns the prompt to send.";
        ModeGet, "mode.get", Any, File, Nothing => ModeParams,
            "The session mode: interactive, plan or autopilot.";
        ModeSet, "mode.set", Session, Owner, ModeParams => Nothing,
            "Changes the session mode.";
        PermissionSet, "permission.set", Session, Owner, PermissionParams => Nothing,
            "Changes the permission mode, as long as this process runs the session.";
        RulesSet, "rules.set", Session, Owner, RulesParams => Nothing,
            "Adds and removes permission rules, as long as this process runs the session.";
        PlanRead, "plan.read", Any, File, Nothing => PlanResult,
            "The session's plan, if it has one.";
        PlanUpdate, "plan.update", Session, Owner, PlanParams => Nothing,
            "Replaces the plan.";
        PlanDelete, "plan.delete", Session, Owner, Nothing => Nothing,
            "Removes the plan.";
        ModelGet, "model.get", Any, File, Nothing => ModelParams,
            "The model of the session's root.";
        ModelSet, "model.set", Session, Owner, ModelParams => ModelParams,
            "Changes the model from the next turn on.";
        ModelAsk, "model.ask", Any, Owner, AskModelParams => AskModelResult,
            "Asks the session's model about the conversation; neither question nor answer becomes part of it.";
        ContextGet, "context.get", Any, Owner, Nothing => ContextView,
            "What the next request to the root's model consists of, with estimated tokens.";
        ConversationCut, "conversation.cut", Session, Owner, CutConversationParams => Nothing,
            "Removes the end of the root's conversation; the log keeps it.";
        SessionRename, "session.rename", Session, Owner, RenameSessionParams => Nothing,
            "Gives the session a title.";
        PromptSuggest, "prompt.suggest", Any, Owner, Nothing => PromptSuggestion,
            "Asks a small model what the user may want to say next.";
        RewindPointsList, "rewind.points", Any, Owner, Nothing => RewindPoints,
            "The messages of the user that the session can go back to.";
        RewindPreview, "rewind.preview", Any, Owner, RewindPreviewParams => RewindPreview,
            "What going back would do to the files that tools changed.";
        RewindApply, "rewind.apply", Session, Owner, RewindParams => RewindResult,
            "Goes back to an earlier message, in the conversation, in files or in both.";
        AgentsList, "agents.list", Any, Owner, Nothing => AgentsResult,
            "The agents that may be started.";
        AgentsStart, "agents.start", Session, Owner, StartAgentParams => StartAgentResult,
            "Starts an agent in the background; its result reaches the root.";
        AgentGet, "agent.get", Any, Owner, Nothing => AgentResult,
            "The agent definition that the root uses, if it is not the default one.";
        AgentSelect, "agent.select", Session, Owner, SelectAgentParams => AgentResult,
            "Has the root use another agent definition, from its next activation on.";
        SessionMcpList, "session.mcp.list", Any, Owner, Nothing => McpServersResult,
            "The MCP servers of the session, with their states and tools.";
        SessionMcpToggle, "session.mcp.toggle", Session, Owner, ToggleMcpServerParams => Nothing,
            "Switches an MCP server of the session on or off.";
        SessionMcpReconnect, "session.mcp.reconnect", Any, Owner, McpServerNameParams => Nothing,
            "Connects to an MCP server, anew if it is connected, and lists its tools.";
        SessionMcpSetServers, "session.mcp.setServers", Session, Owner, SetMcpServersParams => SetMcpServersResult,
            "Replaces the MCP servers that a client added to the running session.";
        SkillsList, "skills.list", Any, Owner, Nothing => SkillsResult,
            "The skills of the session, and whether they are switched on.";
        SkillsToggle, "skills.toggle", Session, Owner, ToggleSkillParams => Nothing,
            "Switches a skill on or off, as long as this process runs the session.";
        SkillsReload, "skills.reload", Session, Owner, Nothing => ReloadSkillsResult,
            "Reads the skills again; agents have them from their next activation on.";
        ShellRun, "shell.run", Any, Owner, RunShellParams => RunShellResult,
            "Runs a shell command of the user in the background; it is a task, and no model learns of it.";
        TasksList, "tasks.list", Any, File, TasksParams => TasksPage,
            "Every task of the session, oldest first, in pages.";
        TasksGet, "tasks.get", Any, File, TaskParams => TaskRecord,
            "One task with everything its record holds: prompt, messages, turns, evidence.";
        TasksOutput, "tasks.output", Any, File, TaskParams => OutputResult,
            "A task's latest output, clipped.";
        TasksWait, "tasks.wait", Any, OwnerFirst, TaskWaitParams => TaskWaitResult,
            "Waits until a task is at rest.";
        TasksStop, "tasks.stop", Session, Owner, StopTaskParams => Nothing,
            "Stops a task and everything below it, after a last turn or at once.";
        TasksPromote, "tasks.promote", Session, Owner, TaskParams => Nothing,
            "Moves a task that the root waits for into the background.";
        TasksForget, "tasks.forget", Session, Owner, TaskParams => Nothing,
            "Removes the record of a task that has ended.";
        TasksRegister, "tasks.register", Session, Owner, RegisterTaskParams => ExternalTaskResult,
            "Starts an external task, or claims one whose client is gone.";
        TasksReport, "tasks.report", Session, Owner, ReportTaskParams => ExternalTaskResult,
            "Applies a client's report on its external task.";
        TasksOrphan, "tasks.orphan", Session, Owner, ClosedConnectionParams => Nothing,
            "Reports a closed connection; another one can claim its external tasks.";
        TodosList, "todos.list", Any, File, TodosParams => TodosPage,
            "The todos of the session with their dependencies, in pages.";
        TodosAdd, "todos.add", Session, Owner, NewTodo => TodoView,
            "Adds a todo to the session's graph.";
        TodosUpdate, "todos.update", Session, Owner, TodoChange => TodoView,
            "Changes a todo: its text, its dependencies, its status.";
        TodosEdit, "todos.edit", Session, Command, TodoEdits => TodoIds,
            "Adds and changes several todos: all of them, or none.";
        AsksList, "asks.list", Any, File, AsksParams => AsksResult,
            "The asks that wait for a decision, oldest first.";
        AsksDecide, "asks.decide", Session, Owner, AsksDecideParams => Nothing,
            "Decides on one ask: allows or denies a call, or answers a question.";
        EventsList, "events.list", Any, File, EventsParams => EventsPage,
            "Events that were committed, oldest first, in pages.";
        EventsSubscribe, "events.subscribe", Any, Owner, SubscribeParams => Nothing,
            "The events after a sequence number, then each new one as it is committed.";
    }
    home {
        SessionsList, "sessions.list", Any, Home, SessionsParams => SessionsPage,
            "All sessions, newest first, in pages.";
        SessionsFind, "sessions.find", Any, Home, SessionPrefixParams => SessionIdParams,
            "The one session whose id begins with a text.";
        SessionsLatest, "sessions.latest", Any, Home, FolderParams => FoundSession,
            "The session of a folder with the latest event.";
        SessionsBegin, "sessions.begin", Any, Host, SessionOptions => SessionView,
            "Begins a session, which runs whether or not a client watches it.";
        SessionsResume, "sessions.resume", Any, Host, ReopenSessionParams => SessionView,
            "Resumes a session that no process runs; a running one stays as it is.";
        SessionsFork, "sessions.fork", Any, Host, ReopenSessionParams => SessionView,
            "Continues in a copy; the original session stays as it is.";
        FleetsBegin, "fleets.begin", Any, Host, BeginFleetParams => SessionView,
            "Experimental: begins a session with a fleet, for a prompt or from a plan.";
        HostGet, "host.get", Any, Host, Nothing => HostView,
            "The session host: its process and the sessions that it keeps.";
        HostAttach, "host.attach", Any, Host, ReopenSessionParams => SessionView,
            "Has the session host keep a session for as long as the caller stays connected; interrupted work is resumed.";
        HostStop, "host.stop", Any, Host, Nothing => Nothing,
            "Ends the session host; the sessions that it kept can be resumed.";
        HostHandOver, "host.handOver", Any, Host, Nothing => HandOver,
            "Ends the session host in favor of another process, which resumes its sessions.";
        SessionsRemove, "sessions.remove", Any, Home, SessionIdParams => Nothing,
            "Removes a session that no process runs, with all its data.";
        SessionsRepair, "sessions.repair", Any, Home, SessionIdParams => RepairResult,
            "Accepts a log as it is, although committed events are missing or differ.";
        TasksFind, "tasks.find", Any, Home, TaskPrefixParams => SessionsOfTask,
            "The sessions that have a task whose id begins with a text.";
        AsksAll, "asks.all", Any, Home, AllAsksParams => AllAsksResult,
            "The asks of all sessions that may have open ones, oldest first.";
        UsageGet, "usage.get", Any, Home, UsageParams => UsageReport,
            "What sessions used and spent, by session, model, agent or task.";
        ListsItems, "lists.items", Any, Home, ItemsParams => ItemsResult,
            "The items of a shared list.";
        ListsGet, "lists.get", Any, Home, ItemParams => ListItem,
            "One item of a shared list.";
        ListsAdd, "lists.add", Any, Home, AddItemParams => ListItem,
            "Adds an item to a shared list.";
        ListsUpdate, "lists.update", Any, Home, UpdateItemParams => ListItem,
            "Changes, completes or deletes an item.";
        ListsArchive, "lists.archive", Any, Home, ArchiveItemsParams => ItemsResult,
            "Archives a completed item, or all of them.";
        ListsExport, "lists.export", Any, Home, ListParams => ListExport,
            "A shared list as JSON lines.";
        ListsImport, "lists.import", Any, Home, ImportItemsParams => ImportItemsResult,
            "Imports exported items; the later of two versions is kept.";
        UsageToday, "usage.today", Any, Settings, Nothing => TodayUsage,
            "What all sessions spent today, and the limit of a day.";
        SettingsGet, "settings.get", Any, Settings, SettingsParams => SettingsView,
            "The effective settings of a folder, and where each was set.";
        SettingsFiles, "settings.files", Any, Settings, SettingsParams => SettingsFiles,
            "The settings files of a folder, strongest first.";
        SettingsAddRule, "settings.addRule", Any, Settings, AddRuleParams => AddRuleResult,
            "Adds a permission rule to the user's settings.";
        SettingsImport, "settings.import", Any, Settings, ImportSettingsParams => ImportSettingsResult,
            "What the files of another product become in Bosun; writes it if wanted.";
        PermissionsExplain, "permissions.explain", Any, Settings, ExplainParams => ExplanationView,
            "Whether a call would be allowed, asked about or denied, and why.";
        TrustGet, "trust.get", Any, Settings, SettingsParams => ProjectTrust,
            "What the files of a project control, and whether the user trusts them.";
        TrustAdd, "trust.add", Any, Settings, AddTrustParams => ProjectTrust,
            "Trusts a project with its current files.";
        TrustRemove, "trust.remove", Any, Settings, SettingsParams => RemoveTrustResult,
            "Stops trusting a project.";
        TrustList, "trust.list", Any, Settings, Nothing => TrustedProjects,
            "The projects that the user trusts.";
        CatalogList, "catalog.list", Any, Settings, SettingsParams => CatalogView,
            "The agents, skills, slash commands and plugins of a folder.";
        CatalogSkills, "catalog.skills", Any, Settings, FindSkillsParams => SkillsResult,
            "The skills of a folder, as a session in it would have them.";
        CatalogFolders, "catalog.folders", Any, Settings, SettingsParams => CatalogFoldersResult,
            "The folders in which the agents and skills of a folder are looked for.";
        CatalogGet, "catalog.get", Any, Settings, DefinitionParams => FullDefinition,
            "One agent, skill or slash command in full.";
        CatalogCheck, "catalog.check", Any, Settings, SettingsParams => CatalogProblems,
            "The problems of definitions, each with its remedy.";
        ModelsList, "models.list", Any, Settings, SettingsParams => ModelsResult,
            "The providers, their models, and those that are not asked now.";
        ModelsReopen, "models.reopen", Any, Settings, Nothing => Nothing,
            "Forgets which providers asked to wait.";
        McpList, "mcp.list", Any, Settings, ListMcpServersParams => McpDefinitionsResult,
            "The MCP servers that sessions in a folder may use, and why they may not use others.";
        McpAdd, "mcp.add", Any, Settings, AddMcpServerParams => McpSettingsFile,
            "Adds an MCP server to the user's settings.";
        McpRemove, "mcp.remove", Any, Settings, RemoveMcpServerParams => McpSettingsFile,
            "Removes an MCP server from the user's settings.";
        McpTest, "mcp.test", Any, Settings, TestMcpServerParams => McpTestResult,
            "Starts an MCP server and lists its tools.";
        McpLogs, "mcp.logs", Any, Settings, McpServerNameParams => McpLogResult,
            "What an MCP server wrote to its error output.";
        CheckoutsList, "checkouts.list", Any, Settings, Nothing => CheckoutsResult,
            "The checkouts that agents work in, and those in the trash.";
        CheckoutsDiscard, "checkouts.discard", Any, Settings, CheckoutParams => MovedCheckout,
            "Moves a checkout that no agent works in to the trash.";
        CheckoutsRestore, "checkouts.restore", Any, Settings, CheckoutParams => MovedCheckout,
            "Restores a checkout from the trash.";
        DoctorCheck, "doctor.check", Any, Settings, Nothing => DoctorResult,
            "Checks the installation, with a remedy for each problem.";
        HomeCollect, "home.collect", Any, Settings, CollectParams => CollectResult,
            "Removes old idle sessions, unreachable output, and leftovers of removed sessions.";
    }
}

impl Method {
    /// Finds a method by its wire name.
    pub fn from_name(name: &str) -> Option<Method> {
        METHODS.iter().find(|spec| spec.name == name).map(|spec| spec.method)
    }

    /// The row of the table.
    pub fn spec(self) -> MethodSpec {
        METHODS[self as usize]
    }

    /// Who can answer it.
    pub fn source(self) -> AnswerSource {
        self.spec().source
    }

    /// What it is about.
    pub fn scope(self) -> MethodScope {
        self.source().scope()
    }

    /// Whether it may change or be removed in any version.
    pub fn is_experimental(self) -> bool {
        match self {
            Method::SessionFleetStart
            | Method::SessionFleetResume
            | Method::SessionFleetUncommitted
            | Method::FleetsBegin => true,
            _stable => false,
        }
    }

    /// The name on the wire.
    pub fn name(self) -> &'static str {
        self.spec().name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_method_is_found_by_its_name() {
        for spec in METHODS {
            assert_eq!(Method::from_name(spec.name), Some(spec.method));
            assert_eq!(spec.method.spec().name, spec.name);
            assert_eq!(
                spec.method.of_session().is_some(),
                spec.method.scope() == MethodScope::Session,
                "{}",
                spec.name
            );
            assert_eq!(spec.about.starts_with("Experimental: "), spec.method.is_experimental(), "{}", spec.name);
        }
        assert_eq!(Method::from_name("session.fly"), None);
    }
}
