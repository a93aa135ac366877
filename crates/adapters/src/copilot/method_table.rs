//! All published methods of the Copilot SDK, and whether Bosun serves them. The others are answered as unknown methods,
//! which SDKs expect from a server older than themselves.

/// One method per line: plus if served, minus if not.
const METHODS: &str = include_str!("methods.txt");

/// A published method of the Copilot SDK.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PublishedMethod {
    /// Its name.
    pub name: &'static str,
    /// Whether it is served.
    pub is_served: bool,
}

/// All published methods of the Copilot SDK.
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
    fn every_line_is_a_different_method() {
        let names: std::collections::BTreeSet<_> = published_methods().map(|method| method.name).collect();
        assert_eq!(names.len(), METHODS.lines().count());
    }
}
