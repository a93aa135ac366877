//! sed: only scripts that certainly just print are without risks.

use super::options::is_long_option;
use super::raw_command::RawWord;

const MAY_DO_MORE: &str = "its script may run commands or write files";

/// Why a sed command may do more than print.
pub(super) fn risks(args: &[RawWord]) -> Option<String> {
    let mut scripts = Vec::new();
    let mut operand = None;
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        match arg.text() {
            Some("--") => {
                operand = operand.or_else(|| rest.next());
                break;
            }
            Some("-e" | "--expression") => scripts.push(rest.next()?.text()),
            Some("-n" | "-E" | "-r" | "-s" | "-u" | "-z" | "-nE" | "-nr" | "-En" | "-rn" | "--quiet" | "--silent") => {}
            Some("--regexp-extended" | "--null-data" | "--posix" | "--version" | "--help") => {}
            Some(text) if text.starts_with("--expression=") => scripts.push(text.strip_prefix("--expression=")),
            Some(text) if is_long_option(text, &["in-place"]) || text.starts_with("-i") => {
                return Some("it changes files".to_owned());
            }
            Some(text) if text.starts_with('-') && text != "-" => return Some(MAY_DO_MORE.to_owned()),
            Some(_) | None => operand = operand.or(Some(arg)),
        }
    }
    if scripts.is_empty() {
        scripts.push(operand?.text());
    }
    let prints = scripts.into_iter().all(|script| script.is_some_and(|script| SedScript(script).only_prints()));
    (!prints).then(|| MAY_DO_MORE.to_owned())
}

/// The part of a script that is not parsed yet.
struct SedScript<'a>(&'a str);

impl SedScript<'_> {
    fn only_prints(&mut self) -> bool {
        loop {
            self.skip(|c| c.is_ascii_whitespace() || c == ';' || c == '}');
            if self.0.is_empty() {
                return true;
            }
            if self.address().and_then(|()| self.command()).is_none() {
                return false;
            }
        }
    }

    fn skip(&mut self, fits: impl Fn(char) -> bool) {
        self.0 = self.0.trim_start_matches(fits);
    }

    fn next_char(&mut self) -> Option<char> {
        let c = self.0.chars().next()?;
        self.0 = self.0.get(c.len_utf8()..)?;
        Some(c)
    }

    /// Takes the address of a command.
    fn address(&mut self) -> Option<()> {
        loop {
            match self.0.chars().next()? {
                '0'..='9' | '$' | ',' | '+' | '~' | '!' | ' ' => {
                    self.next_char()?;
                }
                '/' => {
                    self.next_char()?;
                    self.delimited('/')?;
                    self.skip(|c| c == 'I' || c == 'M');
                }
                '\\' => return None,
                _ => return Some(()),
            }
        }
    }

    /// Takes text up to a delimiter. A bracket may hide one from some versions of sed.
    fn delimited(&mut self, delimiter: char) -> Option<()> {
        let mut bracket = false;
        loop {
            match self.next_char()? {
                c if c == delimiter => return (!bracket).then_some(()),
                '\\' => {
                    self.next_char()?;
                }
                // Right after it, a closing bracket is literal.
                '[' if self.0.starts_with(']') || self.0.starts_with("^]") => return None,
                '[' => bracket = true,
                ']' => bracket = false,
                '\n' => return None,
                _ => {}
            }
        }
    }

    fn command(&mut self) -> Option<()> {
        match self.next_char()? {
            '{' => return Some(()),
            '=' | 'd' | 'D' | 'g' | 'G' | 'h' | 'H' | 'n' | 'N' | 'p' | 'P' | 'x' | 'z' => {}
            'q' | 'Q' => self.skip(|c| c.is_ascii_digit() || c == ' '),
            // A blank ends a label, and another command follows.
            'b' | 't' | 'T' | ':' => {
                self.skip(|c| c == ' ');
                self.skip(|c| c.is_ascii_alphanumeric());
            }
            's' => {
                let delimiter = self.next_char().filter(char::is_ascii_punctuation).filter(|c| !"\\;".contains(*c))?;
                self.delimited(delimiter)?;
                self.replacement(delimiter)?;
                self.skip(|c| c.is_ascii_digit() || "gpiI".contains(c));
            }
            'y' => {
                let delimiter = self.next_char().filter(char::is_ascii_punctuation).filter(|c| !"\\;".contains(*c))?;
                self.replacement(delimiter)?;
                self.replacement(delimiter)?;
            }
            _ => return None,
        }
        self.skip(|c| c == ' ' || c == '\t');
        self.0.chars().next().is_none_or(|c| matches!(c, ';' | '\n' | '}')).then_some(())
    }

    fn replacement(&mut self, delimiter: char) -> Option<()> {
        loop {
            match self.next_char()? {
                c if c == delimiter => return Some(()),
                '\\' => {
                    self.next_char()?;
                }
                '\n' => return None,
                _ => {}
            }
        }
    }
}
