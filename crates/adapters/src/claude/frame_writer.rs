//! Turns a session's events into frames for the client.

use std::collections::HashMap;

use protocol::{
    CallId, ContentBlock, Envelope, Event, HiddenTasks, StopReason, TaskId, ToolCallRequest, ToolResult,
    ToolResultStatus, Turn, Usage,
};
use serde_json::{Value, json};
use uuid::Uuid;

use super::frames::{
    self, FrameSource, MessageStream, block_json, client_tool_call, empty_message, stop_reason, tool_result_frame,
};

/// Which frames a client receives.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct FrameOptions {
    /// Whether it receives text as it is streamed.
    pub(super) streams_text: bool,
    /// Whether it receives the text of subagents, not only their calls.
    pub(super) forwards_subagent_text: bool,
}

/// Turns events into frames.
#[derive(Debug)]
pub(super) struct FrameWriter {
    session: Uuid,
    root: TaskId,
    options: FrameOptions,
    sources: HashMap<TaskId, FrameSource>,
    /// Calls without an answer.
    open_calls: HashMap<(TaskId, CallId), ToolCallRequest>,
    streams: HashMap<TaskId, (Turn, MessageStream)>,
    /// The model of each task.
    models: HashMap<TaskId, String>,
    hidden: HiddenTasks,
}

/// A model's answer.
struct ModelAnswer<'a> {
    turn: Turn,
    content: &'a [ContentBlock],
    stop: StopReason,
    usage: Usage,
    model: &'a str,
}

impl FrameWriter {
    /// Creates a writer for a session.
    pub(super) fn new(session: Uuid, root: TaskId, options: FrameOptions) -> FrameWriter {
        FrameWriter {
            session,
            root,
            options,
            sources: HashMap::new(),
            open_calls: HashMap::new(),
            streams: HashMap::new(),
            models: HashMap::new(),
            hidden: HiddenTasks::default(),
        }
    }

    /// The frames of an event.
    pub(super) fn event_frames(&mut self, envelope: &Envelope) -> Vec<Value> {
        let task = envelope.entry.task;
        if self.hidden.hides(task, &envelope.entry.event) {
            return Vec::new();
        }
        match &envelope.entry.event {
            Event::TaskCreated(spec) => {
                let source = FrameSource {
                    parent_call: spec
                        .parent
                        .map(|_| spec.call.as_ref().map_or_else(|| task.to_string(), |call| call.0.clone())),
                    agent: spec.agent.clone(),
                    description: spec.description.clone(),
                };
                self.sources.insert(task, source);
                Vec::new()
            }
            Event::TurnBegun { model, .. } => {
                self.models.insert(task, model.clone());
                self.end_stream(task)
            }
            Event::TurnAnswered { turn, content, stop, usage, model, .. } => {
                let model_answer = ModelAnswer { turn: *turn, content, stop: *stop, usage: *usage, model };
                self.answer_frames(envelope.seq, task, model_answer)
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
                vec![tool_result_frame(self.session, envelope.seq, call, answer, &self.source(task))]
            }
            Event::Compacted(_) if task == self.root => {
                let fields = json!({ "compact_metadata": { "trigger": "auto", "pre_tokens": 0 } });
                vec![frames::system_frame(self.session, "compact_boundary", fields)]
            }
            Event::TaskFinished { .. } => {
                self.streams.remove(&task);
                self.models.remove(&task);
                Vec::new()
            }
            _nothing_to_show => Vec::new(),
        }
    }

    /// The frames of streamed text.
    pub(super) fn text_frames(&mut self, task: TaskId, turn: Turn, text: &str) -> Vec<Value> {
        let is_wanted = self.options.streams_text && (task == self.root || self.options.forwards_subagent_text);
        if !is_wanted || text.is_empty() {
            return Vec::new();
        }
        let mut frames = self.start_stream(task, turn);
        if let Some((_, stream)) = self.streams.get_mut(&task) {
            frames.extend(stream.push_text(text));
        }
        frames
    }

    /// The tool and the input of a call that has no answer yet, both as the Claude SDK names them.
    pub(super) fn open_call(&self, task: TaskId, call: &CallId) -> Option<(String, Value)> {
        self.open_calls.get(&(task, call.clone())).map(|call| client_tool_call(&call.tool, &call.input))
    }

    /// The entry of a call in the `permission_denials` of the turn's result; `None` if the call was not denied.
    pub(super) fn denial(&self, task: TaskId, call: &CallId, answer: &ToolResult) -> Option<Value> {
        let denied = answer.status == ToolResultStatus::Denied;
        let (name, input) = denied.then(|| self.open_call(task, call)).flatten()?;
        Some(json!({ "tool_name": name, "tool_use_id": call, "tool_input": input }))
    }

    fn source(&self, task: TaskId) -> FrameSource {
        match self.sources.get(&task) {
            Some(source) => source.clone(),
            None if task == self.root => FrameSource::default(),
            // The task was created before this client connected.
            None => FrameSource { parent_call: Some(task.to_string()), ..FrameSource::default() },
        }
    }

    fn answer_frames(&mut self, seq: u64, task: TaskId, answer: ModelAnswer<'_>) -> Vec<Value> {
        for block in answer.content {
            if let ContentBlock::Call(call) = block {
                self.open_calls.insert((task, call.id.clone()), call.clone());
            }
        }
        let source = self.source(task);
        let shows_text = task == self.root || self.options.forwards_subagent_text;
        let is_streamed = self.options.streams_text && shows_text;
        let mut frames = if is_streamed { self.start_stream(task, answer.turn) } else { Vec::new() };
        let mut stream = self.streams.remove(&task).map(|(_, stream)| stream);
        if let Some(stream) = &mut stream {
            frames.extend(stream.finish_text(&ContentBlock::text_of(answer.content)));
        }
        let message_head = empty_message(&message_id(task, answer.turn), answer.model, answer.usage);
        for (index, item) in (0_u16..).zip(answer.content) {
            let Some(block) = block_json(item) else { continue };
            let is_call = matches!(item, ContentBlock::Call(_));
            if let (Some(stream), false) = (&mut stream, matches!(item, ContentBlock::Text { .. })) {
                frames.extend(stream.push_block(&block));
            }
            if is_call || shows_text {
                frames.push(frames::assistant_frame(self.session, (seq, index), message_head.clone(), block, &source));
            }
        }
        if let Some(stream) = stream {
            frames.extend(stream.end(Some(stop_reason(answer.stop)), frames::usage_json(answer.usage)));
        }
        frames
    }

    /// Starts streaming the turn if it is not streamed yet, and ends the stream of an earlier turn.
    fn start_stream(&mut self, task: TaskId, turn: Turn) -> Vec<Value> {
        if self.streams.get(&task).is_some_and(|(streamed, _)| *streamed == turn) {
            return Vec::new();
        }
        let mut frames = self.end_stream(task);
        let model = self.models.get(&task).cloned().unwrap_or_default();
        let (stream, start) = MessageStream::new(self.session, &message_id(task, turn), &model, self.source(task));
        self.streams.insert(task, (turn, stream));
        frames.push(start);
        frames
    }

    /// Ends the task's stream, if it has one, because its turn got no answer.
    fn end_stream(&mut self, task: TaskId) -> Vec<Value> {
        let stream = self.streams.remove(&task);
        stream.map_or_else(Vec::new, |(_, stream)| stream.end(None, frames::usage_json(Usage::default())))
    }
}

/// The id of a model's message: the same for all blocks of one answer.
pub(super) fn message_id(task: TaskId, turn: Turn) -> String {
    format!("msg_{}_{}", task.uuid().simple(), turn.0)
}
