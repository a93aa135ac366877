//! Names of tools in rules: ours, and those that people know from elsewhere.

use super::WordPattern;

/// What the calls of a tool do, as far as rules can tell them apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Shell,
    Read,
    Edit,
    Fetch,
    /// Agents, by their types.
    Agent,
    /// The session's own state.
    Session,
    Other,
}

/// The tool of a rule.
#[derive(Debug)]
pub(super) struct Name {
    pub(super) kind: Kind,
    /// The one tool it is about; none for a whole family.
    pub(super) only: Option<WordPattern>,
    /// Its name in our words.
    pub(super) shown: String,
}

/// Families of tools, by our name for them and by others'.
const FAMILIES: [(Kind, &str, &[&str]); 5] = [
    (Kind::Shell, "shell", &["Bash", "bash", "Shell"]),
    (Kind::Read, "read", &["Read", "Grep", "Glob", "LS"]),
    (Kind::Edit, "edit", &["Edit", "Write", "write", "MultiEdit", "NotebookEdit"]),
    (Kind::Fetch, "fetch", &["WebFetch", "url"]),
    (Kind::Agent, "task", &["Agent", "Task"]),
];

/// Tools that go by their own name.
const TOOLS: [(Kind, &str); 29] = [
    (Kind::Read, "view"),
    (Kind::Read, "grep"),
    (Kind::Read, "glob"),
    (Kind::Edit, "create"),
    (Kind::Edit, "apply_patch"),
    (Kind::Fetch, "web_fetch"),
    (Kind::Session, "ask_user"),
    (Kind::Session, "list_agents"),
    (Kind::Session, "read_agent"),
    (Kind::Session, "write_agent"),
    (Kind::Session, "stop_agent"),
    (Kind::Session, "wait"),
    (Kind::Session, "tool_search"),
    (Kind::Session, "skill"),
    (Kind::Session, "list_shells"),
    (Kind::Session, "read_shell"),
    (Kind::Session, "stop_shell"),
    (Kind::Session, "report_intent"),
    (Kind::Session, "sql"),
    (Kind::Session, "TaskCreate"),
    (Kind::Session, "TaskGet"),
    (Kind::Session, "TaskList"),
    (Kind::Session, "TaskUpdate"),
    (Kind::Session, "TaskOutput"),
    (Kind::Session, "TaskStop"),
    (Kind::Session, "until"),
    (Kind::Session, "write_plan"),
    (Kind::Session, "exit_plan_mode"),
    (Kind::Session, "task_complete"),
];

/// Shorter names are near to too many others to guess at.
const LONG_ENOUGH: usize = 4;

impl Name {
    pub(super) fn read(name: &str) -> Result<Name, String> {
        let allowed = |c: char| c.is_ascii_alphanumeric() || "_-./*".contains(c);
        if name.is_empty() {
            return Err("it names no tool".into());
        }
        if let Some(odd) = name.chars().find(|&c| !allowed(c)) {
            return Err(format!("a tool's name has no {odd:?} in it"));
        }
        let family = FAMILIES.iter().find(|(_, ours, others)| *ours == name || others.contains(&name));
        if let Some((kind, ours, _)) = family {
            return Ok(Name { kind: *kind, only: None, shown: (*ours).into() });
        }
        let kind = match TOOLS.iter().find(|(_, tool)| *tool == name) {
            Some((kind, _)) => *kind,
            None => unknown(name)?,
        };
        Ok(Name { kind, only: Some(WordPattern::glob(name)), shown: name.into() })
    }
}

/// What the calls of a tool of ours do, by any of its names.
pub(super) fn kind_of(tool: &str) -> Option<Kind> {
    let family = FAMILIES.iter().find(|(_, ours, others)| *ours == tool || others.contains(&tool));
    let family = family.map(|(kind, ..)| *kind);
    family.or_else(|| TOOLS.iter().find(|(_, name)| *name == tool).map(|(kind, _)| *kind))
}

/// A tool that is not known may come later, unless its name looks like a slip.
fn unknown(name: &str) -> Result<Kind, String> {
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return Err("a tool's name begins with a letter".into());
    }
    let known = FAMILIES.iter().flat_map(|(_, ours, others)| std::iter::once(ours).chain(*others));
    let known = known.chain(TOOLS.iter().map(|(_, tool)| tool)).filter(|known| known.len() >= LONG_ENOUGH);
    let meant = known.map(|known| (distance(name, known), known)).min_by_key(|(steps, _)| *steps);
    match meant {
        Some((steps, meant)) if steps <= 1 || (steps == 2 && (name.len() > 6 || is_shuffled(name, meant))) => {
            Err(format!("there is no tool `{name}`; did you mean `{meant}`?"))
        }
        Some(_) | None => Ok(Kind::Other),
    }
}

/// Whether both are made of the same letters.
fn is_shuffled(one: &str, other: &str) -> bool {
    let letters = |name: &str| {
        let mut letters: Vec<char> = name.to_ascii_lowercase().chars().collect();
        letters.sort_unstable();
        letters
    };
    letters(one) == letters(other)
}

/// How many letters must be changed, added or left out to make one name of the other, whatever their case.
fn distance(one: &str, other: &str) -> usize {
    strsim::levenshtein(&one.to_ascii_lowercase(), &other.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_told_from_tools_that_come_later() {
        for (slip, meant) in
            [("shel", "shell"), ("SHELL", "shell"), ("Webfetch", "WebFetch"), ("aply_pach", "apply_patch")]
        {
            assert!(Name::read(slip).unwrap_err().contains(meant), "{slip}");
        }
        for later in ["mcp__github__search", "mcp__github__*", "lsp", "memory"] {
            assert_eq!(Name::read(later).unwrap().kind, Kind::Other, "{later}");
        }
    }
}
