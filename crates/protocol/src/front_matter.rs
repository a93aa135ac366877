//! Texts that begin with a head: lines between two lines of three dashes, as definitions in Markdown do.

/// A text, taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrontMatter<'a> {
    /// It has no head.
    Absent {
        /// All of it.
        body: &'a str,
    },
    /// Its head never ends.
    Unterminated,
    /// It has both.
    Present {
        /// The lines between the dashes; the first of them is the text's second line.
        head: &'a str,
        /// What follows.
        body: &'a str,
    },
}

impl<'a> FrontMatter<'a> {
    /// Takes a text apart. A mark of the byte order and ends of lines of either kind are fine.
    pub fn parse(text: &'a str) -> FrontMatter<'a> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let Some((first, rest)) = text.split_once('\n') else { return FrontMatter::Absent { body: text } };
        if first.trim_end() != "---" {
            return FrontMatter::Absent { body: text };
        }
        let mut at = 0;
        for line in rest.split_inclusive('\n') {
            if line.trim_end() == "---" {
                return FrontMatter::Present { head: &rest[..at], body: &rest[at + line.len()..] };
            }
            at += line.len();
        }
        FrontMatter::Unterminated
    }

    /// What a reader of the text is told: what follows the head, if there is one.
    pub fn body(self) -> Option<&'a str> {
        match self {
            FrontMatter::Absent { body } | FrontMatter::Present { body, .. } => Some(body),
            FrontMatter::Unterminated => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_stands_between_two_lines_of_dashes() {
        let whole = FrontMatter::parse("\u{feff}---\r\nname: x\r\n---\r\nDo it.\n");
        assert_eq!(whole, FrontMatter::Present { head: "name: x\r\n", body: "Do it.\n" });
        assert_eq!(FrontMatter::parse("---\n---"), FrontMatter::Present { head: "", body: "" });
        assert_eq!(FrontMatter::parse("---\nname: x\n"), FrontMatter::Unterminated);
        assert_eq!(FrontMatter::parse("# Title\n---\n"), FrontMatter::Absent { body: "# Title\n---\n" });
        assert_eq!(FrontMatter::parse("---"), FrontMatter::Absent { body: "---" });
        assert_eq!(FrontMatter::parse("").body(), Some(""));
    }
}
