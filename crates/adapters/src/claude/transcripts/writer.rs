//! Writes a session's events to its transcript files.

use std::collections::HashMap;
use std::io;
use std::path::PathBuf;

use protocol::{Envelope, Event, HiddenTasks, MailBody, MailId, Principal, SessionId, TaskId, TaskSpec};
use serde_json::{Value, json};
use uuid::Uuid;

use super::entry::{AnswerMetadata, EntryHeader, EntryPosition};
use super::event_part::EventPart;
use super::file::{ClaudeTranscriptFile, write_once};
use super::mirror::{MirroredEntries, TranscriptMirror};
use super::paths::folder_name;
use crate::claude::frame_writer::message_id;
use crate::claude::frames::{block_json, frame_id};

/// The transcript files of one session.
#[derive(Debug)]
pub(in crate::claude) struct ClaudeTranscripts {
    projects: PathBuf,
    session: SessionId,
    cwd: String,
    /// The root's file, known after the first events.
    root_file: Option<PathBuf>,
    agents: HashMap<TaskId, ClaudeAgentTranscript>,
    hidden: HiddenTasks,
    /// Unread mail.
    unread_mail: HashMap<MailId, (Principal, MailBody)>,
    last_seq: u64,
    /// Whether writing failed, which is logged once.
    write_failed: bool,
    mirrored: MirroredEntries,
}

/// The transcript of one agent.
#[derive(Debug)]
struct ClaudeAgentTranscript {
    agent: Option<TaskId>,
    path: PathBuf,
    depth: usize,
    file: Option<ClaudeTranscriptFile>,
    /// The last entry written, the parent of the next one.
    last_entry: Option<Uuid>,
    /// The events that delivered mail, each with the last entry before it: where the conversation may branch.
    branches: Vec<(u64, Option<Uuid>)>,
}

impl ClaudeAgentTranscript {
    fn new(agent: Option<TaskId>, path: PathBuf, depth: usize) -> ClaudeAgentTranscript {
        ClaudeAgentTranscript { agent, path, depth, file: None, last_entry: None, branches: Vec::new() }
    }

    /// Continues after the last entry before the mail that the conversation no longer has.
    fn cut(&mut self, after: u64) {
        let kept = self.branches.partition_point(|(seq, _)| *seq <= after);
        if let Some((_, entry)) = self.branches.get(kept) {
            self.last_entry = *entry;
            self.branches.truncate(kept);
        }
    }
}

impl ClaudeTranscripts {
    /// Creates the transcripts of a session, below the folder for all projects.
    pub(in crate::claude) fn new(projects: PathBuf, session: SessionId, mirror: TranscriptMirror) -> ClaudeTranscripts {
        ClaudeTranscripts {
            projects,
            session,
            cwd: String::new(),
            root_file: None,
            agents: HashMap::new(),
            hidden: HiddenTasks::default(),
            unread_mail: HashMap::new(),
            last_seq: 0,
            write_failed: false,
            mirrored: MirroredEntries::new(mirror),
        }
    }

    /// The frames with the entries that were written and that the client has not received.
    pub(in crate::claude) fn take_mirror_frames(&mut self) -> Vec<Value> {
        self.mirrored.take()
    }

    /// Writes an event, once. The session continues if a file cannot be written.
    pub(in crate::claude) fn write_event(&mut self, envelope: &Envelope) {
        if self.write_failed || envelope.seq <= self.last_seq {
            return;
        }
        self.last_seq = envelope.seq;
        if let Err(error) = self.write(envelope) {
            let file = self.root_file.as_deref().unwrap_or(&self.projects);
            tracing::warn!(file = %file.display(), %error, "cannot write the session file; it is no longer updated");
            self.write_failed = true;
        }
    }

    fn write(&mut self, envelope: &Envelope) -> io::Result<()> {
        let task = envelope.entry.task;
        if self.hidden.hides(task, &envelope.entry.event) {
            return Ok(());
        }
        match &envelope.entry.event {
            Event::SessionOpened(config) | Event::SessionAdopted { config, .. } => self.cwd.clone_from(&config.cwd),
            Event::TaskCreated(spec) => self.create_transcript(task, spec)?,
            Event::MailAdmitted { mail, from, body, .. } => drop(self.unread_mail.insert(*mail, (*from, body.clone()))),
            Event::MailExpired { mail } => drop(self.unread_mail.remove(mail)),
            Event::MailDelivered { mail } => {
                if let Some(transcript) = self.agents.get_mut(&task) {
                    transcript.branches.push((envelope.seq, transcript.last_entry));
                }
                let read: Vec<_> = mail.iter().filter_map(|mail| self.unread_mail.remove(mail)).collect();
                let entries = read
                    .iter()
                    .map(|(from, body)| |header: &EntryHeader, position| header.mail_entry(position, *from, body));
                self.append_entries(envelope, (0..).zip(entries))?;
            }
            Event::TurnAnswered { turn, content, stop, usage, model, .. } => {
                let metadata = AnswerMetadata { id: message_id(task, *turn), model, stop: *stop, usage: *usage };
                let blocks = (0_u16..).zip(content).filter_map(|(part, content)| Some((part, block_json(content)?)));
                let metadata = &metadata;
                let entries = blocks.map(|(part, block)| {
                    (part, move |header: &EntryHeader, position| header.block_entry(position, metadata, &block))
                });
                self.append_entries(envelope, entries)?;
            }
            Event::CallAnswered { call, answer, .. } => {
                self.append_entries(
                    envelope,
                    [(0, |header: &EntryHeader, position| header.result_entry(position, call, answer))],
                )?;
            }
            Event::ConversationCut { after } => {
                if let Some(transcript) = self.agents.get_mut(&task) {
                    transcript.cut(*after);
                }
            }
            // Close the file: there may be very many agents, and the number of open files is limited.
            Event::ActivationEnded { .. } | Event::TaskFinished { .. } => {
                if let Some(transcript) = self.agents.get_mut(&task).filter(|transcript| transcript.agent.is_some()) {
                    transcript.file = None;
                }
            }
            _other => {}
        }
        Ok(())
    }

    /// Creates the transcript of a new agent.
    fn create_transcript(&mut self, task: TaskId, spec: &TaskSpec) -> io::Result<()> {
        let session = crate::session_uuid(self.session).to_string();
        let Some(parent) = spec.parent else {
            let path = self.projects.join(folder_name(&self.cwd)).join(format!("{session}.jsonl"));
            self.root_file = Some(path.clone());
            self.agents.insert(task, ClaudeAgentTranscript::new(None, path, 0));
            return Ok(());
        };
        let Some(file) = self.root_file.as_ref().filter(|_| spec.kind.is_agent()) else { return Ok(()) };
        let parent_transcript = self.agents.get(&parent);
        let depth = parent_transcript.map_or(1, |transcript| transcript.depth + 1);
        let path = file.with_extension("").join("subagents").join(format!("agent-{task}.jsonl"));
        let mut meta = json!({ "agentType": spec.agent, "description": spec.description, "name": spec.name,
            "spawnDepth": depth });
        if let Some(call) = &spec.call {
            meta["toolUseId"] = call.to_string().into();
        }
        if let Some(agent) = parent_transcript.and_then(|transcript| transcript.agent) {
            meta["parentAgentId"] = agent.to_string().into();
        }
        if write_once(&path.with_extension("meta.json"), &meta.to_string())? {
            meta["type"] = "agent_metadata".into();
            self.mirrored.add(&path, &meta);
        }
        self.agents.insert(task, ClaudeAgentTranscript::new(Some(task), path, depth));
        Ok(())
    }

    /// Appends entries to the file of the event's agent.
    fn append_entries<F: Fn(&EntryHeader, EntryPosition) -> Value>(
        &mut self,
        envelope: &Envelope,
        lines: impl IntoIterator<Item = (u16, F)>,
    ) -> io::Result<()> {
        let session = crate::session_uuid(self.session);
        let Some(transcript) = self.agents.get_mut(&envelope.entry.task) else { return Ok(()) };
        let header = EntryHeader { session, cwd: self.cwd.clone(), agent: transcript.agent };
        for (part, line) in lines {
            let uuid = frame_id(session, envelope.seq, part);
            let position = EntryPosition { uuid, parent: transcript.last_entry.replace(uuid), at: envelope.entry.at };
            let file = match &mut transcript.file {
                Some(file) => file,
                none => none.insert(ClaudeTranscriptFile::open(&transcript.path, session)?),
            };
            let entry = line(&header, position);
            if file.append(EventPart { seq: envelope.seq, part }, &entry)? {
                self.mirrored.add(&transcript.path, &entry);
            }
        }
        Ok(())
    }
}
