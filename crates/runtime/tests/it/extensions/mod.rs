//! What the program that drives a session brings along: tools, hooks and words; and how it hears of the session.

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

/// A tool of the program, which notes what it is called with.
#[derive(Debug)]
struct Guest {
    spec: ToolDescriptor,
    called: Mutex<Vec<String>>,
}

impl Guest {
    fn named(name: &'static str) -> Arc<Guest> {
        let schema = json!({ "type": "object", "properties": { "path": { "type": "string" } } });
        let about = "Looks something up in the program.".into();
        let spec = ToolDescriptor { name: name.into(), about, schema, access: ToolAccess::Other };
        Arc::new(Guest { spec, called: Mutex::default() })
    }

    fn called(&self) -> Vec<String> {
        self.called.lock().unwrap().clone()
    }

    /// Extensions that are this tool alone.
    fn alone(self: &Arc<Guest>) -> ClientExtensions {
        ClientExtensions { tools: vec![Arc::clone(self) as Arc<dyn Tool>], ..ClientExtensions::default() }
    }
}

impl Tool for Guest {
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
