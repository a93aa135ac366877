//! Compound commands: loops, branches, groups and functions.

use super::list::ListTerminator;
use super::parser::{ParseResult, ShellParser};
use super::{CommandTiming, ShellWord, variables};

impl ShellParser<'_> {
    /// Reads one command of a pipeline.
    pub(super) fn command(&mut self) -> ParseResult {
        if self.compound()? {
            return self.redirects();
        }
        match self.peek_token() {
            "coproc" => self.coprocess(),
            "function" => self.function_word(),
            "then" | "else" | "elif" | "fi" | "do" | "done" | "esac" | "in" | "}" | "!" | "]]" => {
                self.stop("a shell keyword where a command is expected")
            }
            _ => self.simple(),
        }
    }

    /// Reads a compound command without its redirections, if one begins here.
    fn compound(&mut self) -> ParseResult<bool> {
        if self.is_next("((") {
            self.arithmetic()?;
            return Ok(true);
        }
        if self.take("(") {
            self.until_parenthesis()?;
            return Ok(true);
        }
        match self.peek_token() {
            "{" => self.group()?,
            "if" => self.if_command()?,
            "while" => self.while_loop("while")?,
            "until" => self.while_loop("until")?,
            "for" => self.for_loop("for")?,
            "select" => self.for_loop("select")?,
            "case" => self.case()?,
            "[[" => self.condition()?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn group(&mut self) -> ParseResult {
        self.expect("{")?;
        self.list(ListTerminator::Words(&["}"]))?;
        self.expect("}")
    }

    fn body(&mut self) -> ParseResult {
        self.expect("do")?;
        self.list(ListTerminator::Words(&["done"]))?;
        self.expect("done")
    }

    fn if_command(&mut self) -> ParseResult {
        self.expect("if")?;
        loop {
            self.list(ListTerminator::Words(&["then"]))?;
            self.expect("then")?;
            self.list(ListTerminator::Words(&["elif", "else", "fi"]))?;
            match self.peek_token() {
                "elif" => self.expect("elif")?,
                "else" => {
                    self.expect("else")?;
                    self.list(ListTerminator::Words(&["fi"]))?;
                    return self.expect("fi");
                }
                _ => return self.expect("fi"),
            }
        }
    }

    fn while_loop(&mut self, word: &'static str) -> ParseResult {
        self.expect(word)?;
        self.list(ListTerminator::Words(&["do"]))?;
        self.body()
    }

    fn for_loop(&mut self, word: &'static str) -> ParseResult {
        self.expect(word)?;
        self.skip_blanks()?;
        let from = self.position;
        let name = self.peek_token();
        if !variables::is_name(name) {
            return self.stop("this form of loop is not supported");
        }
        self.position += name.len();
        if !variables::is_private(name) {
            self.mark_unclear(from, "it sets a variable that other programs may read");
        }
        self.skip_newlines()?;
        if self.peek_token() == "in" {
            self.position += 2;
            self.words()?;
        }
        self.skip_blanks()?;
        self.take(";");
        self.skip_newlines()?;
        self.body()
    }

    /// Reads words up to an operator.
    fn words(&mut self) -> ParseResult {
        loop {
            self.skip_blanks()?;
            if self.word()?.is_none() {
                return Ok(());
            }
        }
    }

    fn case(&mut self) -> ParseResult {
        self.expect("case")?;
        self.skip_blanks()?;
        if self.word()?.is_none() {
            return self.stop("`case` has no word");
        }
        self.skip_newlines()?;
        self.expect("in")?;
        loop {
            self.skip_newlines()?;
            if self.peek_token() == "esac" {
                return self.expect("esac");
            }
            self.patterns()?;
            self.list(ListTerminator::Item)?;
            let more = [";;&", ";;", ";&"].iter().any(|end| self.take(end));
            if !more {
                return self.expect("esac");
            }
        }
    }

    fn patterns(&mut self) -> ParseResult {
        self.take("(");
        loop {
            self.skip_blanks()?;
            if self.word()?.is_none() {
                return self.stop("this form of `case` pattern is not supported");
            }
            self.skip_blanks()?;
            if self.take(")") {
                return Ok(());
            }
            if self.is_next("||") || !self.take("|") {
                return self.stop("this form of `case` pattern is not supported");
            }
        }
    }

    /// `[[ … ]]` expands its words, and some of its operators evaluate them.
    fn condition(&mut self) -> ParseResult {
        self.expect("[[")?;
        loop {
            self.skip_blanks()?;
            if self.peek_token() == "]]" {
                return self.expect("]]");
            }
            if ["&&", "||", "(", ")", "<", ">"]
                .iter()
                .any(|operator| !self.is_process_substitution() && self.take(operator))
            {
                continue;
            }
            let Some(words) = self.word()? else { return self.stop("this form of condition is not supported") };
            let evaluates = ["-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-v", "-R"];
            if words
                .iter()
                .any(|word| matches!(&word.word, ShellWord::Known(text) if evaluates.contains(&text.as_str())))
            {
                return self.stop("a condition may evaluate text that is only known when it runs");
            }
        }
    }

    fn coprocess(&mut self) -> ParseResult {
        self.script.starts.insert(self.position);
        self.timing = CommandTiming::Unordered;
        self.expect("coproc")?;
        self.skip_blanks()?;
        if self.compound()? {
            return self.redirects();
        }
        self.simple()?;
        // In `coproc NAME { …; }`, what was read as a simple command is the name.
        if self.is_next("(") { self.stop("a coprocess has a name") } else { Ok(()) }
    }

    fn function_word(&mut self) -> ParseResult {
        self.expect("function")?;
        self.skip_blanks()?;
        let name = self.peek_token();
        self.position += name.len();
        self.skip_blanks()?;
        if self.take("(") {
            self.skip_blanks()?;
            if !self.take(")") {
                return self.stop("this form of function is not supported");
            }
        }
        self.function_body(name)
    }

    /// Reads the body of a function. Its commands count whether or not the function is called.
    pub(super) fn function_body(&mut self, name: &str) -> ParseResult {
        let plain = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
        if !plain || name.is_empty() {
            return self.stop("this form of function is not supported");
        }
        self.skip_newlines()?;
        let body = self.nested(ShellParser::compound)?;
        if body { self.redirects() } else { self.stop("a function has no body") }
    }
}
