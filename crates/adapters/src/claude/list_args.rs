//! Lists of tools and rules in flags, separated by commas or spaces outside parentheses.

/// Splits a list into its entries.
pub(super) fn split(text: &str) -> Vec<String> {
    let mut depth = 0_usize;
    let parts = text.split(|c: char| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _other => {}
        }
        depth == 0 && (c == ',' || c.is_whitespace())
    });
    parts.map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_split_at_commas_and_spaces_outside_parentheses() {
        assert_eq!(split("Read, Bash(git log, x *) Edit"), ["Read", "Bash(git log, x *)", "Edit"]);
        assert_eq!(split(" ,, "), [""; 0]);
        assert_eq!(split("Bash(a"), ["Bash(a"]);
    }
}
