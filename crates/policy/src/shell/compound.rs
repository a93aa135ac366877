//! Compound commands: loops, branches, groups and functions.

use super::list::Until;
use super::reader::{Reader, Step};
use super::{When, Word, variables};

impl Reader<'_> {
    /// Reads one command of a pipeline.
    pub(super) fn command(&mut self) -> Step {
        if self.compound()? {
            return self.redirects();
        }
        match self.run() {
            "coproc" => self.coprocess(),
            "function" => self.function_word(),
            "then" | "else" | "elif" | "fi" | "do" | "done" | "esac" | "in" | "}" | "!" | "]]" => {
                self.stop("a word of the shell stands where a command should")
            }
            _ => self.simple(),
        }
    }

    /// Reads a compound command without its redirections, if one begins here.
    fn compound(&mut self) -> Step<bool> {
        if self.sees("((") {
            self.arithmetic()?;
            return Ok(true);
        }
        if self.take("(") {
            self.until_parenthesis()?;
            return Ok(true);
        }
        match self.run() {
            "{" => self.group()?,
            "if" => self.branches()?,
            "while" => self.repeat("while")?,
            "until" => self.repeat("until")?,
            "for" => self.each("for")?,
            "select" => self.each("select")?,
            "case" => self.case()?,
            "[[" => self.condition()?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn group(&mut self) -> Step {
        self.expect("{")?;
        self.list(Until::Words(&["}"]))?;
        self.expect("}")
    }

    fn body(&mut self) -> Step {
        self.expect("do")?;
        self.list(Until::Words(&["done"]))?;
        self.expect("done")
    }

    fn branches(&mut self) -> Step {
        self.expect("if")?;
        loop {
            self.list(Until::Words(&["then"]))?;
            self.expect("then")?;
            self.list(Until::Words(&["elif", "else", "fi"]))?;
            match self.run() {
                "elif" => self.expect("elif")?,
                "else" => {
                    self.expect("else")?;
                    self.list(Until::Words(&["fi"]))?;
                    return self.expect("fi");
                }
                _ => return self.expect("fi"),
            }
        }
    }

    fn repeat(&mut self, word: &'static str) -> Step {
        self.expect(word)?;
        self.list(Until::Words(&["do"]))?;
        self.body()
    }

    fn each(&mut self, word: &'static str) -> Step {
        self.expect(word)?;
        self.blanks()?;
        let from = self.at;
        let name = self.run();
        if !variables::is_name(name) {
            return self.stop("this loop is not one that is read");
        }
        self.at += name.len();
        if !variables::is_private(name) {
            self.doubt(from, "it sets a variable that other programs may listen to");
        }
        self.gap()?;
        if self.run() == "in" {
            self.at += 2;
            self.words()?;
        }
        self.blanks()?;
        self.take(";");
        self.gap()?;
        self.body()
    }

    /// Reads words up to an operator.
    fn words(&mut self) -> Step {
        loop {
            self.blanks()?;
            if self.word()?.is_none() {
                return Ok(());
            }
        }
    }

    fn case(&mut self) -> Step {
        self.expect("case")?;
        self.blanks()?;
        if self.word()?.is_none() {
            return self.stop("`case` has no word");
        }
        self.gap()?;
        self.expect("in")?;
        loop {
            self.gap()?;
            if self.run() == "esac" {
                return self.expect("esac");
            }
            self.patterns()?;
            self.list(Until::Item)?;
            let more = [";;&", ";;", ";&"].iter().any(|end| self.take(end));
            if !more {
                return self.expect("esac");
            }
        }
    }

    fn patterns(&mut self) -> Step {
        self.take("(");
        loop {
            self.blanks()?;
            if self.word()?.is_none() {
                return self.stop("a pattern of `case` is not one that is read");
            }
            self.blanks()?;
            if self.take(")") {
                return Ok(());
            }
            if self.sees("||") || !self.take("|") {
                return self.stop("a pattern of `case` is not one that is read");
            }
        }
    }

    /// `[[ … ]]` expands its words, and some of its operators evaluate them.
    fn condition(&mut self) -> Step {
        self.expect("[[")?;
        loop {
            self.blanks()?;
            if self.run() == "]]" {
                return self.expect("]]");
            }
            if ["&&", "||", "(", ")", "<", ">"].iter().any(|operator| !self.is_process() && self.take(operator)) {
                continue;
            }
            let Some(words) = self.word()? else { return self.stop("this condition is not one that is read") };
            let evaluates = ["-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-v", "-R"];
            if words.iter().any(|word| matches!(&word.word, Word::Known(text) if evaluates.contains(&text.as_str()))) {
                return self.stop("a condition may evaluate what is only known when it runs");
            }
        }
    }

    fn coprocess(&mut self) -> Step {
        self.found.starts.insert(self.at);
        self.when = When::Elsewhere;
        self.expect("coproc")?;
        self.blanks()?;
        if self.compound()? {
            return self.redirects();
        }
        self.simple()?;
        // `coproc NAME { …; }` names itself; then what was read as a simple command is none.
        if self.sees("(") { self.stop("a coprocess has a name") } else { Ok(()) }
    }

    fn function_word(&mut self) -> Step {
        self.expect("function")?;
        self.blanks()?;
        let name = self.run();
        self.at += name.len();
        self.blanks()?;
        if self.take("(") {
            self.blanks()?;
            if !self.take(")") {
                return self.stop("this function is not one that is read");
            }
        }
        self.function(name)
    }

    /// Reads the body of a function. What it starts counts, whether or not the function is called.
    pub(super) fn function(&mut self, name: &str) -> Step {
        let plain = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
        if !plain || name.is_empty() {
            return self.stop("this function is not one that is read");
        }
        self.gap()?;
        let body = self.deeper(Reader::compound)?;
        if body { self.redirects() } else { self.stop("a function has no body") }
    }
}
