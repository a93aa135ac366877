//! Normalised names of agents and skills.

use protocol::AgentSpec;

/// Maximum length of a name, in characters.
const MAX_NAME_LENGTH: usize = 64;

/// Normalises a name: lower case, with dashes for blanks, underscores and dots. Fails if it is not a valid name.
pub(super) fn normalize(written: &str) -> Result<String, &'static str> {
    let name = AgentSpec::normalize_name(written);
    if name.is_empty() {
        return Err("it has no letters or digits");
    }
    if name.chars().count() > MAX_NAME_LENGTH {
        return Err("it has more than 64 characters");
    }
    if !name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | ':')) {
        return Err("it has characters other than letters, digits and dashes");
    }
    Ok(name)
}

/// Normalises a name for comparison; an invalid one is only trimmed, and matches nothing.
pub(crate) fn normalize_or_trim(name: &str) -> String {
    normalize(name).unwrap_or_else(|_why| name.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_one_form() {
        let names = ["Code Reviewer", "code_reviewer", " CODE-REVIEWER ", "code.reviewer"];
        assert!(names.iter().all(|name| normalize(name).as_deref() == Ok("code-reviewer")));
        for wrong in ["", "  ", "---", "prüfer", "a/b", "x!", "🦀", &"x".repeat(65)] {
            assert!(normalize(wrong).is_err(), "{wrong}");
        }
    }
}
