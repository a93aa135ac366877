//! Finds names close to one that does not exist.

use strsim::levenshtein as distance;

/// The candidates most similar to `name`, best first, at most three.
pub(crate) fn nearest(name: &str, candidates: impl IntoIterator<Item = String>) -> Vec<String> {
    let wanted = name.to_lowercase();
    let limit = wanted.chars().count().div_ceil(2);
    let mut close: Vec<(usize, String)> = candidates
        .into_iter()
        .map(|candidate| (distance(&wanted, &candidate.to_lowercase()), candidate))
        .filter(|(distance, _)| *distance <= limit)
        .collect();
    close.sort();
    close.into_iter().take(3).map(|(_, candidate)| candidate).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        for (from, to, expected) in [("", "", 0), ("", "abc", 3), ("kitten", "sitting", 3), ("é", "e", 1)] {
            assert_eq!(distance(from, to), expected);
        }
    }

    #[test]
    fn similar_names_come_first_and_others_are_left_out() {
        let names = ["main.rs", "Mian.rs", "maim.rs", "man.rs", "README.md"].map(str::to_owned);
        assert_eq!(nearest("Main.rs", names), ["main.rs", "maim.rs", "man.rs"]);
    }
}
