//! Records the answers of another model. An answer is written before its end is passed on, so a conversation never has
//! an answer that its recording lacks.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::BoxFuture;
use futures_util::{StreamExt, stream};
use protocol::ModelFault;

use super::RecordingError;
use super::line::{RecordedAnswer, RecordingHeader, VERSION};
use crate::{Delta, Deltas, Model, ModelError, ModelFacts, ModelReply, ModelRequest};

/// A wrapper of a model that appends each answer to a file.
#[derive(Debug)]
pub struct RecordingModel {
    model: Arc<dyn Model>,
    recording: Arc<RecordingFile>,
}

impl RecordingModel {
    /// Records `model` in the file at `path`, which is created, or is a recording to append to.
    pub fn open(model: Arc<dyn Model>, path: &Path) -> Result<RecordingModel, RecordingError> {
        Ok(RecordingModel { model, recording: Arc::new(RecordingFile::open(path)?) })
    }
}

impl Model for RecordingModel {
    fn name(&self) -> &str {
        self.model.name()
    }

    fn facts(&self) -> &ModelFacts {
        self.model.facts()
    }

    fn refresh_facts(&self) -> BoxFuture<'_, ()> {
        self.model.refresh_facts()
    }

    fn send(&self, request: ModelRequest) -> Deltas {
        let line = RecordedAnswer::new(&request);
        let answer = AnswerRecording {
            deltas: self.model.send(request),
            line,
            bytes: 0,
            recording: Arc::clone(&self.recording),
        };
        stream::unfold(Some(answer), async |answer| answer?.next().await).boxed()
    }
}

/// An answer while it is recorded.
struct AnswerRecording {
    deltas: Deltas,
    line: RecordedAnswer,
    bytes: usize,
    recording: Arc<RecordingFile>,
}

impl AnswerRecording {
    /// The next delta, and the recording unless that was the last delta.
    async fn next(mut self) -> Option<(Result<Delta, ModelError>, Option<AnswerRecording>)> {
        let Some(result) = self.deltas.next().await else {
            return self.recording.append(&self.line).err().map(|error| (Err(error), None));
        };
        self.bytes = self.bytes.saturating_add(result.as_ref().map_or(0, Delta::counted_bytes));
        if self.bytes > ModelReply::MAX_BYTES {
            let message = format!("{}: the answer is larger than {} bytes", self.recording.file, ModelReply::MAX_BYTES);
            return Some((Err(ModelError::new(ModelFault::Terminal, message)), None));
        }
        self.line.push(&result);
        match result {
            Ok(Delta::Text(_) | Delta::Thinking(_) | Delta::Call(_) | Delta::Opaque { .. }) => {
                Some((result, Some(self)))
            }
            Ok(Delta::Done { .. }) | Err(_) => Some((self.recording.append(&self.line).and(result), None)),
        }
    }
}

/// The recording's file; none after a failed write, since lines after an incomplete one could not be read.
#[derive(Debug)]
struct RecordingFile {
    file: String,
    output: Mutex<Option<File>>,
}

impl RecordingFile {
    fn open(path: &Path) -> Result<RecordingFile, RecordingError> {
        let file = path.display().to_string();
        let failed = |source| RecordingError::File { file: file.clone(), source };
        let opened = OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(path);
        let mut to = opened.map_err(failed)?;
        match read_header(&mut to).map_err(failed)? {
            HeaderCheck::Empty => write_line(&mut to, &RecordingHeader { bosun_recording: VERSION }).map_err(failed)?,
            HeaderCheck::Version(VERSION) => remove_incomplete_line(&mut to).map_err(failed)?,
            HeaderCheck::Version(version) => return Err(RecordingError::Version { file, version }),
            HeaderCheck::NotARecording => return Err(RecordingError::NotARecording { file }),
        }
        Ok(RecordingFile { file, output: Mutex::new(Some(to)) })
    }

    fn append(&self, line: &RecordedAnswer) -> Result<(), ModelError> {
        let mut output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        let written = match output.as_mut() {
            Some(file) => write_line(file, line),
            None => Err(io::Error::other("an earlier answer could not be written")),
        };
        written.map_err(|error| {
            *output = None;
            let message = format!("cannot record the answer in {}: {error}", self.file);
            ModelError::new(ModelFault::Terminal, message).with_hint("free space, or continue without --record")
        })
    }
}

fn write_line(to: &mut File, line: &impl serde::Serialize) -> io::Result<()> {
    let mut bytes = serde_json::to_vec(line)?;
    bytes.push(b'\n');
    to.write_all(&bytes)
}

enum HeaderCheck {
    Empty,
    Version(u32),
    NotARecording,
}

fn read_header(from: &mut File) -> io::Result<HeaderCheck> {
    const MAX_HEADER_BYTES: u64 = 4096;
    let mut first = Vec::new();
    BufReader::new(from.take(MAX_HEADER_BYTES)).read_until(b'\n', &mut first)?;
    Ok(match serde_json::from_slice::<RecordingHeader>(&first) {
        Ok(header) if first.ends_with(b"\n") => HeaderCheck::Version(header.bosun_recording),
        Ok(_) | Err(_) if first.is_empty() => HeaderCheck::Empty,
        Ok(_) | Err(_) => HeaderCheck::NotARecording,
    })
}

/// Removes an incomplete last line, so that the next line starts on its own.
fn remove_incomplete_line(file: &mut File) -> io::Result<()> {
    const CHUNK: u64 = 64 << 10;
    let mut end = file.seek(SeekFrom::End(0))?;
    let mut chunk = Vec::new();
    while end > 0 {
        let start = end.saturating_sub(CHUNK);
        chunk.resize(usize::try_from(end - start).unwrap_or(0), 0);
        file.read_exact_at(&mut chunk, start)?;
        if let Some(at) = chunk.iter().rposition(|byte| *byte == b'\n') {
            return file.set_len(start + at as u64 + 1);
        }
        end = start;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_a_failed_write_nothing_more_is_written() {
        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let recording = RecordingFile { file: "tape".into(), output: Mutex::new(Some(full)) };
        let request = ModelRequest {
            agent: "main".into(),
            path: "/root".into(),
            requested_at: protocol::Timestamp(0),
            turn: 1,
            attempt: 1,
            system: Arc::default(),
            messages: crate::Messages::default(),
            tools: Arc::default(),
            max_output_tokens: None,
            effort: None,
            call_policy: crate::ToolCallPolicy::Allowed,
        };
        let line = RecordedAnswer::new(&request);
        let cannot = "cannot record the answer in tape";
        assert_eq!(
            recording.append(&line).unwrap_err().message,
            format!("{cannot}: No space left on device (os error 28)")
        );
        assert_eq!(
            recording.append(&line).unwrap_err().message,
            format!("{cannot}: an earlier answer could not be written")
        );
    }
}
