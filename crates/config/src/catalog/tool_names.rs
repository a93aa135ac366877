//! Tool names: Bosun's own, and other programs' names for the same tools.

use protocol::tool_name::*;
use protocol::{TOOLS, ToolEntry};

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

/// Other programs' names, in lower case, with Bosun's tools. `edit` is also Bosun's name; here it includes `create`.
const ALIASES: [(&str, &[&str]); 56] = [
    ("edit", &[EDIT, CREATE]),
    ("multiedit", &[EDIT]),
    ("write", &[CREATE]),
    ("create_file", &[CREATE]),
    ("editfiles", &[EDIT, CREATE]),
    ("applypatch", &[APPLY_PATCH]),
    ("read", &[VIEW]),
    ("readfile", &[VIEW]),
    ("read_file", &[VIEW]),
    ("ls", &[VIEW, GLOB]),
    ("list_dir", &[VIEW, GLOB]),
    ("notebookread", &[VIEW]),
    ("search", &[GREP, GLOB]),
    ("codebase", &[GREP, GLOB]),
    ("textsearch", &[GREP]),
    ("grep_search", &[GREP]),
    ("filesearch", &[GLOB]),
    ("file_search", &[GLOB]),
    ("bash", &[SHELL]),
    ("execute", &[SHELL]),
    ("powershell", &[SHELL]),
    ("terminal", &[SHELL]),
    ("runcommands", &[SHELL]),
    ("runinterminal", &[SHELL]),
    ("run_in_terminal", &[SHELL]),
    ("bashoutput", &[READ_SHELL]),
    ("read_bash", &[READ_SHELL]),
    ("killshell", &[STOP_SHELL]),
    ("killbash", &[STOP_SHELL]),
    ("stop_bash", &[STOP_SHELL]),
    ("web", &[WEB_FETCH]),
    ("webfetch", &[WEB_FETCH]),
    ("fetch", &[WEB_FETCH]),
    ("agent", &[TASK]),
    ("custom-agent", &[TASK]),
    ("runsubagent", &[TASK]),
    ("sendmessage", &[WRITE_AGENT]),
    ("todo", &[SQL]),
    ("todos", &[SQL]),
    ("todowrite", &[SQL]),
    ("askuserquestion", &[ASK_USER]),
    ("askquestions", &[ASK_USER]),
    ("createfile", &[CREATE]),
    ("createdirectory", &[CREATE]),
    ("editnotebook", &[EDIT]),
    ("listdirectory", &[VIEW, GLOB]),
    ("viewimage", &[VIEW]),
    ("findtestfiles", &[GLOB]),
    ("searchresults", &[GREP]),
    ("getterminaloutput", &[READ_SHELL]),
    ("awaitterminal", &[READ_SHELL]),
    ("killterminal", &[STOP_SHELL]),
    ("runtask", &[SHELL]),
    ("createandruntask", &[SHELL]),
    ("multi_replace_string_in_file", &[EDIT]),
    ("replace_string_in_file", &[EDIT]),
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
        (Some([TASK]), Some(types)) => {
            let types = types.split(',').map(|name| name.trim().to_owned()).filter(|name| !name.is_empty());
            ToolNameMeaning::Agents(types.collect())
        }
        (Some(_), Some(pattern)) if !matches!(pattern.trim(), "" | "*") => ToolNameMeaning::Pattern(word.to_owned()),
        (Some(ours), _) => ToolNameMeaning::BuiltIn(ours),
        (None, _) if TOOLS_NOT_IN_BOSUN.contains(&lower.as_str()) => ToolNameMeaning::NotInBosun,
        (None, _) => {
            let known: Vec<&'static str> =
                listable_tools().map(|tool| tool.name).chain(ALIASES.iter().map(|(alias, _)| *alias)).collect();
            ToolNameMeaning::Unknown(nearest(&lower, &known))
        }
    }
}

fn tools_of_name(lower: &str) -> Option<&'static [&'static str]> {
    let alias = ALIASES.iter().find(|(alias, _)| *alias == lower).map(|(_, ours)| *ours);
    let own = || listable_tools().find(|tool| tool.name.eq_ignore_ascii_case(lower));
    alias.or_else(|| own().map(|tool| std::slice::from_ref(&tool.name)))
}

fn listable_tools() -> impl Iterator<Item = &'static ToolEntry> {
    TOOLS.iter().filter(|tool| tool.is_listable())
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
            assert!(ours.iter().all(|name| listable_tools().any(|tool| tool.name == *name)), "{alias}");
        }
    }

    #[test]
    fn a_definition_names_our_tools_in_any_case() {
        for tool in &TOOLS {
            let meaning = resolve_tool_name(&tool.name.to_uppercase());
            let is_known = matches!(meaning, ToolNameMeaning::BuiltIn(ours) if ours[0] == tool.name);
            assert_eq!(is_known, tool.is_listable(), "{}", tool.name);
        }
        assert_eq!(resolve_tool_name("TaskGett"), ToolNameMeaning::Unknown(Some("TaskGet")));
    }
}
