//! Tool names in rules: Bosun's own, and those of other programs.

use super::WordPattern;

/// The kind of a tool's calls, as far as rules distinguish them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ToolCallKind {
    Shell,
    Read,
    Edit,
    Fetch,
    /// Starting agents, by type.
    Agent,
    /// The session's own state.
    Session,
    Other,
}

/// The tool of a rule.
#[derive(Debug)]
pub(super) struct RuleToolName {
    pub(super) kind: ToolCallKind,
    /// A pattern for the single tool it covers; `None` for a whole family.
    pub(super) single_tool: Option<WordPattern>,
    /// Its canonical name.
    pub(super) canonical: String,
}

/// Families of tools, with Bosun's name and other programs' names.
const FAMILIES: [(ToolCallKind, &str, &[&str]); 5] = [
    (ToolCallKind::Shell, "shell", &["Bash", "bash", "Shell"]),
    (ToolCallKind::Read, "read", &["Read", "Grep", "Glob", "LS"]),
    (ToolCallKind::Edit, "edit", &["Edit", "Write", "write", "MultiEdit", "NotebookEdit"]),
    (ToolCallKind::Fetch, "fetch", &["WebFetch", "url"]),
    (ToolCallKind::Agent, "task", &["Agent", "Task"]),
];

/// Tools with names of their own.
const TOOLS: [(ToolCallKind, &str); 29] = [
    (ToolCallKind::Read, "view"),
    (ToolCallKind::Read, "grep"),
    (ToolCallKind::Read, "glob"),
    (ToolCallKind::Edit, "create"),
    (ToolCallKind::Edit, "apply_patch"),
    (ToolCallKind::Fetch, "web_fetch"),
    (ToolCallKind::Session, "ask_user"),
    (ToolCallKind::Session, "list_agents"),
    (ToolCallKind::Session, "read_agent"),
    (ToolCallKind::Session, "write_agent"),
    (ToolCallKind::Session, "stop_agent"),
    (ToolCallKind::Session, "wait"),
    (ToolCallKind::Session, "tool_search"),
    (ToolCallKind::Session, "skill"),
    (ToolCallKind::Session, "list_shells"),
    (ToolCallKind::Session, "read_shell"),
    (ToolCallKind::Session, "stop_shell"),
    (ToolCallKind::Session, "report_intent"),
    (ToolCallKind::Session, "sql"),
    (ToolCallKind::Session, "TaskCreate"),
    (ToolCallKind::Session, "TaskGet"),
    (ToolCallKind::Session, "TaskList"),
    (ToolCallKind::Session, "TaskUpdate"),
    (ToolCallKind::Session, "TaskOutput"),
    (ToolCallKind::Session, "TaskStop"),
    (ToolCallKind::Session, "until"),
    (ToolCallKind::Session, "write_plan"),
    (ToolCallKind::Session, "exit_plan_mode"),
    (ToolCallKind::Session, "task_complete"),
];

/// Shorter names are similar to too many others to guess.
const MIN_GUESS_LENGTH: usize = 4;

impl RuleToolName {
    pub(super) fn parse(name: &str) -> Result<RuleToolName, String> {
        let allowed = |c: char| c.is_ascii_alphanumeric() || "_-./*".contains(c);
        if name.is_empty() {
            return Err("it names no tool".into());
        }
        if let Some(invalid) = name.chars().find(|&c| !allowed(c)) {
            return Err(format!("a tool's name cannot contain {invalid:?}"));
        }
        let family = FAMILIES.iter().find(|(_, ours, others)| *ours == name || others.contains(&name));
        if let Some((kind, ours, _)) = family {
            return Ok(RuleToolName { kind: *kind, single_tool: None, canonical: (*ours).into() });
        }
        let kind = match TOOLS.iter().find(|(_, tool)| *tool == name) {
            Some((kind, _)) => *kind,
            None => check_unknown_tool(name)?,
        };
        Ok(RuleToolName { kind, single_tool: Some(WordPattern::glob(name)), canonical: name.into() })
    }
}

/// The kind of a built-in tool's calls, by any of its names.
pub(super) fn kind_of(tool: &str) -> Option<ToolCallKind> {
    let family = FAMILIES.iter().find(|(_, ours, others)| *ours == tool || others.contains(&tool));
    let family = family.map(|(kind, ..)| *kind);
    family.or_else(|| TOOLS.iter().find(|(_, name)| *name == tool).map(|(kind, _)| *kind))
}

/// Accepts an unknown tool, which may exist later, unless its name looks like a typo.
fn check_unknown_tool(name: &str) -> Result<ToolCallKind, String> {
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return Err("a tool's name begins with a letter".into());
    }
    let known = FAMILIES.iter().flat_map(|(_, ours, others)| std::iter::once(ours).chain(*others));
    let known = known.chain(TOOLS.iter().map(|(_, tool)| tool)).filter(|known| known.len() >= MIN_GUESS_LENGTH);
    let nearest = known.map(|known| (self::edit_distance(name, known), known)).min_by_key(|(distance, _)| *distance);
    match nearest {
        Some((distance, nearest))
            if distance <= 1 || (distance == 2 && (name.len() > 6 || has_same_letters(name, nearest))) =>
        {
            Err(format!("there is no tool `{name}`; did you mean `{nearest}`?"))
        }
        Some(_) | None => Ok(ToolCallKind::Other),
    }
}

/// Whether both have the same letters.
fn has_same_letters(one: &str, other: &str) -> bool {
    let letters = |name: &str| {
        let mut letters: Vec<char> = name.to_ascii_lowercase().chars().collect();
        letters.sort_unstable();
        letters
    };
    letters(one) == letters(other)
}

/// The edit distance of two names, ignoring case.
fn edit_distance(one: &str, other: &str) -> usize {
    strsim::levenshtein(&one.to_ascii_lowercase(), &other.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typos_are_rejected_and_unknown_tools_accepted() {
        for (typo, meant) in
            [("shel", "shell"), ("SHELL", "shell"), ("Webfetch", "WebFetch"), ("aply_pach", "apply_patch")]
        {
            assert!(RuleToolName::parse(typo).unwrap_err().contains(meant), "{typo}");
        }
        for unknown in ["mcp__github__search", "mcp__github__*", "lsp", "memory"] {
            assert_eq!(RuleToolName::parse(unknown).unwrap().kind, ToolCallKind::Other, "{unknown}");
        }
    }
}
