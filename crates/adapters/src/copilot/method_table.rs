//! Every method that the family has published, and whether it is served. Those that are not answer that nobody knows
//! them, as SDKs expect of a server that is older than they are.

/// One method a line: served with a plus, not served with a minus.
const METHODS: &str = include_str!("methods.txt");

/// One method that the family has published.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PublishedMethod {
    /// Its name.
    pub name: &'static str,
    /// Whether it is served.
    pub is_served: bool,
}

/// Every method that the family has published.
pub fn published_methods() -> impl Iterator<Item = PublishedMethod> {
    METHODS.lines().filter_map(|line| match line.split_once(' ') {
        Some(("+", name)) => Some(PublishedMethod { name, is_served: true }),
        Some(("-", name)) => Some(PublishedMethod { name, is_served: false }),
        Some(_) | None => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_table_is_a_method_and_none_is_there_twice() {
        let names: std::collections::BTreeSet<_> = published_methods().map(|method| method.name).collect();
        assert_eq!(names.len(), METHODS.lines().count());
    }
}
