//! Tools that the program runs itself.

use std::borrow::Cow;
use std::fmt;

use serde_json::Value;
use tools::{
    BoxFuture, RequiredPermission, ToolAccess, ToolContext, ToolDescriptor, ToolError, ToolLimits, ToolOutput,
};

/// A tool that the program runs itself.
pub struct FunctionTool {
    spec: ToolDescriptor,
    run: Box<ToolFunction>,
}

type ToolFunction = dyn Fn(Value) -> BoxFuture<'static, Result<String, String>> + Send + Sync;

impl FunctionTool {
    /// Creates a tool with a name and a description for models, and a JSON Schema of its input. The function receives
    /// the model's input, which may not match the schema; its error text is shown to the model.
    pub fn new<F, R>(
        name: impl Into<Cow<'static, str>>,
        about: impl Into<Cow<'static, str>>,
        schema: Value,
        run: F,
    ) -> FunctionTool
    where
        F: Fn(Value) -> R + Send + Sync + 'static,
        R: Future<Output = Result<String, String>> + Send + 'static,
    {
        let spec = ToolDescriptor { name: name.into(), description: about.into(), schema, access: ToolAccess::Other };
        FunctionTool { spec, run: Box::new(move |input| Box::pin(run(input))) }
    }
}

impl fmt::Debug for FunctionTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tool").field("name", &self.spec.name).finish_non_exhaustive()
    }
}

impl tools::Tool for FunctionTool {
    fn spec(&self) -> &ToolDescriptor {
        &self.spec
    }

    fn required_permissions(&self, input: &str, _limits: &ToolLimits) -> Result<Vec<RequiredPermission>, ToolError> {
        parse_input(input).map(|_input| vec![RequiredPermission::Other])
    }

    fn run<'a>(&'a self, input: &'a str, cx: &'a ToolContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let output = (self.run)(parse_input(input)?).await;
            output.map(|text| ToolOutput::text(&text, cx)).map_err(ToolError::refused)
        })
    }
}

fn parse_input(input: &str) -> Result<Value, ToolError> {
    serde_json::from_str(input).map_err(|error| ToolError::refused(format!("the arguments are not JSON: {error}")))
}
