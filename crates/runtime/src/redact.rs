//! Keeps keys out of everything that is written: the log, its views, and the output of commands.

use std::sync::Arc;

use kernel::{Ending, Input, Report};
use net::Secret;
use protocol::{Block, Body};

/// What stands where a secret stood.
const MARK: &str = "[redacted]";

/// Anything shorter would be found in texts that have nothing to do with it.
const SHORTEST: usize = 8;

/// Replaces secrets in what is about to be written.
#[derive(Debug, Clone)]
pub(crate) struct Redactor(Arc<[Secret]>);

impl Redactor {
    pub(crate) fn new(secrets: &[Secret]) -> Redactor {
        Redactor(secrets.iter().filter(|secret| secret.reveal().len() >= SHORTEST).cloned().collect())
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
            }
            Input::Report(_, report) => self.report(report),
            Input::Open { .. }
            | Input::Adopt { .. }
            | Input::Fork { .. }
            | Input::Resume
            | Input::Suspend
            | Input::Promote(_)
            | Input::Interrupt(_)
            | Input::Cancel { .. }
            | Input::Stop { .. }
            | Input::Lease { .. }
            | Input::Tick => {}
        }
    }

    fn report(&self, report: &mut Report) {
        match report {
            Report::TurnAnswered { content, .. } => content.iter_mut().for_each(|block| self.block(block)),
            Report::TurnFailed { message, .. } => self.text(message),
            Report::CallAnswered { answer, .. } => self.text(&mut answer.text),
            Report::Intent(intent) => self.text(intent),
            Report::Compacted(compaction) => compaction.digest.iter_mut().for_each(|digest| self.text(digest)),
            Report::Ended { ending, text } => {
                self.text(text);
                if let Ending::Failed { message, .. } = ending {
                    self.text(message);
                }
            }
            Report::Boundary(_)
            | Report::TurnBegun { .. }
            | Report::WrapUp(_)
            | Report::CallStarted { .. }
            | Report::CallsDropped { .. }
            | Report::Wait { .. }
            | Report::Park(_) => {}
        }
    }

    fn body(&self, body: &mut Body) {
        match body {
            Body::Text { text, .. } => self.text(text),
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

    fn text(&self, text: &mut String) {
        for secret in self.0.iter().filter(|secret| text.contains(secret.reveal())).collect::<Vec<_>>() {
            *text = text.replace(secret.reveal(), MARK);
        }
    }

    /// A stream of bytes without secrets.
    pub(crate) fn stream(&self) -> Stream {
        Stream { redactor: self.clone(), held: Vec::new() }
    }
}

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
        for secret in self.redactor.0.iter() {
            self.held = replace(&self.held, secret.reveal().as_bytes());
        }
        let begun = self.redactor.0.iter().map(|secret| begins(&self.held, secret.reveal().as_bytes())).max();
        let keep = self.held.len() - begun.unwrap_or(0);
        let rest = self.held.split_off(keep);
        std::mem::replace(&mut self.held, rest)
    }

    /// What was held back.
    pub(crate) fn finish(self) -> Vec<u8> {
        self.held
    }
}

/// How many bytes at the end of `bytes` are the beginning of `secret`.
fn begins(bytes: &[u8], secret: &[u8]) -> usize {
    let most = bytes.len().min(secret.len().saturating_sub(1));
    (1..=most).rev().find(|length| bytes.ends_with(&secret[..*length])).unwrap_or(0)
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
    fn a_word_too_short_to_be_a_key_is_left_alone() {
        let mut text = "a test of a key".to_owned();
        redactor(&["test", ""]).text(&mut text);
        assert_eq!(text, "a test of a key");
    }
}
