//! The model that answers from a recording.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use futures_util::{StreamExt, stream};
use protocol::ModelFault;

use super::RecordingError;
use super::identity::ConversationIdentity;
use super::line::{MAX_LINE_BYTES, RecordedAnswer, RecordingHeader, VERSION};
use crate::{Delta, Deltas, Model, ModelError, ModelFacts, ModelRequest};

/// A model that answers from a recording.
#[derive(Debug)]
pub struct ReplayModel {
    name: String,
    file: String,
    answers: HashMap<(String, u32), Vec<RecordedAnswer>>,
    is_torn: bool,
}

impl ReplayModel {
    /// Reads a recording. An incomplete last line is left out.
    pub fn load(path: &Path) -> Result<ReplayModel, RecordingError> {
        let file = path.display().to_string();
        let name = protocol::model_display_name(&format!("replay/{file}"));
        let mut lines = RecordingReader::open(path, &file)?;
        lines.check_header()?;
        let mut answers: HashMap<_, Vec<RecordedAnswer>> = HashMap::new();
        while let Some(line) = lines.next_answer()? {
            answers.entry((line.path.clone(), line.turn)).or_default().push(line);
        }
        if lines.is_incomplete {
            tracing::warn!(file, line = lines.line_number, "the recording's last line is incomplete and is left out");
        }
        Ok(ReplayModel { is_torn: lines.is_incomplete, name, file, answers })
    }

    /// Whether the recording ended in an incomplete line, which is left out.
    pub fn is_torn(&self) -> bool {
        self.is_torn
    }

    fn find(&self, request: &ModelRequest) -> Result<Vec<Result<Delta, ModelError>>, ModelError> {
        let ReplayModel { file, .. } = self;
        let (path, turn) = (&request.path, request.turn);
        let Some(lines) = self.answers.get(&(path.clone(), turn)) else {
            return Err(diverged(format!("{file} has no answer for {path} turn {turn}")));
        };
        let requested = ConversationIdentity::of(request);
        let matching: Vec<&RecordedAnswer> = lines.iter().filter(|line| line.request.is_same(&requested)).collect();
        let attempt = usize::try_from(request.attempt).unwrap_or(usize::MAX).max(1);
        match matching.get(attempt - 1).or(matching.last()) {
            Some(line) => Ok(line.results()),
            None => {
                let difference = lines.last().map(|line| line.request.difference(&requested)).unwrap_or_default();
                Err(diverged(format!("{path} turn {turn} differs from the one in {file}: {difference}")))
            }
        }
    }
}

impl Model for ReplayModel {
    fn name(&self) -> &str {
        &self.name
    }

    fn facts(&self) -> &ModelFacts {
        &ModelFacts::FILE
    }

    fn send(&self, request: ModelRequest) -> Deltas {
        let results = self.find(&request).unwrap_or_else(|error| vec![Err(error)]);
        stream::iter(results).boxed()
    }
}

fn diverged(message: String) -> ModelError {
    ModelError::new(ModelFault::Terminal, message).with_hint("record the session again with --record FILE")
}

/// The lines of a recording, read one by one.
struct RecordingReader<'a> {
    file: &'a str,
    reader: BufReader<File>,
    bytes: Vec<u8>,
    line_number: usize,
    is_incomplete: bool,
}

impl<'a> RecordingReader<'a> {
    fn open(path: &Path, file: &'a str) -> Result<RecordingReader<'a>, RecordingError> {
        let from = File::open(path).map_err(|source| RecordingError::File { file: file.into(), source })?;
        Ok(RecordingReader {
            file,
            reader: BufReader::new(from),
            bytes: Vec::new(),
            line_number: 0,
            is_incomplete: false,
        })
    }

    fn check_header(&mut self) -> Result<(), RecordingError> {
        self.read_line()?;
        match serde_json::from_slice::<RecordingHeader>(&self.bytes) {
            Ok(RecordingHeader { bosun_recording: VERSION }) => Ok(()),
            Ok(RecordingHeader { bosun_recording: version }) => {
                Err(RecordingError::Version { file: self.file.into(), version })
            }
            Err(_) => Err(RecordingError::NotARecording { file: self.file.into() }),
        }
    }

    fn next_answer(&mut self) -> Result<Option<RecordedAnswer>, RecordingError> {
        self.read_line()?;
        if self.bytes.is_empty() {
            return Ok(None);
        }
        if !self.bytes.ends_with(b"\n") {
            self.is_incomplete = true;
            return Ok(None);
        }
        serde_json::from_slice(&self.bytes).map(Some).map_err(|error| self.malformed(error.to_string()))
    }

    fn read_line(&mut self) -> Result<(), RecordingError> {
        self.bytes.clear();
        self.line_number += 1;
        let mut bounded = (&mut self.reader).take(MAX_LINE_BYTES as u64 + 1);
        let read = bounded.read_until(b'\n', &mut self.bytes);
        read.map_err(|source| RecordingError::File { file: self.file.into(), source })?;
        if self.bytes.len() > MAX_LINE_BYTES {
            return Err(self.malformed(format!("the line is longer than {MAX_LINE_BYTES} bytes")));
        }
        Ok(())
    }

    fn malformed(&self, why: String) -> RecordingError {
        RecordingError::Malformed { file: self.file.into(), line: self.line_number, why }
    }
}
