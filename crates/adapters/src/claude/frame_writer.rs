//! Turns what happens in a session into what the client is shown of it.

use std::collections::HashMap;

use protocol::{
    CallId, ContentBlock, Envelope, Event, StopReason, TaskId, ToolCallRequest, ToolResult, ToolResultStatus, Turn,
    Usage,
};
use serde_json::{Value, json};
use uuid::Uuid;

use super::frames::{self, FrameSource, MessageStream, block, client_tool_call, message, stop, tool_result};

/// What a client is shown.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct FrameOptions {
    /// Words as they come.
    pub(super) partial: bool,
    /// What agents below the session's own say, and not only what they do.
    pub(super) forwards_text: bool,
}

/// Turns events into frames.
#[derive(Debug)]
pub(super) struct FrameWriter {
    session: Uuid,
    root: TaskId,
    options: FrameOptions,
    sources: HashMap<TaskId, FrameSource>,
    /// Calls that have no answer.
    open_calls: HashMap<(TaskId, CallId), ToolCallRequest>,
    streams: HashMap<TaskId, (Turn, MessageStream)>,
    /// The model that each task asks.
    models: HashMap<TaskId, String>,
}

/// What a model answered.
struct ModelAnswer<'a> {
    turn: Turn,
    content: &'a [ContentBlock],
    stop: StopReason,
    usage: Usage,
    model: &'a str,
}

impl FrameWriter {
    /// Writes of this session.
    pub(super) fn new(session: Uuid, root: TaskId, wants: FrameOptions) -> FrameWriter {
        FrameWriter {
            session,
            root,
            options: wants,
            sources: HashMap::new(),
            open_calls: HashMap::new(),
            streams: HashMap::new(),
            models: HashMap::new(),
        }
    }

    /// The frames of an event.
    pub(super) fn event(&mut self, envelope: &Envelope) -> Vec<Value> {
        let task = envelope.entry.task;
        match &envelope.entry.event {
            Event::TaskCreated(spec) => {
                let speaker = FrameSource {
                    parent: spec
                        .parent
                        .map(|_| spec.call.as_ref().map_or_else(|| task.to_string(), |call| call.0.clone())),
                    agent: spec.agent.clone(),
                    description: spec.description.clone(),
                };
                self.sources.insert(task, speaker);
                Vec::new()
            }
            Event::TurnBegun { model, .. } => {
                self.models.insert(task, model.clone());
                self.end_stream(task)
            }
            Event::TurnAnswered { turn, content, stop, usage, model, .. } => {
                let said = ModelAnswer { turn: *turn, content, stop: *stop, usage: *usage, model };
                self.answered(envelope.seq, task, said)
            }
            Event::TurnFailed { .. } => self.end_stream(task),
            Event::CallRewritten { call, input } => {
                if let Some(open) = self.open_calls.get_mut(&(task, call.clone())) {
                    open.input.clone_from(input);
                }
                Vec::new()
            }
            Event::CallAnswered { call, answer, .. } => {
                self.open_calls.remove(&(task, call.clone()));
                vec![tool_result(self.session, envelope.seq, call, answer, &self.source(task))]
            }
            Event::Compacted(_) if task == self.root => {
                let about = json!({ "compact_metadata": { "trigger": "auto", "pre_tokens": 0 } });
                vec![frames::system(self.session, "compact_boundary", about)]
            }
            Event::TaskFinished { .. } => {
                self.streams.remove(&task);
                self.models.remove(&task);
                Vec::new()
            }
            _nothing_to_show => Vec::new(),
        }
    }

    /// The frames of streamed words.
    pub(super) fn text(&mut self, task: TaskId, turn: Turn, text: &str) -> Vec<Value> {
        let is_wanted = self.options.partial && (task == self.root || self.options.forwards_text);
        if !is_wanted || text.is_empty() {
            return Vec::new();
        }
        let mut shown = self.stream(task, turn);
        if let Some((_, stream)) = self.streams.get_mut(&task) {
            shown.extend(stream.push_text(text));
        }
        shown
    }

    /// A call that has no answer, in the family's words.
    pub(super) fn call(&self, task: TaskId, call: &CallId) -> Option<(String, Value)> {
        self.open_calls.get(&(task, call.clone())).map(|call| client_tool_call(&call.tool, &call.input))
    }

    /// What the client is told of a call that was not permitted.
    pub(super) fn denial(&self, task: TaskId, call: &CallId, answer: &ToolResult) -> Option<Value> {
        let denied = answer.status == ToolResultStatus::Denied;
        let (name, input) = denied.then(|| self.call(task, call)).flatten()?;
        Some(json!({ "tool_name": name, "tool_use_id": call, "tool_input": input }))
    }

    fn source(&self, task: TaskId) -> FrameSource {
        match self.sources.get(&task) {
            Some(speaker) => speaker.clone(),
            None if task == self.root => FrameSource::default(),
            // It was made before this client came.
            None => FrameSource { parent: Some(task.to_string()), ..FrameSource::default() },
        }
    }

    fn answered(&mut self, seq: u64, task: TaskId, said: ModelAnswer<'_>) -> Vec<Value> {
        for block in said.content {
            if let ContentBlock::Call(call) = block {
                self.open_calls.insert((task, call.id.clone()), call.clone());
            }
        }
        let speaker = self.source(task);
        let shows_words = task == self.root || self.options.forwards_text;
        let streams = self.options.partial && shows_words;
        let mut shown = if streams { self.stream(task, said.turn) } else { Vec::new() };
        let mut stream = self.streams.remove(&task).map(|(_, stream)| stream);
        if let Some(stream) = &mut stream {
            shown.extend(stream.finish_text(&answer_text(said.content)));
        }
        let head = message(&message_id(task, said.turn), said.model, said.usage);
        for (index, item) in (0_u16..).zip(said.content) {
            let Some(block) = block(item) else { continue };
            let is_call = matches!(item, ContentBlock::Call(_));
            if let (Some(stream), false) = (&mut stream, matches!(item, ContentBlock::Text { .. })) {
                shown.extend(stream.block(&block));
            }
            if is_call || shows_words {
                shown.push(frames::assistant(self.session, (seq, index), head.clone(), block, &speaker));
            }
        }
        if let Some(stream) = stream {
            shown.extend(stream.end(Some(stop(said.stop)), frames::usage(said.usage)));
        }
        shown
    }

    /// Makes sure that the turn is streamed; a stream of an earlier one is over.
    fn stream(&mut self, task: TaskId, turn: Turn) -> Vec<Value> {
        if self.streams.get(&task).is_some_and(|(streamed, _)| *streamed == turn) {
            return Vec::new();
        }
        let mut shown = self.end_stream(task);
        let model = self.models.get(&task).cloned().unwrap_or_default();
        let (stream, begun) = MessageStream::new(self.session, &message_id(task, turn), &model, self.source(task));
        self.streams.insert(task, (turn, stream));
        shown.push(begun);
        shown
    }

    /// Ends a stream that comes to nothing.
    fn end_stream(&mut self, task: TaskId) -> Vec<Value> {
        let stream = self.streams.remove(&task);
        stream.map_or_else(Vec::new, |(_, stream)| stream.end(None, frames::usage(Usage::default())))
    }
}

/// What a message of a model is called: all blocks of one answer alike.
pub(super) fn message_id(task: TaskId, turn: Turn) -> String {
    format!("msg_{}_{}", task.uuid().simple(), turn.0)
}

/// All that a model said aloud.
fn answer_text(content: &[ContentBlock]) -> String {
    let texts = content.iter().filter_map(|block| match block {
        ContentBlock::Text { text } => Some(text.as_str()),
        ContentBlock::Thinking { .. } | ContentBlock::Call(_) | ContentBlock::Opaque { .. } => None,
    });
    texts.collect()
}
