//! The table of Bosun's tools: the one place that lists them. What differs from tool to tool and concerns more than the
//! tool itself is a column here, so that policy, definitions, hooks, agents and adapters need no list of their own.

/// The name of each tool. Code that concerns one tool uses these; a property that several tools share is a column of
/// [`TOOLS`].
pub mod tool_name {
    /// Shows a file or a folder.
    pub const VIEW: &str = "view";
    /// Writes a new file.
    pub const CREATE: &str = "create";
    /// Replaces text in a file.
    pub const EDIT: &str = "edit";
    /// Changes several files by a patch.
    pub const APPLY_PATCH: &str = "apply_patch";
    /// Searches the text of files.
    pub const GREP: &str = "grep";
    /// Finds files by their names.
    pub const GLOB: &str = "glob";
    /// Runs a command.
    pub const SHELL: &str = "shell";
    /// Reads the output of a background command.
    pub const READ_SHELL: &str = "read_shell";
    /// Stops a background command.
    pub const STOP_SHELL: &str = "stop_shell";
    /// Lists the background commands.
    pub const LIST_SHELLS: &str = "list_shells";
    /// Runs SQL on the session's own tables, among them its todos.
    pub const SQL: &str = "sql";
    /// Says what the agent is about to do.
    pub const REPORT_INTENT: &str = "report_intent";
    /// Fetches a page.
    pub const WEB_FETCH: &str = "web_fetch";
    /// Asks the user.
    pub const ASK_USER: &str = "ask_user";
    /// Starts an agent.
    pub const TASK: &str = "task";
    /// Loads a skill.
    pub const SKILL: &str = "skill";
    /// Reads the state and result of an agent.
    pub const READ_AGENT: &str = "read_agent";
    /// Sends a message to an agent.
    pub const WRITE_AGENT: &str = "write_agent";
    /// Lists agents.
    pub const LIST_AGENTS: &str = "list_agents";
    /// Stops an agent.
    pub const STOP_AGENT: &str = "stop_agent";
    /// Waits for agents.
    pub const WAIT: &str = "wait";
    /// Repeats a command until it succeeds.
    pub const UNTIL: &str = "until";
    /// Adds an item to the shared list.
    pub const TASK_CREATE: &str = "TaskCreate";
    /// Shows an item of the shared list.
    pub const TASK_GET: &str = "TaskGet";
    /// Shows the shared list.
    pub const TASK_LIST: &str = "TaskList";
    /// Changes an item of the shared list.
    pub const TASK_UPDATE: &str = "TaskUpdate";
    /// Reads the output of a task.
    pub const TASK_OUTPUT: &str = "TaskOutput";
    /// Stops a task.
    pub const TASK_STOP: &str = "TaskStop";
    /// Lists the resources of MCP servers.
    pub const LIST_MCP_RESOURCES: &str = "list_mcp_resources";
    /// Reads a resource of an MCP server.
    pub const READ_MCP_RESOURCE: &str = "read_mcp_resource";
    /// Loads tools that are not in the first request.
    pub const TOOL_SEARCH: &str = "tool_search";
    /// Writes the plan, in plan mode.
    pub const WRITE_PLAN: &str = "write_plan";
    /// Submits the plan, in plan mode.
    pub const EXIT_PLAN_MODE: &str = "exit_plan_mode";
    /// Declares the objective reached, on autopilot.
    pub const TASK_COMPLETE: &str = "task_complete";
}

use tool_name::*;

/// What rules distinguish in the calls of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolClass {
    /// It runs commands.
    Shell,
    /// It reads files.
    Read,
    /// It changes files.
    Edit,
    /// It fetches addresses.
    Fetch,
    /// It starts agents, by type.
    Agent,
    /// It concerns the session's own state.
    Session,
    /// It is not one of Bosun's: a client or an MCP server has it.
    Other,
}

/// Which agents have a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolGroup {
    /// Every agent.
    BuiltIn,
    /// The root, if the user can answer.
    AskUser,
    /// Agents that may start others.
    Task,
    /// Agents that have skills.
    Skill,
    /// Agents that have `task`: its companions.
    Subagent,
    /// Every agent: the tools of the shared list.
    SharedList,
    /// Agents that may use MCP servers.
    McpResource,
    /// Agents that do not see all of their tools at once.
    Search,
    /// The root in plan mode.
    PlanMode,
    /// The root on autopilot.
    Autopilot,
}

/// Which models see a tool in their first request, unless a definition lists its tools; others must search for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AtOnce {
    /// The root's.
    pub root: bool,
    /// Those of subagents: there may be very many, so their first request is small.
    pub subagent: bool,
    /// Small models: with each further tool they make more mistakes.
    pub small_model: bool,
}

impl AtOnce {
    const NEVER: AtOnce = AtOnce { root: false, subagent: false, small_model: false };
    const ROOT: AtOnce = AtOnce { root: true, ..AtOnce::NEVER };
    const ALWAYS: AtOnce = AtOnce { root: true, subagent: true, small_model: true };
}

/// A tool of Bosun.
#[derive(Debug)]
pub struct ToolEntry {
    /// Its name.
    pub name: &'static str,
    /// What rules distinguish in its calls.
    pub class: ToolClass,
    /// Which agents have it.
    pub group: ToolGroup,
    /// Which models see it in their first request.
    pub at_once: AtOnce,
    /// Its names in Copilot's dialect; the first one is sent.
    pub copilot: &'static [&'static str],
    /// Its names in Claude's dialect; the first one is sent.
    pub claude: &'static [&'static str],
    /// Its name in the list of tools that a Claude client gets, unless another tool stands for it.
    pub announced: Option<&'static str>,
    /// Further Claude names that include it: a client that may start something may also manage it.
    pub bundles: &'static [&'static str],
    /// Names that models use which know neither dialect.
    pub guesses: &'static [&'static str],
    /// Its arguments that the dialects call or encode differently.
    pub arguments: &'static [ArgumentAlias],
}

impl ToolEntry {
    /// Whether a definition may name it. The other tools come with a mode or with the search for tools.
    pub fn is_listable(&self) -> bool {
        match self.group {
            ToolGroup::BuiltIn
            | ToolGroup::AskUser
            | ToolGroup::Task
            | ToolGroup::Skill
            | ToolGroup::Subagent
            | ToolGroup::SharedList
            | ToolGroup::McpResource => true,
            ToolGroup::Search | ToolGroup::PlanMode | ToolGroup::Autopilot => false,
        }
    }
}

/// An argument and its names in the dialects.
#[derive(Debug)]
pub struct ArgumentAlias {
    /// Bosun's name.
    pub name: &'static str,
    /// Copilot's.
    pub copilot: &'static str,
    /// Claude's.
    pub claude: &'static str,
    /// How Claude's dialect encodes its value.
    pub encoding: ArgumentEncoding,
}

/// How Claude's dialect encodes a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArgumentEncoding {
    /// As Bosun does.
    Same,
    /// In milliseconds instead of seconds.
    Millis,
    /// As a boolean instead of `background` or `sync`.
    Background,
}

const fn argument(name: &'static str, copilot: &'static str, claude: &'static str) -> ArgumentAlias {
    ArgumentAlias { name, copilot, claude, encoding: ArgumentEncoding::Same }
}

const PATH: ArgumentAlias = argument("path", "path", "file_path");

/// A tool that has one name everywhere and that models must search for.
const fn plain(name: &'static str, class: ToolClass, group: ToolGroup) -> ToolEntry {
    ToolEntry {
        name,
        class,
        group,
        at_once: AtOnce::NEVER,
        copilot: &[],
        claude: &[],
        announced: None,
        bundles: &[],
        guesses: &[],
        arguments: &[],
    }
}

const fn built_in(name: &'static str, class: ToolClass) -> ToolEntry {
    plain(name, class, ToolGroup::BuiltIn)
}

const fn subagent(name: &'static str) -> ToolEntry {
    ToolEntry { bundles: &["Agent", "Task"], ..plain(name, ToolClass::Session, ToolGroup::Subagent) }
}

const fn shared_list(name: &'static str) -> ToolEntry {
    ToolEntry { announced: Some(name), ..plain(name, ToolClass::Session, ToolGroup::SharedList) }
}

/// Every tool of Bosun, in the order of requests. If several have a name in a dialect, the first one is meant.
pub static TOOLS: [ToolEntry; 34] = [
    ToolEntry {
        at_once: AtOnce::ALWAYS,
        copilot: &[VIEW],
        claude: &["Read"],
        announced: Some("Read"),
        guesses: &["read_file", "readfile", "open_file", "cat", "view_file", "file_read"],
        arguments: &[PATH],
        ..built_in(VIEW, ToolClass::Read)
    },
    ToolEntry {
        at_once: AtOnce::ALWAYS,
        copilot: &[CREATE],
        claude: &["Write"],
        announced: Some("Write"),
        guesses: &["write_file", "writefile", "create_file", "file_write", "save_file"],
        arguments: &[PATH, argument("content", "file_text", "content")],
        ..built_in(CREATE, ToolClass::Edit)
    },
    ToolEntry {
        at_once: AtOnce::ALWAYS,
        copilot: &[EDIT, "str_replace"],
        claude: &["Edit", "MultiEdit"],
        announced: Some("Edit"),
        guesses: &["replace", "edit_file", "update_file", "modify_file", "search_replace"],
        arguments: &[
            PATH,
            argument("old", "old_str", "old_string"),
            argument("new", "new_str", "new_string"),
            argument("all", "all", "replace_all"),
        ],
        ..built_in(EDIT, ToolClass::Edit)
    },
    ToolEntry {
        copilot: &[APPLY_PATCH],
        claude: &[APPLY_PATCH, "Edit", "Write"],
        announced: Some(APPLY_PATCH),
        bundles: &["Edit"],
        ..built_in(APPLY_PATCH, ToolClass::Edit)
    },
    ToolEntry {
        at_once: AtOnce { root: true, subagent: false, small_model: true },
        copilot: &[GREP],
        claude: &["Grep"],
        announced: Some("Grep"),
        guesses: &["search", "search_files", "ripgrep", "rg"],
        arguments: &[
            argument("ignore_case", "ignore_case", "-i"),
            argument("context", "context", "-C"),
            argument("limit", "limit", "head_limit"),
        ],
        ..built_in(GREP, ToolClass::Read)
    },
    ToolEntry {
        at_once: AtOnce::ROOT,
        copilot: &[GLOB],
        claude: &["Glob"],
        announced: Some("Glob"),
        guesses: &["find", "find_files", "list_files", "list_directory", "ls"],
        ..built_in(GLOB, ToolClass::Read)
    },
    ToolEntry {
        at_once: AtOnce::ALWAYS,
        copilot: &["bash"],
        claude: &["Bash"],
        announced: Some("Bash"),
        guesses: &["run", "run_command", "execute", "execute_command", "terminal", "run_shell_command", "cmd", "sh"],
        arguments: &[
            ArgumentAlias {
                name: "timeout_secs",
                copilot: "timeout_secs",
                claude: "timeout",
                encoding: ArgumentEncoding::Millis,
            },
            argument("background", "background", "run_in_background"),
        ],
        ..built_in(SHELL, ToolClass::Shell)
    },
    ToolEntry {
        at_once: AtOnce::ROOT,
        copilot: &["read_bash"],
        claude: &["BashOutput"],
        announced: Some("BashOutput"),
        bundles: &["Bash"],
        arguments: &[argument("name", "name", "bash_id")],
        ..built_in(READ_SHELL, ToolClass::Session)
    },
    ToolEntry {
        copilot: &["stop_bash"],
        claude: &["KillShell"],
        announced: Some("KillShell"),
        bundles: &["Bash"],
        arguments: &[argument("name", "name", "shell_id")],
        ..built_in(STOP_SHELL, ToolClass::Session)
    },
    ToolEntry { bundles: &["Bash"], ..built_in(LIST_SHELLS, ToolClass::Session) },
    ToolEntry {
        at_once: AtOnce::ROOT,
        announced: Some(SQL),
        bundles: &["TodoWrite"],
        ..built_in(SQL, ToolClass::Session)
    },
    ToolEntry { at_once: AtOnce::ROOT, ..built_in(REPORT_INTENT, ToolClass::Session) },
    ToolEntry {
        at_once: AtOnce::ROOT,
        copilot: &[WEB_FETCH],
        claude: &["WebFetch"],
        announced: Some("WebFetch"),
        ..built_in(WEB_FETCH, ToolClass::Fetch)
    },
    ToolEntry {
        at_once: AtOnce::ROOT,
        copilot: &[ASK_USER],
        claude: &["AskUserQuestion"],
        announced: Some("AskUserQuestion"),
        ..plain(ASK_USER, ToolClass::Session, ToolGroup::AskUser)
    },
    ToolEntry {
        at_once: AtOnce::ROOT,
        copilot: &[TASK],
        claude: &["Agent", "Task"],
        // Its older name: clients look for it here.
        announced: Some("Task"),
        arguments: &[
            argument("agent_type", "agent_type", "subagent_type"),
            ArgumentAlias {
                name: "mode",
                copilot: "mode",
                claude: "run_in_background",
                encoding: ArgumentEncoding::Background,
            },
        ],
        ..plain(TASK, ToolClass::Agent, ToolGroup::Task)
    },
    ToolEntry {
        at_once: AtOnce::ROOT,
        copilot: &[SKILL],
        claude: &["Skill"],
        announced: Some("Skill"),
        arguments: &[argument("name", "skill", "skill")],
        ..plain(SKILL, ToolClass::Session, ToolGroup::Skill)
    },
    subagent(READ_AGENT),
    ToolEntry {
        copilot: &[WRITE_AGENT],
        claude: &["SendMessage"],
        announced: Some("SendMessage"),
        ..subagent(WRITE_AGENT)
    },
    subagent(LIST_AGENTS),
    subagent(STOP_AGENT),
    subagent(WAIT),
    // It runs a command, so hooks on commands must see it.
    ToolEntry { copilot: &["bash"], claude: &["Bash"], bundles: &["Bash"], ..subagent(UNTIL) },
    ToolEntry { bundles: &["TodoWrite"], ..shared_list(TASK_CREATE) },
    ToolEntry { bundles: &["TodoWrite"], ..shared_list(TASK_GET) },
    ToolEntry { bundles: &["TodoWrite"], ..shared_list(TASK_LIST) },
    ToolEntry { bundles: &["TodoWrite"], ..shared_list(TASK_UPDATE) },
    shared_list(TASK_OUTPUT),
    shared_list(TASK_STOP),
    ToolEntry {
        claude: &["ListMcpResourcesTool"],
        announced: Some("ListMcpResourcesTool"),
        ..plain(LIST_MCP_RESOURCES, ToolClass::Session, ToolGroup::McpResource)
    },
    ToolEntry {
        claude: &["ReadMcpResourceTool"],
        announced: Some("ReadMcpResourceTool"),
        ..plain(READ_MCP_RESOURCE, ToolClass::Session, ToolGroup::McpResource)
    },
    ToolEntry { at_once: AtOnce::ALWAYS, ..plain(TOOL_SEARCH, ToolClass::Session, ToolGroup::Search) },
    plain(WRITE_PLAN, ToolClass::Session, ToolGroup::PlanMode),
    ToolEntry {
        copilot: &[EXIT_PLAN_MODE],
        claude: &["ExitPlanMode"],
        announced: Some("ExitPlanMode"),
        ..plain(EXIT_PLAN_MODE, ToolClass::Session, ToolGroup::PlanMode)
    },
    plain(TASK_COMPLETE, ToolClass::Session, ToolGroup::Autopilot),
];

/// Bosun's tool with this name.
pub fn find_tool(name: &str) -> Option<&'static ToolEntry> {
    TOOLS.iter().find(|tool| tool.name == name)
}

/// Tools that a rule names together.
#[derive(Debug)]
pub struct RuleFamily {
    /// Bosun's name.
    pub name: &'static str,
    /// The class of its tools.
    pub class: ToolClass,
    /// Claude's names, which rules accept too; the first one is sent.
    pub claude: &'static [&'static str],
    /// Further names that rules accept.
    pub others: &'static [&'static str],
    /// The names in a Copilot client's managed rules that mean all of it.
    pub managed: &'static [&'static str],
    /// The tool that stands for it in an explanation.
    pub example: &'static str,
}

/// Every family.
pub static RULE_FAMILIES: [RuleFamily; 5] = [
    RuleFamily {
        name: "shell",
        class: ToolClass::Shell,
        claude: &["Bash"],
        others: &["bash", "Shell"],
        managed: &["bash", "shell"],
        example: SHELL,
    },
    RuleFamily {
        name: "read",
        class: ToolClass::Read,
        claude: &["Read", "Grep", "Glob", "LS"],
        others: &[],
        managed: &["read", VIEW],
        example: VIEW,
    },
    RuleFamily {
        name: "edit",
        class: ToolClass::Edit,
        claude: &["Edit", "Write", "MultiEdit", "NotebookEdit"],
        others: &["write"],
        managed: &["write", "edit", CREATE],
        example: EDIT,
    },
    RuleFamily {
        name: "fetch",
        class: ToolClass::Fetch,
        claude: &["WebFetch"],
        others: &["url"],
        managed: &["url", "fetch", WEB_FETCH],
        example: WEB_FETCH,
    },
    RuleFamily {
        name: "task",
        class: ToolClass::Agent,
        claude: &["Agent", "Task"],
        others: &[],
        managed: &[],
        example: TASK,
    },
];

impl RuleFamily {
    /// Every name that rules accept, Bosun's first.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        std::iter::once(self.name).chain(self.claude.iter().copied()).chain(self.others.iter().copied())
    }
}

/// The family that rules know by this name.
pub fn rule_family(name: &str) -> Option<&'static RuleFamily> {
    RULE_FAMILIES.iter().find(|family| family.names().any(|known| known == name))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_unique() {
        let names: BTreeSet<&str> = TOOLS.iter().map(|tool| tool.name).collect();
        assert_eq!(names.len(), TOOLS.len());
        let mut families = BTreeSet::new();
        let known = RULE_FAMILIES.iter().flat_map(RuleFamily::names);
        assert_eq!(known.filter(|name| !families.insert(*name)).collect::<Vec<_>>(), [""; 0]);
    }

    #[test]
    fn every_tool_has_a_class_that_rules_know() {
        for tool in &TOOLS {
            assert_ne!(tool.class, ToolClass::Other, "{}", tool.name);
        }
        for family in &RULE_FAMILIES {
            assert_eq!(find_tool(family.example).map(|tool| tool.class), Some(family.class), "{}", family.name);
        }
    }

    #[test]
    fn a_tool_that_a_client_knows_has_one_of_its_names_in_the_dialect() {
        for tool in TOOLS.iter().filter(|tool| !tool.claude.is_empty()) {
            assert!(tool.announced.is_none_or(|name| tool.claude.contains(&name)), "{}", tool.name);
        }
    }
}
