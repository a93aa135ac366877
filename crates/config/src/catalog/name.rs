//! Names of agents and skills, in the one form that they are kept and compared in.

use protocol::AgentSpec;

/// Most characters of a name.
const MAX_NAME_LENGTH: usize = 64;

/// A name in small letters, with dashes for blanks, underscores and dots; says why a text can be none.
pub(super) fn normal(written: &str) -> Result<String, &'static str> {
    let name = AgentSpec::normalize_name(written);
    if name.is_empty() {
        return Err("nothing of it is left");
    }
    if name.chars().count() > MAX_NAME_LENGTH {
        return Err("it has more than 64 characters");
    }
    if !name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | ':')) {
        return Err("it has other characters than letters, digits and dashes");
    }
    Ok(name)
}

/// A name as it is compared; one that can be none stays as it is, and fits nothing.
pub(crate) fn loose(name: &str) -> String {
    normal(name).unwrap_or_else(|_why| name.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_one_form() {
        let names = ["Code Reviewer", "code_reviewer", " CODE-REVIEWER ", "code.reviewer"];
        assert!(names.iter().all(|name| normal(name).as_deref() == Ok("code-reviewer")));
        for wrong in ["", "  ", "---", "prüfer", "a/b", "x!", "🦀", &"x".repeat(65)] {
            assert!(normal(wrong).is_err(), "{wrong}");
        }
    }
}
