//! Keeps secrets out of everything that is written: the log, its views, and the output of commands.

use std::sync::{Arc, PoisonError, RwLock};

use kernel::{KernelInput, RunEnding, RunUpdate, TodoTransition};
use net::Secret;
use protocol::{
    AskDecision, AskSubject, ContentBlock, Evidence, Expectations, ExternalTaskEnd, ExternalTaskProgress,
    FleetStopReason, MailBody, MergeSummary, ObjectiveReport, Todo, TodoMergeOutcome,
};
use serde_json::Value;
use tools::SecretSink;

/// The replacement for a secret.
const REDACTED: &str = "[redacted]";

/// The minimum length of a secret: a shorter one would match unrelated text.
const MIN_SECRET_BYTES: usize = 8;

/// Replaces secrets before anything is written. Its clones share the secrets, also those that are added later.
#[derive(Debug, Clone)]
pub struct Redactor(Arc<RwLock<Arc<[Secret]>>>);

impl Redactor {
    /// A redactor for these secrets.
    pub fn new(secrets: &[Secret]) -> Redactor {
        Redactor(Arc::new(RwLock::new(longest_first(secrets))))
    }

    /// The secrets.
    pub(crate) fn secrets(&self) -> Arc<[Secret]> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Replaces these secrets as well from now on.
    pub fn add_secrets(&self, more: &[Secret]) {
        let mut secrets = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let new = more.iter().filter(|secret| secrets.iter().all(|known| known.reveal() != secret.reveal()));
        *secrets = longest_first(&secrets.iter().chain(new).cloned().collect::<Vec<_>>());
    }

    /// Replaces the secrets in an input. Content that a provider must get back byte for byte stays unchanged.
    pub(crate) fn redact_input(&self, input: &mut KernelInput) {
        if self.secrets().is_empty() {
            return;
        }
        match input {
            KernelInput::Send(mail) => self.redact_body(&mut mail.body),
            KernelInput::Spawn(spawn) => {
                self.redact_text(&mut spawn.prompt);
                self.redact_text(&mut spawn.spec.description);
                let titles = spawn.spec.external.iter_mut().flat_map(|external| &mut external.title);
                titles.for_each(|title| self.redact_text(title));
                spawn.spec.expects.iter_mut().for_each(|expects| self.redact_expectations(expects));
                spawn.definition.iter_mut().for_each(|definition| self.redact_text(&mut definition.spec.prompt));
            }
            KernelInput::Report(_, report) => self.redact_report(report),
            KernelInput::Define(definitions) => {
                definitions.iter_mut().for_each(|definition| self.redact_text(&mut definition.spec.prompt));
            }
            KernelInput::Compact { compaction, .. } => {
                compaction.digest.iter_mut().for_each(|digest| self.redact_text(digest))
            }
            KernelInput::Decide { decision, .. } => self.redact_decision(decision),
            KernelInput::Open { definition, .. } => {
                definition.iter_mut().for_each(|definition| self.redact_text(&mut definition.spec.prompt));
            }
            KernelInput::SelectAgent { definition, .. } => {
                definition.iter_mut().for_each(|definition| self.redact_text(&mut definition.spec.prompt));
            }
            KernelInput::SetTitle { title } => self.redact_text(title),
            KernelInput::ClaimExternalTask(claim) => {
                claim.spec.title.iter_mut().for_each(|text| self.redact_text(text));
            }
            KernelInput::UpdateExternalTask(update) => {
                update.progress.iter_mut().for_each(|step| self.redact_progress(step))
            }
            KernelInput::TodosChanged { changed, .. } => changed.iter_mut().for_each(|todo| self.redact_todo(todo)),
            KernelInput::BeginFleet(config) => {
                self.redact_text(&mut config.goal);
                config.check.iter_mut().for_each(|text| self.redact_text(text));
            }
            KernelInput::MergeFleet(summary) => self.redact_merge_summary(summary),
            KernelInput::EndFleet { why: Some(why), .. } => match why {
                FleetStopReason::Unplanned { problem } => self.redact_text(problem),
                FleetStopReason::Budget | FleetStopReason::Time | FleetStopReason::Unknown => {}
            },
            KernelInput::SetTodoState { to: TodoTransition::Block(reason), .. } => self.redact_text(reason),
            KernelInput::SetTodoState { to: TodoTransition::Reuse(Some(reused)), .. } => {
                self.redact_text(&mut reused.result)
            }
            KernelInput::SetTodoState { to: TodoTransition::Reuse(None) | TodoTransition::Reopen, .. }
            | KernelInput::SetMode { .. }
            | KernelInput::OrphanExternalTasks { .. }
            | KernelInput::SetModel { .. }
            | KernelInput::CutConversation { .. }
            | KernelInput::ToggleMcpServer { .. }
            | KernelInput::ContinueAutopilot { .. }
            | KernelInput::MergeTodo { .. }
            | KernelInput::EndFleet { why: None, .. }
            | KernelInput::Adopt { .. }
            | KernelInput::Fork { .. }
            | KernelInput::Resume
            | KernelInput::Suspend
            | KernelInput::Promote(_)
            | KernelInput::Interrupt(_)
            | KernelInput::Cancel { .. }
            | KernelInput::Stop { .. }
            | KernelInput::Lease { .. }
            | KernelInput::Streamed { .. }
            | KernelInput::Stall { .. }
            | KernelInput::Unstall(_)
            | KernelInput::StopHooksRan { .. }
            | KernelInput::Forget(_)
            | KernelInput::Memory(_)
            | KernelInput::Tick => {}
        }
    }

    fn redact_progress(&self, progress: &mut ExternalTaskProgress) {
        match progress {
            ExternalTaskProgress::Phase { phase } => phase.iter_mut().for_each(|text| self.redact_text(text)),
            ExternalTaskProgress::Message { text } => self.redact_text(text),
            ExternalTaskProgress::Ended { end } => match end {
                ExternalTaskEnd::Completed { result } => result.iter_mut().for_each(|result| self.redact_json(result)),
                ExternalTaskEnd::Failed { error, code } => {
                    code.iter_mut().chain([error]).for_each(|text| self.redact_text(text));
                }
                ExternalTaskEnd::Cancelled { reason } => reason.iter_mut().for_each(|text| self.redact_text(text)),
            },
            ExternalTaskProgress::Running | ExternalTaskProgress::Idle | ExternalTaskProgress::Percent { .. } => {}
        }
    }

    /// Redacts every text of a value from a client.
    fn redact_json(&self, value: &mut Value) {
        match value {
            Value::String(text) => self.redact_text(text),
            Value::Array(all) => all.iter_mut().for_each(|one| self.redact_json(one)),
            Value::Object(fields) => fields.values_mut().for_each(|one| self.redact_json(one)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn redact_report(&self, report: &mut RunUpdate) {
        match report {
            RunUpdate::TurnAnswered { content, .. } => content.iter_mut().for_each(|block| self.redact_block(block)),
            RunUpdate::TurnFailed { message, .. } => self.redact_text(message),
            RunUpdate::CallAnswered { answer, evidence, .. } => {
                self.redact_text(&mut answer.text);
                evidence.iter_mut().for_each(|piece| match piece {
                    Evidence::Changed { path: text } | Evidence::Ran { command: text, .. } => self.redact_text(text),
                });
            }
            RunUpdate::CallRewritten { input, .. } => self.redact_text(input),
            RunUpdate::CallProgressed { progress, .. } => {
                progress.message.iter_mut().for_each(|text| self.redact_text(text));
            }
            RunUpdate::StartHooksRan(context) => context.iter_mut().for_each(|text| self.redact_text(text)),
            RunUpdate::StopBlocked { reason, .. } => self.redact_text(reason),
            RunUpdate::Objective { completion, .. } => match completion {
                ObjectiveReport::Done { summary } => self.redact_text(summary),
                ObjectiveReport::Blocked { summary, reason } => {
                    [summary, reason].into_iter().for_each(|text| self.redact_text(text))
                }
            },
            RunUpdate::Intent(text) | RunUpdate::PromptSuggested(text) => self.redact_text(text),
            RunUpdate::McpReported(report) => {
                let progress = report.progress.iter_mut().flat_map(|progress| &mut progress.message);
                let texts = report.message.iter_mut().chain(&mut report.warning).chain(progress);
                texts.for_each(|text| self.redact_text(text));
            }
            // The item was redacted before it was reported.
            RunUpdate::ItemChanged { .. } => {}
            RunUpdate::Ask { ask, .. } => self.redact_subject(&mut ask.subject),
            RunUpdate::Compacted(compaction) => {
                compaction.digest.iter_mut().for_each(|digest| self.redact_text(digest))
            }
            RunUpdate::Ended { ending, text } => {
                self.redact_text(text);
                if let RunEnding::Failed { message, .. } = ending {
                    self.redact_text(message);
                }
            }
            RunUpdate::ToolsLoaded { descriptions, .. } => {
                descriptions.iter_mut().for_each(|tool| self.redact_text(&mut tool.description));
            }
            RunUpdate::WorkSealed { files, .. } => files.iter_mut().for_each(|file| self.redact_text(file)),
            RunUpdate::Boundary(_)
            | RunUpdate::TurnBegun { .. }
            | RunUpdate::RaiseReservation { .. }
            | RunUpdate::AwaitsBudget
            | RunUpdate::WrapUp(_)
            | RunUpdate::CallStarted { .. }
            | RunUpdate::CallsOutOfTime { .. }
            | RunUpdate::ResultRead { .. }
            | RunUpdate::Wait { .. }
            | RunUpdate::ManualWaitOver { .. }
            | RunUpdate::Park(_)
            | RunUpdate::WorkCheckedOut { .. } => {}
        }
    }

    fn redact_merge_summary(&self, summary: &mut MergeSummary) {
        self.redact_text(&mut summary.stat);
        summary.leftover_checkouts.iter_mut().for_each(|checkout| self.redact_text(&mut checkout.why));
        for result in &mut summary.todos {
            match &mut result.outcome {
                TodoMergeOutcome::Conflict { tried: text, .. } | TodoMergeOutcome::CheckFailed { said: text } => {
                    self.redact_text(text);
                }
                TodoMergeOutcome::Merged | TodoMergeOutcome::Blocked { .. } => {}
            }
        }
    }

    fn redact_todo(&self, todo: &mut Todo) {
        self.redact_text(&mut todo.title);
        let texts = [&mut todo.description, &mut todo.check, &mut todo.expects, &mut todo.reason];
        texts.into_iter().flatten().for_each(|text| self.redact_text(text));
    }

    fn redact_expectations(&self, expects: &mut Expectations) {
        expects.files.iter_mut().chain(&mut expects.command).for_each(|text| self.redact_text(text));
        if let Some(schema) = &mut expects.schema {
            let mut text = schema.to_string();
            self.redact_text(&mut text);
            *schema = serde_json::from_str(&text).unwrap_or_default();
        }
    }

    fn redact_subject(&self, subject: &mut AskSubject) {
        match subject {
            AskSubject::Permission { input, reason, rules, .. } => {
                self.redact_text(input);
                self.redact_text(reason);
                rules.iter_mut().for_each(|rule| self.redact_text(rule));
            }
            AskSubject::Question { question, choices } => {
                self.redact_text(question);
                choices.iter_mut().for_each(|choice| self.redact_text(choice));
            }
            AskSubject::Plan { summary, plan, .. } => {
                self.redact_text(summary);
                self.redact_text(plan);
            }
        }
    }

    fn redact_decision(&self, decision: &mut AskDecision) {
        match decision {
            AskDecision::Allow { rules, input } => {
                rules.iter_mut().chain(input).for_each(|text| self.redact_text(text))
            }
            AskDecision::Deny { message: text } | AskDecision::Reply { text } => self.redact_text(text),
            AskDecision::Proceed { .. } => {}
        }
    }

    fn redact_body(&self, body: &mut MailBody) {
        match body {
            MailBody::Text { text, display, .. } => {
                self.redact_text(text);
                display.iter_mut().for_each(|display| self.redact_text(display));
            }
            MailBody::Result { .. } => {}
        }
    }

    fn redact_block(&self, block: &mut ContentBlock) {
        match block {
            ContentBlock::Text { text } | ContentBlock::Thinking { text } => self.redact_text(text),
            ContentBlock::Call(call) => self.redact_text(&mut call.input),
            ContentBlock::Opaque { .. } => {}
        }
    }

    /// Whether these bytes contain a secret.
    pub(crate) fn finds_secret(&self, bytes: &[u8]) -> bool {
        self.secrets().iter().any(|secret| contains(bytes, secret.reveal().as_bytes()))
    }

    /// Replaces every secret in a text.
    pub fn redact_text(&self, text: &mut String) {
        for secret in self.secrets().iter() {
            if text.contains(secret.reveal()) {
                *text = text.replace(secret.reveal(), REDACTED);
            }
        }
    }

    /// Replaces every secret in a text that was cut off, perhaps in the middle of a secret.
    pub(crate) fn redact_truncated(&self, text: &mut String) {
        self.redact_text(text);
        let partial = |secret: &str| {
            (MIN_PARTIAL_BYTES..secret.len()).rev().find(|cut| text.as_bytes().ends_with(&secret.as_bytes()[..*cut]))
        };
        if let Some(length) = self.secrets().iter().filter_map(|secret| partial(secret.reveal())).max() {
            text.truncate(text.floor_char_boundary(text.len() - length));
            text.push_str(REDACTED);
        }
    }

    /// A stream of bytes without secrets.
    pub(crate) fn stream(&self) -> RedactedStream {
        RedactedStream { secrets: self.secrets(), pending: Vec::new() }
    }
}

impl SecretSink for Redactor {
    fn add_secret(&self, secret: &Secret) {
        self.add_secrets(std::slice::from_ref(secret));
    }
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

/// The secrets that are long enough, the longest first: a secret may be the beginning of another one.
fn longest_first(secrets: &[Secret]) -> Arc<[Secret]> {
    let mut secrets: Vec<Secret> =
        secrets.iter().filter(|secret| secret.reveal().len() >= MIN_SECRET_BYTES).cloned().collect();
    secrets.sort_by_key(|secret| std::cmp::Reverse(secret.reveal().len()));
    secrets.into()
}

/// Minimum length of a partial secret that is redacted: fewer bytes reveal nothing, and may be the end of a word.
const MIN_PARTIAL_BYTES: usize = 4;

/// A stream of bytes whose end is held back while it may be the beginning of a secret.
#[derive(Debug)]
pub(crate) struct RedactedStream {
    secrets: Arc<[Secret]>,
    pending: Vec<u8>,
}

impl RedactedStream {
    /// Takes the next bytes and returns those that may be written.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.pending.extend_from_slice(bytes);
        let (mut written, mut position) = (Vec::with_capacity(self.pending.len()), 0);
        while let Some(byte) = self.pending.get(position) {
            match match_secret(&self.secrets, &self.pending[position..]) {
                SecretMatch::Nothing => {
                    written.push(*byte);
                    position += 1;
                }
                SecretMatch::Secret(length) => {
                    written.extend_from_slice(REDACTED.as_bytes());
                    position += length;
                }
                SecretMatch::Partial => break,
            }
        }
        self.pending.drain(..position);
        written
    }

    /// Returns the bytes that were held back.
    pub(crate) fn finish(self) -> Vec<u8> {
        let mut rest = self.pending;
        for secret in self.secrets.iter() {
            rest = replace(&rest, secret.reveal().as_bytes());
        }
        rest
    }
}

/// How the beginning of a byte sequence matches the secrets.
enum SecretMatch {
    Nothing,
    /// A secret of this length.
    Secret(usize),
    /// The whole sequence may be the beginning of a secret.
    Partial,
}

fn match_secret(secrets: &[Secret], bytes: &[u8]) -> SecretMatch {
    // The longest comes first, so a partial match of a longer secret wins over a complete shorter one.
    for secret in secrets.iter().map(|secret| secret.reveal().as_bytes()) {
        if bytes.starts_with(secret) {
            return SecretMatch::Secret(secret.len());
        }
        if secret.starts_with(bytes) {
            return SecretMatch::Partial;
        }
    }
    SecretMatch::Nothing
}

fn replace(bytes: &[u8], secret: &[u8]) -> Vec<u8> {
    let mut replaced = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some(at) = rest.windows(secret.len()).position(|window| window == secret) {
        replaced.extend_from_slice(&rest[..at]);
        replaced.extend_from_slice(REDACTED.as_bytes());
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
    fn a_secret_that_is_added_is_replaced_everywhere() {
        let redactor = redactor(&["sk-secret"]);
        let other = redactor.clone();
        redactor.add_secrets(&[Secret::new("sk-secret-longer"), Secret::new("sk-secret"), Secret::new("short")]);
        let mut text = "sk-secret-longer sk-secret short".to_owned();
        other.redact_text(&mut text);
        assert_eq!(text, "[redacted] [redacted] short");
        assert_eq!(other.secrets().len(), 2);
    }

    #[test]
    fn a_secret_in_a_stream_is_found_however_it_is_split() {
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
    fn bytes_outside_secrets_are_not_held_back() {
        let mut stream = redactor(&["sk-secret-1"]).stream();
        assert_eq!(stream.push(b"plain sk-x"), b"plain sk-x");
        assert_eq!(stream.push(b"tail sk-"), b"tail ");
        assert_eq!(stream.push(b"!"), b"sk-!");
    }

    #[test]
    fn bytes_with_a_secret_are_recognised() {
        let redactor = redactor(&["key-123456789"]);
        assert!(redactor.finds_secret(b"\xffTOKEN=key-123456789\n"));
        assert!(!redactor.finds_secret(b"TOKEN=key-12345678") && !redactor.finds_secret(b""));
    }

    #[test]
    fn a_truncated_secret_is_redacted() {
        let redactor = redactor(&["sk-secret-1", "é-key-é-key"]);
        for (input, expected) in [
            ("it is sk-secret-1 or sk-secr", "it is [redacted] or [redacted]"),
            ("it is é-key-", "it is [redacted]"),
            ("what it is", "what it is"),
            ("a mask-", "a mask-"),
        ] {
            let mut text = input.to_owned();
            redactor.redact_truncated(&mut text);
            assert_eq!(text, expected);
        }
    }

    #[test]
    fn secrets_that_are_too_short_are_ignored() {
        let mut text = "a test of a key".to_owned();
        redactor(&["test", ""]).redact_text(&mut text);
        assert_eq!(text, "a test of a key");
    }

    #[test]
    fn a_secret_that_starts_with_another_is_redacted_whole() {
        let redactor = redactor(&["sk-secret", "sk-secret-of-the-team"]);
        let mut text = "sk-secret-of-the-team sk-secret".to_owned();
        let stream = text.clone().into_bytes();
        redactor.redact_text(&mut text);
        assert_eq!(text, "[redacted] [redacted]");
        for step in 1..stream.len() {
            let mut filter = redactor.stream();
            let mut out: Vec<u8> = stream.chunks(step).flat_map(|bytes| filter.push(bytes)).collect();
            out.extend(filter.finish());
            assert_eq!(String::from_utf8(out).unwrap(), "[redacted] [redacted]", "{step}");
        }
    }
}
