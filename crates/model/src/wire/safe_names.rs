//! Names and ids that every provider accepts.
//!
//! A conversation may have started with another model, whose ids a provider would reject, and with them every request
//! that contains them.

use std::borrow::Cow;

use super::account::short_digest;

/// Maximum length of a name or id that all providers accept.
const MAX_NAME_BYTES: usize = 64;

/// `name` if every provider accepts it, else a stable replacement.
pub(super) fn safe_name(name: &str) -> Cow<'_, str> {
    let is_safe = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !name.is_empty() && name.len() <= MAX_NAME_BYTES && name.chars().all(is_safe) {
        return name.into();
    }
    let digest = short_digest(name);
    let kept = name.chars().take(MAX_NAME_BYTES - digest.len() - 1);
    let mut safe: String = kept.map(|c| if is_safe(c) { c } else { '_' }).collect();
    safe.push('_');
    safe.push_str(&digest);
    safe.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn safe_names_stay_and_others_get_unique_replacements() {
        assert_eq!(safe_name("toolu_01-Ab"), "toolu_01-Ab");
        let (dotted, spaced) = (safe_name("a.b"), safe_name("a b"));
        assert!(dotted.starts_with("a_b_") && spaced.starts_with("a_b_") && dotted != spaced);
        assert_eq!(safe_name("a.b"), dotted);
        for name in ["", "é", &"x".repeat(65), &"漢".repeat(70)] {
            let safe = safe_name(name);
            assert!(safe.len() <= MAX_NAME_BYTES && safe.len() > 8 && safe.is_ascii(), "{safe}");
        }
    }
}
