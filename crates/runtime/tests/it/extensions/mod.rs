//! Extensions of the program that drives a session (tools, hooks and system text), and its connection to the session.

mod decisions;
mod hooks;
mod links;
mod tools;
mod words;

use std::sync::{Arc, Mutex};

use ::tools::{
    BoxFuture, RequiredPermission, Tool, ToolAccess, ToolContext, ToolDescriptor, ToolError, ToolLimits, ToolOutput,
};
use runtime::ClientExtensions;
use serde_json::json;

/// A tool of the program, which records its inputs.
#[derive(Debug)]
struct RecordingTool {
    spec: ToolDescriptor,
    called: Mutex<Vec<String>>,
}

impl RecordingTool {
    fn named(name: &'static str) -> Arc<RecordingTool> {
        let schema = json!({ "type": "object", "properties": { "path": { "type": "string" } } });
        let about = "Looks something up in the program.".into();
        let spec = ToolDescriptor { name: name.into(), description: about, schema, access: ToolAccess::Other };
        Arc::new(RecordingTool { spec, called: Mutex::default() })
    }

    fn called(&self) -> Vec<String> {
        self.called.lock().unwrap().clone()
    }

    /// Extensions that consist of this tool only.
    fn as_extensions(self: &Arc<RecordingTool>) -> ClientExtensions {
        ClientExtensions { tools: vec![Arc::clone(self) as Arc<dyn Tool>], ..ClientExtensions::default() }
    }
}

impl Tool for RecordingTool {
    fn spec(&self) -> &ToolDescriptor {
        &self.spec
    }

    fn required_permissions(&self, _input: &str, _limits: &ToolLimits) -> Result<Vec<RequiredPermission>, ToolError> {
        Ok(vec![RequiredPermission::Other])
    }

    fn run<'a>(&'a self, input: &'a str, cx: &'a ToolContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        self.called.lock().unwrap().push(input.to_owned());
        Box::pin(async move { Ok(ToolOutput::text("forty-two", cx)) })
    }
}
