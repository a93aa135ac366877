//! Tools that the program runs itself.

use std::borrow::Cow;
use std::fmt;

use serde_json::Value;
use tools::{Access, BoxFuture, Context, Limits, Need, Output, Spec, ToolError};

/// A tool that the program runs itself.
pub struct Tool {
    spec: Spec,
    run: Box<Run>,
}

type Run = dyn Fn(Value) -> BoxFuture<'static, Result<String, String>> + Send + Sync;

impl Tool {
    /// A tool that models know by this name and these words, and that takes what the JSON Schema describes. The
    /// function gets what a model wrote, which may not fit the schema; what it fails with, the model reads.
    pub fn new<F, R>(
        name: impl Into<Cow<'static, str>>,
        about: impl Into<Cow<'static, str>>,
        schema: Value,
        run: F,
    ) -> Tool
    where
        F: Fn(Value) -> R + Send + Sync + 'static,
        R: Future<Output = Result<String, String>> + Send + 'static,
    {
        let spec = Spec { name: name.into(), about: about.into(), schema, access: Access::Other };
        Tool { spec, run: Box::new(move |input| Box::pin(run(input))) }
    }
}

impl fmt::Debug for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tool").field("name", &self.spec.name).finish_non_exhaustive()
    }
}

impl tools::Tool for Tool {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn needs(&self, input: &str, _limits: &Limits) -> Result<Vec<Need>, ToolError> {
        read(input).map(|_input| vec![Need::Other])
    }

    fn run<'a>(&'a self, input: &'a str, cx: &'a Context) -> BoxFuture<'a, Result<Output, ToolError>> {
        Box::pin(async move {
            let said = (self.run)(read(input)?).await;
            said.map(|text| Output::text(&text, cx)).map_err(ToolError::refused)
        })
    }
}

fn read(input: &str) -> Result<Value, ToolError> {
    serde_json::from_str(input).map_err(|error| ToolError::refused(format!("the arguments are no JSON: {error}")))
}
