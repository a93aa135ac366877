//! Redirections: the files that the shell itself opens.

use super::parser::{ParseResult, ShellParser, ends_word};
use super::raw_command::RawWord;
use super::{Redirect, RedirectMode, ShellWord, variables};

/// The effect of a redirection on its command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RedirectOutcome {
    /// There is no redirection here.
    No,
    /// A file or a descriptor.
    File,
    /// The input is in the text.
    InlineInput,
}

/// Operators, longest first, with how they open their file.
const OPERATORS: [(&str, RedirectKind); 12] = [
    ("<<<", RedirectKind::HereString),
    ("<<-", RedirectKind::HereDocument { tabs: true }),
    ("<<", RedirectKind::HereDocument { tabs: false }),
    ("<&", RedirectKind::Duplicate(RedirectMode::Read)),
    (">&", RedirectKind::Duplicate(RedirectMode::Write)),
    ("<>", RedirectKind::File(&[RedirectMode::Read, RedirectMode::Write])),
    (">>", RedirectKind::File(&[RedirectMode::Write])),
    (">|", RedirectKind::File(&[RedirectMode::Write])),
    ("&>>", RedirectKind::File(&[RedirectMode::Write])),
    ("&>", RedirectKind::File(&[RedirectMode::Write])),
    ("<", RedirectKind::File(&[RedirectMode::Read])),
    (">", RedirectKind::File(&[RedirectMode::Write])),
];

#[derive(Debug, Clone, Copy)]
enum RedirectKind {
    HereString,
    HereDocument { tabs: bool },
    Duplicate(RedirectMode),
    File(&'static [RedirectMode]),
}

impl ShellParser<'_> {
    /// Reads a redirection, if one begins here.
    pub(super) fn redirect(&mut self) -> ParseResult<RedirectOutcome> {
        let from = self.position;
        self.descriptor();
        let process = self.is_process_substitution();
        let operator = OPERATORS.iter().find(|(text, _)| !process && self.is_next(text));
        // `&>` takes no descriptor; `2&>x` is a word, an operator and a file.
        let Some((text, kind)) = operator.filter(|(text, _)| self.position == from || !text.starts_with('&')) else {
            self.position = from;
            return Ok(RedirectOutcome::No);
        };
        self.check_descriptor_name(from);
        self.position += text.len();
        match *kind {
            RedirectKind::HereDocument { tabs } => {
                self.here_delimiter(tabs)?;
                return Ok(RedirectOutcome::InlineInput);
            }
            RedirectKind::HereString => {
                self.redirect_target()?;
                return Ok(RedirectOutcome::InlineInput);
            }
            RedirectKind::Duplicate(open) => self.duplicate_descriptor(open)?,
            RedirectKind::File(opens) => {
                let file = self.redirect_target()?;
                self.add_redirect(opens, file)?;
            }
        }
        Ok(RedirectOutcome::File)
    }

    /// Reads every redirection after a compound command.
    pub(super) fn redirects(&mut self) -> ParseResult {
        loop {
            self.skip_blanks()?;
            if self.redirect()? == RedirectOutcome::No {
                return Ok(());
            }
        }
    }

    /// Takes the number or the `{name}` of a descriptor.
    fn descriptor(&mut self) {
        if self.take("{") {
            self.take_while(|c| c.is_ascii_alphanumeric() || c == '_');
            self.take("}");
        } else {
            self.take_while(|c| c.is_ascii_digit());
        }
    }

    /// Marks `{name}>file` as unclear, since it sets a variable to the number of the descriptor.
    fn check_descriptor_name(&mut self, from: usize) {
        let name = self.since(from).trim_start_matches('{').trim_end_matches('}');
        if variables::is_name(name) && !variables::is_private(name) {
            self.mark_unclear(from, "it sets a variable that other programs may read");
        }
    }

    /// Reads the word after an operator; returns `None` for a process substitution, which is not a file.
    fn redirect_target(&mut self) -> ParseResult<Option<RawWord>> {
        if self.is_next("\\\n") {
            return self.stop("a line is continued in the middle of a word");
        }
        self.take_while(|c| c == ' ' || c == '\t');
        let from = self.position;
        if self.is_process_substitution() {
            self.process_substitution()?;
            let ends = self.peek().is_none_or(ends_word);
            return if ends { Ok(None) } else { self.stop("a redirection continues after a process substitution") };
        }
        match self.word()?.as_deref() {
            Some(_) if self.since(from).starts_with('#') => self.stop("a redirection has no file"),
            Some([word]) => Ok(Some(word.clone())),
            Some(_) => Ok(Some(RawWord { splits: true, ..RawWord::unknown(self.since(from), "") })),
            None => self.stop("a redirection has no file"),
        }
    }

    fn duplicate_descriptor(&mut self, open: RedirectMode) -> ParseResult {
        self.take_while(|c| c == ' ' || c == '\t');
        if self.take("-") {
            // A dash closes the descriptor, and text right after it is a separate word.
            let ends = self.peek().is_none_or(ends_word);
            return if ends { Ok(()) } else { self.stop("a descriptor is closed in the middle of a word") };
        }
        let file = self.redirect_target()?;
        let descriptor = file.as_ref().and_then(RawWord::text).is_some_and(|text| {
            let number = text.strip_suffix('-').unwrap_or(text);
            !text.is_empty() && number.bytes().all(|b| b.is_ascii_digit())
        });
        match (descriptor, open) {
            (true, _) => Ok(()),
            // Bash expands this word twice, so that even quoted text in it may run.
            (false, RedirectMode::Write) if !file.as_ref().is_some_and(|file| file.plain && file.text().is_some()) => {
                self.stop("the shell expands the name of this file twice")
            }
            (false, RedirectMode::Write) => self.add_redirect(&[RedirectMode::Write], file),
            (false, RedirectMode::Read) => self.stop("a descriptor is only known when it runs"),
        }
    }

    fn add_redirect(&mut self, opens: &[RedirectMode], file: Option<RawWord>) -> ParseResult {
        let Some(file) = file else { return Ok(()) };
        let text = file.display();
        if text.contains("/dev/tcp") || text.contains("/dev/udp") {
            return self.stop("the shell may open a connection");
        }
        if !["/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr"].contains(&text) {
            let word = if file.splits { ShellWord::Unknown(text.to_owned()) } else { file.word };
            self.script.files.extend(opens.iter().map(|open| Redirect { mode: *open, file: word.clone() }));
        }
        Ok(())
    }
}
