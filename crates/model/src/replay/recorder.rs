//! Records what another model answers. An answer is written before its end is passed on, so a
//! conversation never holds an answer that its recording lacks.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::BoxFuture;
use futures_util::{StreamExt, stream};
use protocol::ModelFault;

use super::RecordingError;
use super::line::{Header, Line, VERSION};
use crate::{Delta, Deltas, Facts, Model, ModelError, Reply, Request};

/// A model that answers as another one does and appends each answer to a file.
#[derive(Debug)]
pub struct Recorder {
    model: Arc<dyn Model>,
    tape: Arc<Tape>,
}

impl Recorder {
    /// Records `model` in the file at `path`, which is made, or is a recording to go on with.
    pub fn open(model: Arc<dyn Model>, path: &Path) -> Result<Recorder, RecordingError> {
        Ok(Recorder { model, tape: Arc::new(Tape::open(path)?) })
    }
}

impl Model for Recorder {
    fn name(&self) -> &str {
        self.model.name()
    }

    fn facts(&self) -> &Facts {
        self.model.facts()
    }

    fn learn(&self) -> BoxFuture<'_, ()> {
        self.model.learn()
    }

    fn ask(&self, request: Request) -> Deltas {
        let line = Line::new(&request);
        let take = Take { deltas: self.model.ask(request), line, bytes: 0, tape: Arc::clone(&self.tape) };
        stream::unfold(Some(take), async |take| take?.next().await).boxed()
    }
}

/// One answer while it is recorded.
struct Take {
    deltas: Deltas,
    line: Line,
    bytes: usize,
    tape: Arc<Tape>,
}

impl Take {
    /// The next delta, and the take unless that was its last one.
    async fn next(mut self) -> Option<(Result<Delta, ModelError>, Option<Take>)> {
        let Some(sent) = self.deltas.next().await else {
            return self.tape.append(&self.line).err().map(|error| (Err(error), None));
        };
        self.bytes = self.bytes.saturating_add(sent.as_ref().map_or(0, Delta::bytes));
        if self.bytes > Reply::MAX_BYTES {
            let message = format!("{}: the answer is larger than {} bytes", self.tape.file, Reply::MAX_BYTES);
            return Some((Err(ModelError::new(ModelFault::Terminal, message)), None));
        }
        self.line.push(&sent);
        match sent {
            Ok(Delta::Text(_) | Delta::Thinking(_) | Delta::Call(_) | Delta::Opaque { .. }) => Some((sent, Some(self))),
            Ok(Delta::Done { .. }) | Err(_) => Some((self.tape.append(&self.line).and(sent), None)),
        }
    }
}

/// The recording's file; none after a write failed, since what follows a torn line could not be read.
#[derive(Debug)]
struct Tape {
    file: String,
    to: Mutex<Option<File>>,
}

impl Tape {
    fn open(path: &Path) -> Result<Tape, RecordingError> {
        let file = path.display().to_string();
        let failed = |source| RecordingError::File { file: file.clone(), source };
        let opened = OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(path);
        let mut to = opened.map_err(failed)?;
        match read_header(&mut to).map_err(failed)? {
            Found::Nothing => write_line(&mut to, &Header { bosun_recording: VERSION }).map_err(failed)?,
            Found::Version(VERSION) => cut_torn_line(&mut to).map_err(failed)?,
            Found::Version(version) => return Err(RecordingError::Version { file, version }),
            Found::Other => return Err(RecordingError::NotARecording { file }),
        }
        Ok(Tape { file, to: Mutex::new(Some(to)) })
    }

    fn append(&self, line: &Line) -> Result<(), ModelError> {
        let mut to = self.to.lock().unwrap_or_else(PoisonError::into_inner);
        let written = match to.as_mut() {
            Some(file) => write_line(file, line),
            None => Err(io::Error::other("an earlier answer could not be written")),
        };
        written.map_err(|error| {
            *to = None;
            let message = format!("cannot record the answer in {}: {error}", self.file);
            ModelError::new(ModelFault::Terminal, message).with_hint("free space, or go on without --record")
        })
    }
}

fn write_line(to: &mut File, line: &impl serde::Serialize) -> io::Result<()> {
    let mut bytes = serde_json::to_vec(line)?;
    bytes.push(b'\n');
    to.write_all(&bytes)
}

enum Found {
    Nothing,
    Version(u32),
    Other,
}

fn read_header(from: &mut File) -> io::Result<Found> {
    const LONGEST: u64 = 4096;
    let mut first = Vec::new();
    BufReader::new(from.take(LONGEST)).read_until(b'\n', &mut first)?;
    Ok(match serde_json::from_slice::<Header>(&first) {
        Ok(header) if first.ends_with(b"\n") => Found::Version(header.bosun_recording),
        Ok(_) | Err(_) if first.is_empty() => Found::Nothing,
        Ok(_) | Err(_) => Found::Other,
    })
}

/// Removes a last line that was not written to its end, so that the next one starts on its own.
fn cut_torn_line(file: &mut File) -> io::Result<()> {
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
        let tape = Tape { file: "tape".into(), to: Mutex::new(Some(full)) };
        let request = Request {
            agent: "main".into(),
            path: "/root".into(),
            at: protocol::At(0),
            turn: 1,
            attempt: 1,
            system: Arc::default(),
            messages: crate::Messages::default(),
            tools: Arc::default(),
            max_output: None,
            effort: None,
            calls: crate::Calls::Allowed,
        };
        let line = Line::new(&request);
        let cannot = "cannot record the answer in tape";
        assert_eq!(tape.append(&line).unwrap_err().message, format!("{cannot}: No space left on device (os error 28)"));
        assert_eq!(
            tape.append(&line).unwrap_err().message,
            format!("{cannot}: an earlier answer could not be written")
        );
    }
}
