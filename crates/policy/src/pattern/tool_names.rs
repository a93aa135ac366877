//! Tool names in rules: Bosun's own, and those of other programs.

use protocol::{RULE_FAMILIES, RuleFamily, TOOLS, ToolClass, find_tool, rule_family};

use super::WordPattern;

/// The tool of a rule.
#[derive(Debug)]
pub(super) struct RuleToolName {
    pub(super) class: ToolClass,
    /// A pattern for the single tool it covers; `None` for a whole family.
    pub(super) single_tool: Option<WordPattern>,
    /// Its canonical name.
    pub(super) canonical: String,
}

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
        if let Some(family) = rule_family(name) {
            return Ok(RuleToolName { class: family.class, single_tool: None, canonical: family.name.into() });
        }
        let class = match find_tool(name) {
            Some(tool) => tool.class,
            None => check_unknown_tool(name)?,
        };
        Ok(RuleToolName { class, single_tool: Some(WordPattern::glob(name)), canonical: name.into() })
    }
}

/// The class of a built-in tool or a family, by any of its names.
pub(super) fn class_of(tool: &str) -> Option<ToolClass> {
    rule_family(tool).map(|family| family.class).or_else(|| find_tool(tool).map(|tool| tool.class))
}

/// Accepts an unknown tool, which may exist later, unless its name looks like a typo.
fn check_unknown_tool(name: &str) -> Result<ToolClass, String> {
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return Err("a tool's name begins with a letter".into());
    }
    let known = RULE_FAMILIES.iter().flat_map(RuleFamily::names).chain(TOOLS.iter().map(|tool| tool.name));
    let known = known.filter(|known| known.len() >= MIN_GUESS_LENGTH);
    let nearest = known.map(|known| (self::edit_distance(name, known), known)).min_by_key(|(distance, _)| *distance);
    match nearest {
        Some((distance, nearest))
            if distance <= 1 || (distance == 2 && (name.len() > 6 || has_same_letters(name, nearest))) =>
        {
            Err(format!("there is no tool `{name}`; did you mean `{nearest}`?"))
        }
        Some(_) | None => Ok(ToolClass::Other),
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
        for (typo, meant) in [
            ("shel", "`shell`"),
            ("SHELL", "`shell`"),
            ("Webfetch", "`WebFetch`"),
            ("aply_pach", "`apply_patch`"),
            ("TaskGett", "`TaskGet`"),
            ("viwe", "`view`"),
            ("read_agnet", "`read_agent`"),
        ] {
            assert!(RuleToolName::parse(typo).unwrap_err().contains(meant), "{typo}");
        }
        for unknown in ["mcp__github__search", "mcp__github__*", "lsp", "memory"] {
            assert_eq!(RuleToolName::parse(unknown).unwrap().class, ToolClass::Other, "{unknown}");
        }
    }

    #[test]
    fn rules_know_every_tool() {
        for tool in &TOOLS {
            assert_eq!(RuleToolName::parse(tool.name).unwrap().class, tool.class, "{}", tool.name);
            assert_eq!(class_of(tool.name), Some(tool.class), "{}", tool.name);
        }
    }
}
