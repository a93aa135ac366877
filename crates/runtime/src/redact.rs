//! Keeps keys out of everything that is written: the log, its views, and the output of commands.

use std::sync::Arc;

use kernel::{Ending, Input, Report, TodoMove};
use net::Secret;
use protocol::{Block, Body, Completion, Decision, ErrandEnd, ErrandWord, Evidence, Expects, Subject, Todo};
use serde_json::Value;

/// What stands where a secret stood.
const MARK: &str = "[redacted]";

/// Anything shorter would be found in texts that have nothing to do with it.
const SHORTEST: usize = 8;

/// Replaces secrets in what is about to be written.
#[derive(Debug, Clone)]
pub struct Redactor(Arc<[Secret]>);

impl Redactor {
    /// Will replace these secrets.
    pub fn new(secrets: &[Secret]) -> Redactor {
        let mut secrets: Vec<Secret> =
            secrets.iter().filter(|secret| secret.reveal().len() >= SHORTEST).cloned().collect();
        // One may be the beginning of another.
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.reveal().len()));
        Redactor(secrets.into())
    }

    /// Will replace these as well.
    #[must_use]
    pub fn with(&self, more: &[Secret]) -> Redactor {
        let new = more.iter().filter(|secret| self.0.iter().all(|known| known.reveal() != secret.reveal()));
        Redactor::new(&self.0.iter().chain(new).cloned().collect::<Vec<_>>())
    }

    /// The input without any secret that it carries. What a provider must get back byte for byte stays as it is.
    pub(crate) fn input(&self, input: &mut Input) {
        if self.0.is_empty() {
            return;
        }
        match input {
            Input::Send(letter) => self.body(&mut letter.body),
            Input::Spawn(spawn) => {
                self.text(&mut spawn.prompt);
                self.text(&mut spawn.spec.description);
                spawn.spec.expects.iter_mut().for_each(|expects| self.expects(expects));
                spawn.definition.iter_mut().for_each(|definition| self.text(&mut definition.spec.prompt));
            }
            Input::Report(_, report) => self.report(report),
            Input::Define(definitions) => {
                definitions.iter_mut().for_each(|definition| self.text(&mut definition.spec.prompt));
            }
            Input::Compact { compaction, .. } => compaction.digest.iter_mut().for_each(|digest| self.text(digest)),
            Input::Decide { decision, .. } => self.decision(decision),
            Input::Open { definition, .. } => {
                definition.iter_mut().for_each(|definition| self.text(&mut definition.spec.prompt));
            }
            Input::SelectAgent { definition, .. } => {
                definition.iter_mut().for_each(|definition| self.text(&mut definition.spec.prompt));
            }
            Input::Errand(params) => {
                params.title.iter_mut().chain([&mut params.description]).for_each(|text| self.text(text));
            }
            Input::TellErrand(update) => update.words.iter_mut().for_each(|word| self.word(word)),
            Input::Todos { changed, .. } => changed.iter_mut().for_each(|todo| self.todo(todo)),
            Input::BeginFleet(terms) => {
                self.text(&mut terms.goal);
                terms.check.iter_mut().for_each(|text| self.text(text));
            }
            Input::MoveTodo { to: TodoMove::Block(reason), .. } => self.text(reason),
            Input::MoveTodo { to: TodoMove::Reuse(Some(brought)), .. } => self.text(&mut brought.result),
            Input::MoveTodo { to: TodoMove::Reuse(None) | TodoMove::Reopen, .. }
            | Input::SetMode { .. }
            | Input::Orphan { .. }
            | Input::ForgetErrand(_)
            | Input::SetModel { .. }
            | Input::GoOn { .. }
            | Input::MergeTodo { .. }
            | Input::EndFleet(_)
            | Input::Adopt { .. }
            | Input::Fork { .. }
            | Input::Resume
            | Input::Suspend
            | Input::Promote(_)
            | Input::Interrupt(_)
            | Input::Cancel { .. }
            | Input::Stop { .. }
            | Input::Lease { .. }
            | Input::Streamed { .. }
            | Input::Stall { .. }
            | Input::Stir(_)
            | Input::Part { .. }
            | Input::Forget(_)
            | Input::Memory(_)
            | Input::Tick => {}
        }
    }

    fn word(&self, word: &mut ErrandWord) {
        match word {
            ErrandWord::Phase { phase } => phase.iter_mut().for_each(|text| self.text(text)),
            ErrandWord::Message { text } => self.text(text),
            ErrandWord::Ended { end } => match end {
                ErrandEnd::Completed { result } => result.iter_mut().for_each(|result| self.json(result)),
                ErrandEnd::Failed { error, code } => {
                    code.iter_mut().chain([error]).for_each(|text| self.text(text));
                }
                ErrandEnd::Cancelled { reason } => reason.iter_mut().for_each(|text| self.text(text)),
            },
            ErrandWord::Running | ErrandWord::Idle | ErrandWord::Percent { .. } => {}
        }
    }

    /// Every text of a value that somebody else made.
    fn json(&self, value: &mut Value) {
        match value {
            Value::String(text) => self.text(text),
            Value::Array(all) => all.iter_mut().for_each(|one| self.json(one)),
            Value::Object(fields) => fields.values_mut().for_each(|one| self.json(one)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn report(&self, report: &mut Report) {
        match report {
            Report::TurnAnswered { content, .. } => content.iter_mut().for_each(|block| self.block(block)),
            Report::TurnFailed { message, .. } => self.text(message),
            Report::CallAnswered { answer, evidence, .. } => {
                self.text(&mut answer.text);
                evidence.iter_mut().for_each(|piece| match piece {
                    Evidence::Changed { path: text } | Evidence::Ran { command: text, .. } => self.text(text),
                });
            }
            Report::CallRewritten { input, .. } => self.text(input),
            Report::Greeted(context) => context.iter_mut().for_each(|text| self.text(text)),
            Report::Held { reason, .. } => self.text(reason),
            Report::Objective { completion, .. } => match completion {
                Completion::Done { summary } => self.text(summary),
                Completion::Blocked { summary, reason } => {
                    [summary, reason].into_iter().for_each(|text| self.text(text))
                }
            },
            Report::Intent(text) | Report::Suggested(text) => self.text(text),
            // It was written without secrets before it came here.
            Report::ItemChanged { .. } => {}
            Report::Ask { ask, .. } => self.subject(&mut ask.subject),
            Report::Compacted(compaction) => compaction.digest.iter_mut().for_each(|digest| self.text(digest)),
            Report::Ended { ending, text } => {
                self.text(text);
                if let Ending::Failed { message, .. } = ending {
                    self.text(message);
                }
            }
            Report::Sealed { files, .. } => files.iter_mut().for_each(|file| self.text(file)),
            Report::Boundary(_)
            | Report::TurnBegun { .. }
            | Report::TurnGrows { .. }
            | Report::AwaitsBudget
            | Report::WrapUp(_)
            | Report::CallStarted { .. }
            | Report::CallsDropped { .. }
            | Report::ToolsLoaded(_)
            | Report::ResultRead { .. }
            | Report::Wait { .. }
            | Report::WaitOver { .. }
            | Report::Park(_)
            | Report::Placed { .. } => {}
        }
    }

    fn todo(&self, todo: &mut Todo) {
        self.text(&mut todo.title);
        let words = [&mut todo.description, &mut todo.check, &mut todo.expects, &mut todo.reason];
        words.into_iter().flatten().for_each(|text| self.text(text));
    }

    fn expects(&self, expects: &mut Expects) {
        expects.files.iter_mut().chain(&mut expects.command).for_each(|text| self.text(text));
        if let Some(schema) = &mut expects.schema {
            let mut text = schema.to_string();
            self.text(&mut text);
            *schema = serde_json::from_str(&text).unwrap_or_default();
        }
    }

    fn subject(&self, subject: &mut Subject) {
        match subject {
            Subject::Permission { input, reason, rules, .. } => {
                self.text(input);
                self.text(reason);
                rules.iter_mut().for_each(|rule| self.text(rule));
            }
            Subject::Question { question, choices } => {
                self.text(question);
                choices.iter_mut().for_each(|choice| self.text(choice));
            }
            Subject::Plan { summary, plan, .. } => {
                self.text(summary);
                self.text(plan);
            }
        }
    }

    fn decision(&self, decision: &mut Decision) {
        match decision {
            Decision::Allow { rules, input } => rules.iter_mut().chain(input).for_each(|text| self.text(text)),
            Decision::Deny { words: text } | Decision::Reply { text } => self.text(text),
            Decision::Proceed { .. } => {}
        }
    }

    fn body(&self, body: &mut Body) {
        match body {
            Body::Text { text, display, .. } => {
                self.text(text);
                display.iter_mut().for_each(|display| self.text(display));
            }
            Body::Result { .. } => {}
        }
    }

    fn block(&self, block: &mut Block) {
        match block {
            Block::Text { text } | Block::Thinking { text } => self.text(text),
            Block::Call(call) => self.text(&mut call.input),
            Block::Opaque { .. } => {}
        }
    }

    /// Replaces every secret in a text.
    pub fn text(&self, text: &mut String) {
        for secret in self.0.iter().filter(|secret| text.contains(secret.reveal())).collect::<Vec<_>>() {
            *text = text.replace(secret.reveal(), MARK);
        }
    }

    /// Replaces every secret in a text that was broken off, perhaps in the middle of one.
    pub(crate) fn broken_off(&self, text: &mut String) {
        self.text(text);
        let begun = |secret: &str| {
            (GIVEAWAY..secret.len()).rev().find(|cut| text.as_bytes().ends_with(&secret.as_bytes()[..*cut]))
        };
        if let Some(begun) = self.0.iter().filter_map(|secret| begun(secret.reveal())).max() {
            text.truncate(text.floor_char_boundary(text.len() - begun));
            text.push_str(MARK);
        }
    }

    /// A stream of bytes without secrets.
    pub(crate) fn stream(&self) -> Stream {
        Stream { redactor: self.clone(), held: Vec::new() }
    }
}

/// Fewer bytes of a secret tell nothing of it, and may as well be the end of a word.
const GIVEAWAY: usize = 4;

/// A stream of bytes, of which the end is held back as long as a secret may go on in it.
#[derive(Debug)]
pub(crate) struct Stream {
    redactor: Redactor,
    held: Vec<u8>,
}

impl Stream {
    /// Takes the next bytes; gives those that may be written.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.held.extend_from_slice(bytes);
        let (mut written, mut at) = (Vec::with_capacity(self.held.len()), 0);
        while let Some(byte) = self.held.get(at) {
            match self.redactor.find(&self.held[at..]) {
                Found::Nothing => {
                    written.push(*byte);
                    at += 1;
                }
                Found::Secret(length) => {
                    written.extend_from_slice(MARK.as_bytes());
                    at += length;
                }
                Found::Perhaps => break,
            }
        }
        self.held.drain(..at);
        written
    }

    /// What was held back.
    pub(crate) fn finish(self) -> Vec<u8> {
        let mut rest = self.held;
        for secret in self.redactor.0.iter() {
            rest = replace(&rest, secret.reveal().as_bytes());
        }
        rest
    }
}

/// What bytes begin with.
enum Found {
    Nothing,
    /// A secret of this length.
    Secret(usize),
    /// All that there is of them may be the beginning of a secret.
    Perhaps,
}

impl Redactor {
    fn find(&self, bytes: &[u8]) -> Found {
        // The longest comes first, so one that may go on is found before one that is whole.
        for secret in self.0.iter().map(|secret| secret.reveal().as_bytes()) {
            if bytes.starts_with(secret) {
                return Found::Secret(secret.len());
            }
            if secret.starts_with(bytes) {
                return Found::Perhaps;
            }
        }
        Found::Nothing
    }
}

fn replace(bytes: &[u8], secret: &[u8]) -> Vec<u8> {
    let mut replaced = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some(at) = rest.windows(secret.len()).position(|window| window == secret) {
        replaced.extend_from_slice(&rest[..at]);
        replaced.extend_from_slice(MARK.as_bytes());
        rest = &rest[at + secret.len()..];
    }
    replaced.extend_from_slice(rest);
    replaced
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redactor(secrets: &[&str]) -> Redactor {
        Redactor::new(&secrets.iter().map(|secret| Secret::new(*secret)).collect::<Vec<_>>())
    }

    #[test]
    fn a_secret_in_a_stream_is_found_however_it_comes() {
        let redactor = redactor(&["sk-secret-1", "another-key"]);
        let stream = b"a sk-secret-1 b sk-secretly sk-sk-secret-1another-key sk-secret-";
        let expected = "a [redacted] b sk-secretly sk-[redacted][redacted] sk-secret-";
        for step in 1..stream.len() {
            let mut filter = redactor.stream();
            let mut out: Vec<u8> = stream.chunks(step).flat_map(|bytes| filter.push(bytes)).collect();
            out.extend(filter.finish());
            assert_eq!(String::from_utf8(out).unwrap(), expected, "{step}");
        }
    }

    #[test]
    fn what_cannot_be_part_of_a_secret_is_not_held_back() {
        let mut stream = redactor(&["sk-secret-1"]).stream();
        assert_eq!(stream.push(b"plain sk-x"), b"plain sk-x");
        assert_eq!(stream.push(b"tail sk-"), b"tail ");
        assert_eq!(stream.push(b"!"), b"sk-!");
    }

    #[test]
    fn a_text_that_breaks_off_in_a_secret_shows_nothing_of_it() {
        let redactor = redactor(&["sk-secret-1", "é-key-é-key"]);
        for (said, shown) in [
            ("it is sk-secret-1 or sk-secr", "it is [redacted] or [redacted]"),
            ("it is é-key-", "it is [redacted]"),
            ("what it is", "what it is"),
            ("a mask-", "a mask-"),
        ] {
            let mut text = said.to_owned();
            redactor.broken_off(&mut text);
            assert_eq!(text, shown);
        }
    }

    #[test]
    fn a_word_too_short_to_be_a_key_is_left_alone() {
        let mut text = "a test of a key".to_owned();
        redactor(&["test", ""]).text(&mut text);
        assert_eq!(text, "a test of a key");
    }

    #[test]
    fn a_key_that_begins_as_another_does_leaves_no_tail() {
        let redactor = redactor(&["sk-secret", "sk-secret-of-the-team"]);
        let mut text = "sk-secret-of-the-team sk-secret".to_owned();
        let stream = text.clone().into_bytes();
        redactor.text(&mut text);
        assert_eq!(text, "[redacted] [redacted]");
        for step in 1..stream.len() {
            let mut filter = redactor.stream();
            let mut out: Vec<u8> = stream.chunks(step).flat_map(|bytes| filter.push(bytes)).collect();
            out.extend(filter.finish());
            assert_eq!(String::from_utf8(out).unwrap(), "[redacted] [redacted]", "{step}");
        }
    }
}
