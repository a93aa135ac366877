//! The files of one session, and which event goes to which.

use std::collections::HashMap;
use std::io;
use std::path::PathBuf;

use protocol::{Envelope, Event, MailBody, MailId, Principal, SessionId, TaskId, TaskSpec, TaskType};
use serde_json::{Value, json};
use uuid::Uuid;

use super::entry::{AnswerMetadata, EntryHeader, EntryPosition};
use super::event_part::EventPart;
use super::file::{ClaudeTranscriptFile, write_once};
use super::paths::folder_name;
use crate::claude::frame_writer::message_id;
use crate::claude::frames::{block, frame_id};

/// The files of one session.
#[derive(Debug)]
pub(in crate::claude) struct ClaudeTranscripts {
    projects: PathBuf,
    session: SessionId,
    cwd: String,
    /// Where the file of the session itself is; decided by its first event.
    file: Option<PathBuf>,
    agents: HashMap<TaskId, ClaudeAgentTranscript>,
    mail: HashMap<MailId, (Principal, MailBody)>,
    last_seq: u64,
    /// Whether the files cannot be written, which is said once.
    broken: bool,
}

/// The talk of one agent.
#[derive(Debug)]
struct ClaudeAgentTranscript {
    agent: Option<TaskId>,
    path: PathBuf,
    depth: usize,
    file: Option<ClaudeTranscriptFile>,
    parent: Option<Uuid>,
}

impl ClaudeTranscripts {
    /// The files of a session, below the folder of all projects.
    pub(in crate::claude) fn new(projects: PathBuf, session: SessionId) -> ClaudeTranscripts {
        ClaudeTranscripts {
            projects,
            session,
            cwd: String::new(),
            file: None,
            agents: HashMap::new(),
            mail: HashMap::new(),
            last_seq: 0,
            broken: false,
        }
    }

    /// Writes down what happened, once. A file that cannot be written is not a reason to stop.
    pub(in crate::claude) fn follow(&mut self, envelope: &Envelope) {
        if self.broken || envelope.seq <= self.last_seq {
            return;
        }
        self.last_seq = envelope.seq;
        if let Err(error) = self.write(envelope) {
            let file = self.file.as_deref().unwrap_or(&self.projects);
            tracing::warn!(file = %file.display(), %error, "the session file cannot be written, and is left as it is");
            self.broken = true;
        }
    }

    fn write(&mut self, envelope: &Envelope) -> io::Result<()> {
        let task = envelope.entry.task;
        match &envelope.entry.event {
            Event::SessionOpened(terms) | Event::SessionAdopted { config: terms, .. } => {
                self.cwd.clone_from(&terms.cwd)
            }
            Event::TaskCreated(spec) => self.create(task, spec)?,
            Event::MailAdmitted { mail, from, body, .. } => drop(self.mail.insert(*mail, (*from, body.clone()))),
            Event::MailExpired { mail } => drop(self.mail.remove(mail)),
            Event::MailDelivered { mail } => {
                let read: Vec<_> = mail.iter().filter_map(|mail| self.mail.remove(mail)).collect();
                let lines = read.iter().map(|(from, body)| |head: &EntryHeader, spot| head.mail(spot, *from, body));
                self.add(envelope, (0..).zip(lines))?;
            }
            Event::TurnAnswered { turn, content, stop, usage, model, .. } => {
                let said = AnswerMetadata { id: message_id(task, *turn), model, stop: *stop, usage: *usage };
                let blocks = (0_u16..).zip(content).filter_map(|(part, it)| Some((part, block(it)?)));
                let said = &said;
                let lines =
                    blocks.map(|(part, it)| (part, move |head: &EntryHeader, spot| head.block(spot, said, &it)));
                self.add(envelope, lines)?;
            }
            Event::CallAnswered { call, answer, .. } => {
                self.add(envelope, [(0, |head: &EntryHeader, spot| head.answer(spot, call, answer))])?;
            }
            // There may be very many agents, and only so many files that are open at once.
            Event::ActivationEnded { .. } | Event::TaskFinished { .. } => {
                if let Some(talk) = self.agents.get_mut(&task).filter(|talk| talk.agent.is_some()) {
                    talk.file = None;
                }
            }
            _other => {}
        }
        Ok(())
    }

    /// Makes room for the talk of a new agent.
    fn create(&mut self, task: TaskId, spec: &TaskSpec) -> io::Result<()> {
        let session = crate::session_uuid(self.session).to_string();
        let Some(parent) = spec.parent else {
            let path = self.projects.join(folder_name(&self.cwd)).join(format!("{session}.jsonl"));
            self.file = Some(path.clone());
            self.agents.insert(task, ClaudeAgentTranscript { agent: None, path, depth: 0, file: None, parent: None });
            return Ok(());
        };
        let Some(file) = self.file.as_ref().filter(|_| spec.kind != TaskType::Shell) else { return Ok(()) };
        let above = self.agents.get(&parent);
        let depth = above.map_or(1, |talk| talk.depth + 1);
        let path = file.with_extension("").join("subagents").join(format!("agent-{task}.jsonl"));
        let mut meta = json!({ "agentType": spec.agent, "description": spec.description, "name": spec.name,
            "spawnDepth": depth });
        if let Some(call) = &spec.call {
            meta["toolUseId"] = call.to_string().into();
        }
        if let Some(agent) = above.and_then(|talk| talk.agent) {
            meta["parentAgentId"] = agent.to_string().into();
        }
        write_once(&path.with_extension("meta.json"), &meta.to_string())?;
        self.agents.insert(task, ClaudeAgentTranscript { agent: Some(task), path, depth, file: None, parent: None });
        Ok(())
    }

    /// Adds lines to the file of the agent that an event is about.
    fn add<F: Fn(&EntryHeader, EntryPosition) -> Value>(
        &mut self,
        envelope: &Envelope,
        lines: impl IntoIterator<Item = (u16, F)>,
    ) -> io::Result<()> {
        let session = crate::session_uuid(self.session);
        let Some(talk) = self.agents.get_mut(&envelope.entry.task) else { return Ok(()) };
        let head = EntryHeader { session, cwd: self.cwd.clone(), agent: talk.agent };
        for (part, line) in lines {
            let uuid = frame_id(session, envelope.seq, part);
            let spot = EntryPosition { uuid, parent: talk.parent.replace(uuid), at: envelope.entry.at };
            let page = match &mut talk.file {
                Some(page) => page,
                none => none.insert(ClaudeTranscriptFile::open(&talk.path, session)?),
            };
            page.add(EventPart { seq: envelope.seq, part }, &line(&head, spot))?;
        }
        Ok(())
    }
}
