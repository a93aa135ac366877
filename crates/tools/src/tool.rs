//! What a tool is: a description for the model, and one function from input text to bounded text.

use std::borrow::Cow;
use std::error::Error;
use std::fmt;
use std::pin::Pin;

use protocol::{Clip, Evidence, clip_middle};

use crate::{ToolContext, ToolLimits};

/// A future behind a `dyn` seam.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// What a model is told of a tool, and what the runtime must know before it runs one.
#[derive(Debug, Clone)]
pub struct ToolDescriptor {
    /// The name the model calls it by.
    pub name: Cow<'static, str>,
    /// When and how to use it.
    pub about: Cow<'static, str>,
    /// The JSON Schema of its input.
    pub schema: serde_json::Value,
    /// What a call may touch.
    pub access: ToolAccess,
}

/// What a call may touch; decides ordering and permission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolAccess {
    /// Looks only: may run beside other calls, always allowed.
    Read,
    /// Starts an agent: those of one message start together, each with its call in one step.
    Agent,
    /// Touches only the session's own state, such as its tables and its background commands: runs in order.
    Session,
    /// Changes files of the workspace: runs in order.
    Write,
    /// Starts programs: runs in order.
    Execute,
    /// Does what only its program knows: may run beside other calls.
    Other,
}

/// What a call would do, so that it can be permitted before it runs. Paths are as the model wrote them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RequiredPermission {
    /// Look at a file, or through a folder.
    Read(String),
    /// Make, change or remove a file.
    Edit(String),
    /// Run this shell command.
    Shell(String),
    /// Get a page from this address.
    Fetch(String),
    /// Start an agent of this type.
    Agent(String),
    /// Nothing beyond the session's own state.
    Session,
    /// Whatever the program does that brought the tool along.
    Other,
}

/// Why a call gave no output.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// The call could not be done as asked; the text tells the model what to do instead.
    #[error("{0}")]
    Refused(String),
    /// The tool itself failed; nothing the model writes would help.
    #[error(transparent)]
    Broken(Box<dyn Error + Send + Sync>),
}

impl ToolError {
    /// A refusal with this text.
    pub fn refused(text: impl Into<String>) -> ToolError {
        ToolError::Refused(text.into())
    }

    /// The same error with a refusal of at most `max` bytes.
    #[must_use]
    pub fn clipped(self, max: usize) -> ToolError {
        match self {
            ToolError::Refused(text) => ToolError::Refused(clip_middle(&text, max)),
            ToolError::Broken(source) => ToolError::Broken(source),
        }
    }

    /// A failure of the tool itself.
    pub fn broken(source: impl Into<Box<dyn Error + Send + Sync>>) -> ToolError {
        ToolError::Broken(source.into())
    }
}

/// What a call gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolOutput {
    /// What the model reads.
    pub text: Clip,
    /// What the call left behind.
    pub evidence: Vec<Evidence>,
}

impl ToolOutput {
    /// Output of a call that left nothing behind.
    pub fn text(text: &str, cx: &ToolContext) -> ToolOutput {
        ToolOutput { text: Clip::new(text, cx.limits.output), evidence: Vec::new() }
    }
}

/// Something a model can call.
pub trait Tool: Send + Sync + fmt::Debug {
    /// What the model is told of it.
    fn spec(&self) -> &ToolDescriptor;

    /// Everything that a call with this input would do. Input that is not well formed is refused here, before anybody
    /// is asked about it.
    fn required_permissions(&self, input: &str, limits: &ToolLimits) -> Result<Vec<RequiredPermission>, ToolError>;

    /// Answers one call. `input` is whatever the model wrote, well formed or not.
    fn run<'a>(&'a self, input: &'a str, cx: &'a ToolContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>>;
}
