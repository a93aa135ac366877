//! What the program that drives a session brings along: tools, hooks and words; and how it hears of the session.

mod decisions;
mod hooks;
mod links;
mod tools;
mod words;

use std::sync::{Arc, Mutex};

use ::tools::{Access, BoxFuture, Context, Limits, Need, Output, Spec, Tool, ToolError};
use runtime::Guests;
use serde_json::json;

/// A tool of the program, which notes what it is called with.
#[derive(Debug)]
struct Guest {
    spec: Spec,
    called: Mutex<Vec<String>>,
}

impl Guest {
    fn named(name: &'static str) -> Arc<Guest> {
        let schema = json!({ "type": "object", "properties": { "path": { "type": "string" } } });
        let about = "Looks something up in the program.".into();
        let spec = Spec { name: name.into(), about, schema, access: Access::Other };
        Arc::new(Guest { spec, called: Mutex::default() })
    }

    fn called(&self) -> Vec<String> {
        self.called.lock().unwrap().clone()
    }

    /// Guests that are this tool alone.
    fn alone(self: &Arc<Guest>) -> Guests {
        Guests { tools: vec![Arc::clone(self) as Arc<dyn Tool>], ..Guests::default() }
    }
}

impl Tool for Guest {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn needs(&self, _input: &str, _limits: &Limits) -> Result<Vec<Need>, ToolError> {
        Ok(vec![Need::Other])
    }

    fn run<'a>(&'a self, input: &'a str, cx: &'a Context) -> BoxFuture<'a, Result<Output, ToolError>> {
        self.called.lock().unwrap().push(input.to_owned());
        Box::pin(async move { Ok(Output::text("forty-two", cx)) })
    }
}
