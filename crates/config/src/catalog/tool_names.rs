//! Tool names: Bosun's own, and other programs' names for the same tools.

use super::fields::nearest;

/// The meaning of a name in a list of tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ToolNameMeaning {
    /// Every tool.
    All,
    /// These built-in tools.
    BuiltIn(&'static [&'static str]),
    /// The tool that starts agents, limited to these types.
    Agents(Vec<String>),
    /// A tool of an MCP server.
    OfMcpServer,
    /// A known tool that Bosun does not have.
    NotInBosun,
    /// A tool with a pattern, which is not allowed in a list of tools.
    Pattern(String),
    /// An unknown tool, with the name that was probably meant.
    Unknown(Option<&'static str>),
}

/// Every built-in tool that a definition may name.
static BUILT_IN_TOOLS: [&str; 28] = [
    "view",
    "create",
    "edit",
    "apply_patch",
    "grep",
    "glob",
    "shell",
    "read_shell",
    "stop_shell",
    "list_shells",
    "sql",
    "report_intent",
    "web_fetch",
    "ask_user",
    "task",
    "read_agent",
    "write_agent",
    "list_agents",
    "stop_agent",
    "wait",
    "until",
    "skill",
    "TaskCreate",
    "TaskGet",
    "TaskList",
    "TaskUpdate",
    "TaskOutput",
    "TaskStop",
];

/// Other programs' names, in lower case, with Bosun's tools. `edit` is also Bosun's name; here it includes `create`.
const ALIASES: [(&str, &[&str]); 62] = [
    ("edit", &["edit", "create"]),
    ("multiedit", &["edit"]),
    ("write", &["create"]),
    ("create_file", &["create"]),
    ("editfiles", &["edit", "create"]),
    ("applypatch", &["apply_patch"]),
    ("read", &["view"]),
    ("readfile", &["view"]),
    ("read_file", &["view"]),
    ("ls", &["view", "glob"]),
    ("list_dir", &["view", "glob"]),
    ("notebookread", &["view"]),
    ("search", &["grep", "glob"]),
    ("codebase", &["grep", "glob"]),
    ("textsearch", &["grep"]),
    ("grep_search", &["grep"]),
    ("filesearch", &["glob"]),
    ("file_search", &["glob"]),
    ("bash", &["shell"]),
    ("execute", &["shell"]),
    ("powershell", &["shell"]),
    ("terminal", &["shell"]),
    ("runcommands", &["shell"]),
    ("runinterminal", &["shell"]),
    ("run_in_terminal", &["shell"]),
    ("bashoutput", &["read_shell"]),
    ("read_bash", &["read_shell"]),
    ("killshell", &["stop_shell"]),
    ("killbash", &["stop_shell"]),
    ("stop_bash", &["stop_shell"]),
    ("web", &["web_fetch"]),
    ("webfetch", &["web_fetch"]),
    ("fetch", &["web_fetch"]),
    ("agent", &["task"]),
    ("custom-agent", &["task"]),
    ("runsubagent", &["task"]),
    ("taskcreate", &["TaskCreate"]),
    ("taskget", &["TaskGet"]),
    ("tasklist", &["TaskList"]),
    ("taskupdate", &["TaskUpdate"]),
    ("taskoutput", &["TaskOutput"]),
    ("taskstop", &["TaskStop"]),
    ("sendmessage", &["write_agent"]),
    ("todo", &["sql"]),
    ("todos", &["sql"]),
    ("todowrite", &["sql"]),
    ("askuserquestion", &["ask_user"]),
    ("askquestions", &["ask_user"]),
    ("createfile", &["create"]),
    ("createdirectory", &["create"]),
    ("editnotebook", &["edit"]),
    ("listdirectory", &["view", "glob"]),
    ("viewimage", &["view"]),
    ("findtestfiles", &["glob"]),
    ("searchresults", &["grep"]),
    ("getterminaloutput", &["read_shell"]),
    ("awaitterminal", &["read_shell"]),
    ("killterminal", &["stop_shell"]),
    ("runtask", &["shell"]),
    ("createandruntask", &["shell"]),
    ("multi_replace_string_in_file", &["edit"]),
    ("replace_string_in_file", &["edit"]),
];

/// Other programs' tools without a counterpart in Bosun.
const TOOLS_NOT_IN_BOSUN: [&str; 37] = [
    "websearch",
    "web_search",
    "notebookedit",
    "todoread",
    "enterplanmode",
    "exitplanmode",
    "enterworktree",
    "exitworktree",
    "schedulewakeup",
    "croncreate",
    "monitor",
    "lsp",
    "workflow",
    "slashcommand",
    "toolsearch",
    "listmcpresources",
    "readmcpresource",
    "vscode",
    "browser",
    "new",
    "usages",
    "problems",
    "changes",
    "testfailure",
    "opensimplebrowser",
    "githubrepo",
    "extensions",
    "runtests",
    "think",
    "getchangedfiles",
    "terminallastcommand",
    "terminalselection",
    "getprojectsetupinfo",
    "installextension",
    "memory",
    "runvscodecommand",
    "openintegratedbrowser",
];

/// Tool sets in VS Code, where a tool is written as `set/tool`.
const VSCODE_TOOL_SETS: [&str; 11] =
    ["search", "edit", "read", "execute", "runcommands", "web", "agent", "vscode", "todo", "browser", "new"];

/// Resolves a name in a list of tools.
pub(super) fn resolve_tool_name(name: &str) -> ToolNameMeaning {
    let (word, pattern) = match name.split_once('(') {
        Some((word, rest)) => (word.trim(), Some(rest.strip_suffix(')').unwrap_or(rest))),
        None => (name, None),
    };
    let lower = word.to_ascii_lowercase();
    if matches!(lower.as_str(), "*" | "all") {
        return ToolNameMeaning::All;
    }
    if let Some((set, tool)) = lower.split_once('/').filter(|(set, _)| VSCODE_TOOL_SETS.contains(set)) {
        return match tools_of_name(tool).or_else(|| tools_of_name(set).filter(|_| tool == "*")) {
            Some(ours) => ToolNameMeaning::BuiltIn(ours),
            None => ToolNameMeaning::NotInBosun,
        };
    }
    if lower.starts_with("mcp__") || lower.contains('/') || lower.contains('.') {
        return ToolNameMeaning::OfMcpServer;
    }
    let ours = tools_of_name(&lower);
    match (ours, pattern) {
        (Some(["task"]), Some(types)) => {
            let types = types.split(',').map(|name| name.trim().to_owned()).filter(|name| !name.is_empty());
            ToolNameMeaning::Agents(types.collect())
        }
        (Some(_), Some(pattern)) if !matches!(pattern.trim(), "" | "*") => ToolNameMeaning::Pattern(word.to_owned()),
        (Some(ours), _) => ToolNameMeaning::BuiltIn(ours),
        (None, _) if TOOLS_NOT_IN_BOSUN.contains(&lower.as_str()) => ToolNameMeaning::NotInBosun,
        (None, _) => {
            let known: Vec<&'static str> =
                BUILT_IN_TOOLS.iter().copied().chain(ALIASES.iter().map(|(alias, _)| *alias)).collect();
            ToolNameMeaning::Unknown(nearest(&lower, &known))
        }
    }
}

fn tools_of_name(lower: &str) -> Option<&'static [&'static str]> {
    let alias = ALIASES.iter().find(|(alias, _)| *alias == lower).map(|(_, ours)| *ours);
    alias.or_else(|| BUILT_IN_TOOLS.iter().position(|ours| *ours == lower).and_then(|at| BUILT_IN_TOOLS.get(at..=at)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_other_programs_resolve_to_our_tools() {
        let ours = |name| match resolve_tool_name(name) {
            ToolNameMeaning::BuiltIn(ours) => ours.join("+"),
            other => format!("{other:?}"),
        };
        let names = ["Bash", "Read", "Write", "Edit", "Grep", "search", "execute", "web", "Task", "view", "TodoWrite"];
        assert_eq!(
            names.map(ours),
            [
                "shell",
                "view",
                "create",
                "edit+create",
                "grep",
                "grep+glob",
                "shell",
                "web_fetch",
                "task",
                "view",
                "sql"
            ]
        );
        assert_eq!(
            resolve_tool_name("Agent(explore, code-review)"),
            ToolNameMeaning::Agents(vec!["explore".into(), "code-review".into()])
        );
        assert_eq!(resolve_tool_name("*"), ToolNameMeaning::All);
        assert_eq!(resolve_tool_name("github/*"), ToolNameMeaning::OfMcpServer);
        let names =
            ["search/codebase", "search", "edit/editFiles", "execute/runInTerminal", "read/readFile", "web/fetch"];
        assert_eq!(names.map(ours), ["grep+glob", "grep+glob", "edit+create", "shell", "view", "web_fetch"]);
        assert_eq!(["agent/runSubagent", "search/*"].map(ours), ["task", "grep+glob"]);
        assert_eq!(
            (resolve_tool_name("vscode/vscodeAPI"), resolve_tool_name("search/usages")),
            (ToolNameMeaning::NotInBosun, ToolNameMeaning::NotInBosun)
        );
        assert_eq!(resolve_tool_name("mcp__db__query"), ToolNameMeaning::OfMcpServer);
        assert_eq!(resolve_tool_name("WebSearch"), ToolNameMeaning::NotInBosun);
        assert_eq!(resolve_tool_name("Bash(git:*)"), ToolNameMeaning::Pattern("Bash".into()));
        assert_eq!(resolve_tool_name("Gerp"), ToolNameMeaning::Unknown(Some("grep")));
    }

    #[test]
    fn aliases_name_existing_tools() {
        for (alias, ours) in ALIASES {
            assert!(ours.iter().all(|name| BUILT_IN_TOOLS.contains(name)), "{alias}");
        }
    }
}
