//! Expansions: substitutions are parsed; expansions that evaluate text only known at run time are refused.

use super::parser::{ParseResult, ShellParser};

impl<'a> ShellParser<'a> {
    /// Reads an expansion that begins with `$`. A literal `$` is returned.
    pub(super) fn dollar(&mut self) -> ParseResult<Option<&'a str>> {
        let from = self.position;
        self.position += 1;
        match self.peek() {
            Some('(') if self.is_next("((") => self.arithmetic()?,
            Some('(') => {
                self.position += 1;
                self.substitution(ShellParser::until_parenthesis)?;
            }
            Some('{') => {
                self.position += 1;
                self.nested(ShellParser::parameter)?;
            }
            Some('[') => return self.stop("`$[` is arithmetic of old shells"),
            Some('\\') if self.is_next("\\\n") => return self.stop("a line is continued in the middle of a word"),
            Some(c) if c.is_ascii_alphabetic() || c == '_' => {
                self.take_while(|c| c.is_ascii_alphanumeric() || c == '_');
            }
            Some(c) if c.is_ascii_digit() || "@*#?-$!".contains(c) => {
                self.bump();
            }
            Some(_) | None => return Ok(Some(self.since(from))),
        }
        Ok(None)
    }

    /// Arithmetic evaluates the values of its variables as text, substitutions in them included; so only numbers pass.
    pub(super) fn arithmetic(&mut self) -> ParseResult {
        self.position += 2;
        let inside = self.take_while(|c| c.is_ascii_digit() || " \t+-*/%<>=!&|^~?:,()".contains(c));
        let from = self.position - inside.len();
        let Some(length) = arithmetic_end(inside) else {
            return self.stop("arithmetic may evaluate text that is only known when it runs");
        };
        self.position = from + length + 2;
        Ok(())
    }

    /// Reads `${…}` after its opening.
    fn parameter(&mut self) -> ParseResult {
        let length = self.is_next("#") && !self.is_next("#}");
        if length {
            self.position += 1;
        }
        self.parameter_name()?;
        if self.take("}") {
            return Ok(());
        }
        if length {
            return self.stop("this form of expansion is not supported");
        }
        self.parameter_operator()?;
        self.parameter_word()
    }

    fn parameter_name(&mut self) -> ParseResult {
        let name = self.take_while(|c| c.is_ascii_alphanumeric() || c == '_');
        if name.is_empty() && !"@*#?-$!".contains(self.bump().unwrap_or(' ')) {
            return self.stop("this form of expansion is not supported");
        }
        let index = ["[@]", "[*]", "[0]"].iter().any(|index| self.take(index));
        if !index && self.is_next("[") {
            return self.stop("an index may evaluate text that is only known when it runs");
        }
        Ok(())
    }

    fn parameter_operator(&mut self) -> ParseResult {
        let known = [":-", ":+", ":?", "-", "+", "?", "##", "#", "%%", "%", "//", "/", "^^", "^", ",,", ","];
        if known.iter().any(|operator| self.take(operator)) {
            return Ok(());
        }
        if self.is_next(":=") || self.is_next("=") {
            return self.stop("an expansion sets a variable");
        }
        let range = self.take(":") && !self.take_while(|c| c.is_ascii_digit() || " -:".contains(c)).is_empty();
        if !range || !self.is_next("}") {
            return self.stop("this form of expansion is not supported");
        }
        Ok(())
    }

    /// Reads the word after an operator. Quotes are refused, since their meaning depends on surrounding double quotes.
    fn parameter_word(&mut self) -> ParseResult {
        loop {
            match self.peek() {
                Some('}') => {
                    self.bump();
                    return Ok(());
                }
                Some('$') => {
                    self.dollar()?;
                }
                None | Some('\'' | '"' | '\\' | '`' | '\n' | '<' | '>' | '{' | '(' | ')') => {
                    return self.stop("this form of expansion is not supported");
                }
                Some(_) => {
                    self.bump();
                }
            }
        }
    }

    /// Reads a substitution in backquotes, which may not contain the refused characters.
    pub(super) fn backquoted(&mut self, refused: impl Fn(char) -> bool) -> ParseResult {
        self.position += 1;
        let from = self.position;
        let inside = self.take_while(|c| c != '`');
        if inside.contains(|c| c == '\\' || refused(c)) {
            return self.stop("quotes inside backquotes are not supported");
        }
        let to = self.position;
        if !self.take("`") {
            return self.stop("a quote is not closed");
        }
        self.parse_range(from, to, |inner| inner.substitution(ShellParser::until_end))
    }
}

/// The position of the `))` that closes arithmetic. A parenthesis that closes too early makes it something else.
fn arithmetic_end(text: &str) -> Option<usize> {
    let mut open = 0_usize;
    for (at, c) in text.char_indices() {
        match c {
            '(' => open += 1,
            ')' if open > 0 => open -= 1,
            ')' => return text.get(at..).is_some_and(|rest| rest.starts_with("))")).then_some(at),
            _ => {}
        }
    }
    None
}
