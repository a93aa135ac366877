//! Frontmatter: lines between two `---` lines at the beginning of a Markdown definition.

/// A text, split into frontmatter and body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrontMatter<'a> {
    /// It has no frontmatter.
    Absent {
        /// The whole text.
        body: &'a str,
    },
    /// Its frontmatter has no closing line.
    Unterminated,
    /// It has frontmatter and a body.
    Present {
        /// The frontmatter: the lines between the dashes. It begins in the text's second line.
        head: &'a str,
        /// The rest of the text.
        body: &'a str,
    },
}

impl<'a> FrontMatter<'a> {
    /// Splits a text. A byte order mark and either kind of line ending are accepted.
    pub fn parse(text: &'a str) -> FrontMatter<'a> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let Some((first, rest)) = text.split_once('\n') else { return FrontMatter::Absent { body: text } };
        if first.trim_end() != "---" {
            return FrontMatter::Absent { body: text };
        }
        let mut offset = 0;
        for line in rest.split_inclusive('\n') {
            if line.trim_end() == "---" {
                return FrontMatter::Present { head: &rest[..offset], body: &rest[offset + line.len()..] };
            }
            offset += line.len();
        }
        FrontMatter::Unterminated
    }

    /// The text without its frontmatter.
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
    fn frontmatter_is_between_two_lines_of_dashes() {
        let whole = FrontMatter::parse("\u{feff}---\r\nname: x\r\n---\r\nDo it.\n");
        assert_eq!(whole, FrontMatter::Present { head: "name: x\r\n", body: "Do it.\n" });
        assert_eq!(FrontMatter::parse("---\n---"), FrontMatter::Present { head: "", body: "" });
        assert_eq!(FrontMatter::parse("---\nname: x\n"), FrontMatter::Unterminated);
        assert_eq!(FrontMatter::parse("# Title\n---\n"), FrontMatter::Absent { body: "# Title\n---\n" });
        assert_eq!(FrontMatter::parse("---"), FrontMatter::Absent { body: "---" });
        assert_eq!(FrontMatter::parse("").body(), Some(""));
    }
}
