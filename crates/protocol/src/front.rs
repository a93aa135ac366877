//! Texts that begin with a head: lines between two lines of three dashes, as definitions in Markdown do.

/// A text, taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Front<'a> {
    /// It has no head.
    Absent {
        /// All of it.
        body: &'a str,
    },
    /// Its head never ends.
    Open,
    /// It has both.
    Whole {
        /// The lines between the dashes; the first of them is the text's second line.
        head: &'a str,
        /// What follows.
        body: &'a str,
    },
}

impl<'a> Front<'a> {
    /// Takes a text apart. A mark of the byte order and ends of lines of either kind are fine.
    pub fn of(text: &'a str) -> Front<'a> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let Some((first, rest)) = text.split_once('\n') else { return Front::Absent { body: text } };
        if first.trim_end() != "---" {
            return Front::Absent { body: text };
        }
        let mut at = 0;
        for line in rest.split_inclusive('\n') {
            if line.trim_end() == "---" {
                return Front::Whole { head: &rest[..at], body: &rest[at + line.len()..] };
            }
            at += line.len();
        }
        Front::Open
    }

    /// What a reader of the text is told: what follows the head, if there is one.
    pub fn body(self) -> Option<&'a str> {
        match self {
            Front::Absent { body } | Front::Whole { body, .. } => Some(body),
            Front::Open => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_stands_between_two_lines_of_dashes() {
        let whole = Front::of("\u{feff}---\r\nname: x\r\n---\r\nDo it.\n");
        assert_eq!(whole, Front::Whole { head: "name: x\r\n", body: "Do it.\n" });
        assert_eq!(Front::of("---\n---"), Front::Whole { head: "", body: "" });
        assert_eq!(Front::of("---\nname: x\n"), Front::Open);
        assert_eq!(Front::of("# Title\n---\n"), Front::Absent { body: "# Title\n---\n" });
        assert_eq!(Front::of("---"), Front::Absent { body: "---" });
        assert_eq!(Front::of("").body(), Some(""));
    }
}
