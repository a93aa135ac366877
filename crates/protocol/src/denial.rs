//! The tool result of a call that no rule permits.

const NOT_PERMITTED: &str = "` was not permitted: ";
const REMEDY: &str = " The user can permit it with `";
const INSTRUCTION: &str = " Continue without it and tell the user.";

/// The denial for the model, with the flags with which the user can permit the call.
pub fn denial_text(tool: &str, reason: &str, flags: Option<&str>) -> String {
    let remedy = flags.map(|flags| format!("{REMEDY}{flags}`.")).unwrap_or_default();
    format!("`{tool}{NOT_PERMITTED}{reason}.{remedy}{INSTRUCTION}")
}

/// The reason in a denial, without what only the model needs to read.
pub fn denial_reason(text: &str) -> &str {
    let Some((_, rest)) = text.split_once(NOT_PERMITTED) else { return text };
    let end = [REMEDY, INSTRUCTION].into_iter().filter_map(|part| rest.find(part)).min();
    end.map_or(rest, |end| rest[..end].trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_is_found_with_and_without_flags() {
        for flags in [None, Some("--allow 'shell(git)'")] {
            assert_eq!(denial_reason(&denial_text("shell", "no rule matches `git`", flags)), "no rule matches `git`");
        }
        assert_eq!(denial_reason("A hook denied this call"), "A hook denied this call");
    }
}
