//! Braces that the shell expands to several words.

/// Whether the shell may expand the braces of a word.
pub(super) fn may_expand(text: &str) -> bool {
    let inside = text.split_once('{').and_then(|(_, rest)| rest.rsplit_once('}')).map(|(inside, _)| inside);
    inside.is_some_and(|inside| inside.contains(',') || inside.contains(".."))
}

/// Expands a single list such as `a{b,c}d`; returns `None` for anything more complex.
pub(super) fn expand(text: &str) -> Option<Vec<String>> {
    let (before, rest) = text.split_once('{')?;
    let (inside, after) = rest.split_once('}')?;
    let single = ![before, inside, after].iter().any(|part| part.contains(['{', '}']));
    if !single || inside.contains("..") || !inside.contains(',') || text.contains('~') {
        return None;
    }
    let words: Vec<String> = inside.split(',').map(|item| format!("{before}{item}{after}")).collect();
    words.iter().all(|word| !word.is_empty()).then_some(words)
}
