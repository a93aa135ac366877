//! The tool interface: a description for the model, and one function from input text to bounded text.

use std::borrow::Cow;
use std::error::Error;
use std::fmt;
use std::pin::Pin;

use protocol::{Clip, Evidence, Hinted, clip_middle};

use crate::{ToolContext, ToolLimits};

/// A boxed future of a `dyn` trait method.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A tool's description for the model, and its properties for the runtime.
#[derive(Debug, Clone)]
pub struct ToolDescriptor {
    /// The name the model calls it by.
    pub name: Cow<'static, str>,
    /// When and how to use it.
    pub description: Cow<'static, str>,
    /// The JSON Schema of its input.
    pub schema: serde_json::Value,
    /// What a call may touch.
    pub access: ToolAccess,
}

/// What a call may touch; decides ordering and permission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolAccess {
    /// Only reads: may run beside other calls, always allowed.
    Read,
    /// Starts an agent: the agents of one message start together, each in one step with its call.
    Agent,
    /// Touches only the session's own state, such as its tables and its background commands: runs in order.
    Session,
    /// Changes files of the workspace: runs in order.
    Write,
    /// Starts programs: runs in order.
    Execute,
    /// Unknown effects (a tool of an external program): may run beside other calls.
    Other,
}

/// Where a call runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolPlace {
    /// Where the agent works: with its files, its programs and its network.
    Workplace,
    /// Where its session is, which may be another process.
    Session,
}

/// What a call would do; it must be permitted before it runs. Paths are as the model wrote them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RequiredPermission {
    /// Read a file or search a folder.
    Read(String),
    /// Create, change or remove a file.
    Edit(String),
    /// Run this shell command.
    Shell(String),
    /// Fetch a page from this address.
    Fetch(String),
    /// Start an agent of this type.
    Agent(String),
    /// Nothing beyond the session's own state.
    Session,
    /// Unknown effects of the external program that provides the tool.
    Other,
}

/// Why a call has no output.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// The call could not be done as requested; the text tells the model what to do instead.
    #[error("{0}")]
    Refused(String),
    /// The user rejected what the tool was about to do, and wants the turn to end.
    #[error("{0}")]
    Rejected(String),
    /// The tool itself failed; nothing the model writes would help.
    #[error(transparent)]
    Failed(Box<dyn Error + Send + Sync>),
}

impl ToolError {
    /// A refusal with this text.
    pub fn refused(text: impl Into<String>) -> ToolError {
        ToolError::Refused(text.into())
    }

    /// The refusal for a typed error, with what the model should do about it.
    pub fn refused_for(error: &impl Hinted) -> ToolError {
        ToolError::Refused(error.in_one_line())
    }

    /// The same error with a refusal of at most `max` bytes.
    #[must_use]
    pub fn clipped(self, max: usize) -> ToolError {
        match self {
            ToolError::Refused(text) => ToolError::Refused(clip_middle(&text, max)),
            ToolError::Rejected(text) => ToolError::Rejected(clip_middle(&text, max)),
            ToolError::Failed(source) => ToolError::Failed(source),
        }
    }

    /// A failure of the tool itself.
    pub fn failed(source: impl Into<Box<dyn Error + Send + Sync>>) -> ToolError {
        ToolError::Failed(source.into())
    }
}

/// The output of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolOutput {
    /// The text for the model.
    pub text: Clip,
    /// The observed effects of the call.
    pub evidence: Vec<Evidence>,
}

impl ToolOutput {
    /// Output of a call without effects.
    pub fn text(text: &str, cx: &ToolContext) -> ToolOutput {
        ToolOutput { text: Clip::new(text, cx.limits.output_bytes), evidence: Vec::new() }
    }
}

/// Something a model can call.
pub trait Tool: Send + Sync + fmt::Debug {
    /// Its description.
    fn spec(&self) -> &ToolDescriptor;

    /// The permissions that a call with this input needs. Malformed input is refused here, before the user is asked
    /// about it.
    fn required_permissions(&self, input: &str, limits: &ToolLimits) -> Result<Vec<RequiredPermission>, ToolError>;

    /// Where a call with this input runs. The tool of a program runs where the program is connected: at the session.
    fn place(&self, _input: &str) -> ToolPlace {
        ToolPlace::Session
    }

    /// Runs one call. `input` is any text a model wrote, well formed or not.
    fn run<'a>(&'a self, input: &'a str, cx: &'a ToolContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>>;
}
