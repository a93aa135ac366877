//! Names close to one that does not exist.

/// The candidates most like `name`, best first, at most three.
pub(crate) fn nearest(name: &str, candidates: impl IntoIterator<Item = String>) -> Vec<String> {
    let wanted = name.to_lowercase();
    let enough = wanted.chars().count().div_ceil(2);
    let mut close: Vec<(usize, String)> = candidates
        .into_iter()
        .map(|candidate| (distance(&wanted, &candidate.to_lowercase()), candidate))
        .filter(|(distance, _)| *distance <= enough)
        .collect();
    close.sort();
    close.into_iter().take(3).map(|(_, candidate)| candidate).collect()
}

/// How many characters must be added, removed or replaced to come from one to the other.
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, b) in to.iter().enumerate() {
            let replaced = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[to.len()]
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
    fn close_names_come_first_and_far_ones_not_at_all() {
        let names = ["main.rs", "Mian.rs", "maim.rs", "man.rs", "README.md"].map(str::to_owned);
        assert_eq!(nearest("Main.rs", names), ["main.rs", "maim.rs", "man.rs"]);
    }
}
