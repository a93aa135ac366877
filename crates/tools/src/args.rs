//! Parses the text a model wrote into typed arguments. Any text results in arguments or in a refusal that names the
//! field, the position and the expected shape; parsing never panics and never echoes more than a line.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use protocol::clip_middle;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::{
    BoxFuture, RequiredPermission, Tool, ToolAccess, ToolContext, ToolDescriptor, ToolError, ToolLimits, ToolOutput,
    ToolPlace,
};

/// A tool whose arguments have a type.
pub(crate) trait TypedTool: Send + Sync + 'static {
    /// The arguments; the model reads their doc comments.
    type Args: DeserializeOwned + JsonSchema + Send;
    /// The name the model calls it by.
    const NAME: &'static str;
    /// When and how to use it.
    const ABOUT: &'static str;
    /// What a call may touch.
    const ACCESS: ToolAccess;

    /// Where a call with these arguments runs.
    fn place(_args: &Self::Args) -> ToolPlace {
        ToolPlace::Workplace
    }

    /// The permissions that a call with these arguments needs.
    fn required_permissions(args: &Self::Args) -> Result<Vec<RequiredPermission>, ToolError>;

    /// Runs one call.
    fn run(args: Self::Args, cx: &ToolContext) -> impl Future<Output = Result<ToolOutput, ToolError>> + Send;
}

/// Makes the typed tool callable with raw text.
pub(crate) fn typed_tool<T: TypedTool>() -> Arc<dyn Tool> {
    typed_tool_with_description::<T>(T::ABOUT.trim_ascii_end().into())
}

/// Like [`tool`], with a description that depends on the session.
pub(crate) fn typed_tool_with_description<T: TypedTool>(about: Cow<'static, str>) -> Arc<dyn Tool> {
    let schema = schema::<T::Args>();
    let shape = shape(&schema);
    let spec = ToolDescriptor { name: T::NAME.into(), description: about, schema, access: T::ACCESS };
    Arc::new(TypedToolWrapper::<T> { spec, shape, tool: PhantomData })
}

struct TypedToolWrapper<T> {
    spec: ToolDescriptor,
    shape: String,
    tool: PhantomData<fn() -> T>,
}

impl<T> fmt::Debug for TypedToolWrapper<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Tool").field(&self.spec.name).finish()
    }
}

impl<T: TypedTool> Tool for TypedToolWrapper<T> {
    fn spec(&self) -> &ToolDescriptor {
        &self.spec
    }

    fn required_permissions(&self, input: &str, limits: &ToolLimits) -> Result<Vec<RequiredPermission>, ToolError> {
        let args = parse(input, &self.shape, limits.input_bytes)?;
        T::required_permissions(&args).map_err(|error| error.clipped(limits.output_bytes))
    }

    fn place(&self, input: &str) -> ToolPlace {
        // Malformed input is refused wherever it runs.
        parse(input, &self.shape, input.len()).map_or(ToolPlace::Workplace, |args| T::place(&args))
    }

    fn run<'a>(&'a self, input: &'a str, cx: &'a ToolContext) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let args = parse(input, &self.shape, cx.limits.input_bytes)?;
            // A refusal quotes the model's own text, which may be long.
            T::run(args, cx).await.map_err(|error| error.clipped(cx.limits.output_bytes))
        })
    }
}

/// Maximum bytes of a parser's message passed on: it may quote the model's own text.
const MAX_MESSAGE_BYTES: usize = 300;

fn parse<A: DeserializeOwned>(input: &str, shape: &str, max: usize) -> Result<A, ToolError> {
    let refuse = |what: String| ToolError::Refused(format!("invalid input: {what}\nexpected {shape}"));
    if input.len() > max {
        return Err(refuse(format!(
            "{} bytes, at most {max} are accepted; split the work into several calls",
            input.len()
        )));
    }
    // Models send empty input for a call without arguments.
    let input = if input.trim_ascii().is_empty() { "{}" } else { input };
    // The derived reader would take an array as the fields in order.
    if !input.trim_ascii_start().starts_with('{') {
        let start = clip_middle(input.trim_ascii(), 40);
        return Err(refuse(format!("it must be one JSON object, but starts with `{start}`")));
    }
    let mut reader = serde_json::Deserializer::from_str(input);
    let args = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let path = error.path().to_string();
        let text = clip_middle(&error.inner().to_string(), MAX_MESSAGE_BYTES);
        refuse(if path == "." { text } else { format!("field `{}`: {text}", clip_middle(&path, 80)) })
    })?;
    reader.end().map_err(|error| refuse(format!("one JSON object, then {error}")))?;
    Ok(args)
}

fn schema<A: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<A>().to_value();
    if let Value::Object(root) = &mut schema {
        root.retain(|key, _| matches!(key.as_str(), "type" | "properties" | "required" | "additionalProperties"));
        root.entry("properties").or_insert_with(|| Map::new().into());
        if let Some(Value::Object(properties)) = root.get_mut("properties") {
            properties.values_mut().for_each(trim_property);
        }
    }
    schema
}

/// Reduces a property to what a model can use: its type, the type of its items, and its description.
fn trim_property(property: &mut Value) {
    let Value::Object(property) = property else { return };
    property.retain(|key, _| matches!(key.as_str(), "type" | "items" | "description"));
    if let Some(Value::Array(types)) = property.get("type") {
        // An optional field may also be `null`; saying so to the model only costs tokens.
        let named = types.iter().find(|name| *name != "null").cloned().unwrap_or_default();
        property.insert("type".into(), named);
    }
}

/// The schema in one line, such as `{"path": string, "limit"?: integer}`.
fn shape(schema: &Value) -> String {
    let required = |name: &str| schema["required"].as_array().is_some_and(|names| names.iter().any(|n| n == name));
    let fields: Vec<String> = schema["properties"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, property)| {
            let mark = if required(name) { "" } else { "?" };
            format!("\"{name}\"{mark}: {}", property["type"].as_str().unwrap_or("any"))
        })
        .collect();
    format!("{{{}}}", fields.join(", "))
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    /// Not part of the schema.
    #[derive(Debug, PartialEq, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct Args {
        /// Where to look.
        path: String,
        /// How many.
        limit: Option<u32>,
        /// All of them.
        #[serde(default)]
        all: bool,
    }

    fn read(input: &str) -> Result<Args, String> {
        parse(input, &shape(&schema::<Args>()), 1 << 20).map_err(|error| error.to_string())
    }

    #[test]
    fn the_schema_contains_only_types_and_docs() {
        let expected = json!({
            "type": "object",
            "additionalProperties": false,
            "required": ["path"],
            "properties": {
                "path": { "type": "string", "description": "Where to look." },
                "limit": { "type": "integer", "description": "How many." },
                "all": { "type": "boolean", "description": "All of them." },
            },
        });
        assert_eq!(schema::<Args>(), expected);
        assert_eq!(shape(&expected), r#"{"all"?: boolean, "limit"?: integer, "path": string}"#);
    }

    #[test]
    fn valid_input_is_parsed_in_any_layout() {
        let expected = Args { path: "a".into(), limit: None, all: false };
        assert_eq!(read("\n {\"limit\": null,\r\n\t\"path\": \"a\"} \n"), Ok(expected));
    }

    #[test]
    fn malformed_input_is_refused_with_the_reason() {
        let deep = format!("{{\"path\": \"a\", \"limit\": {}1{}}}", "[".repeat(100_000), "]".repeat(100_000));
        let deep_unknown = format!("{{\"x\": {}", "[".repeat(100_000));
        let long_value = format!("{{\"path\": \"a\", \"limit\": \"{}\"}}", "x".repeat(500_000));
        let long_name = format!("{{\"{}\": 1}}", "x".repeat(500_000));
        let huge = format!("{{\"path\": \"{}\"}}", "x".repeat(2 << 20));
        let table: &[(&str, &str)] = &[
            ("", "missing field `path`"),
            (" \n\t", "missing field `path`"),
            ("{}", "missing field `path`"),
            ("{", "EOF"),
            ("}", "starts with `}`"),
            ("null", "one JSON object"),
            ("true", "one JSON object"),
            ("0", "one JSON object"),
            ("\"path\"", "one JSON object"),
            ("[]", "one JSON object"),
            ("[\"a\"]", "one JSON object"),
            ("[{\"path\": \"a\"}]", "one JSON object"),
            ("path=a", "one JSON object"),
            ("<path>a</path>", "one JSON object"),
            ("```json\n{\"path\": \"a\"}\n```", "one JSON object"),
            ("{path: \"a\"}", "key must be a string"),
            ("{'path': 'a'}", "key must be a string"),
            ("{\"path\": 'a'}", "field `path`: expected value"),
            ("{\"path\": \"a\",}", "trailing comma"),
            ("{\"path\" \"a\"}", "expected `:`"),
            ("{\"path\": \"a\" \"all\": true}", "expected `,` or `}`"),
            ("{\"path\": \"a\"", "EOF"),
            ("{\"path\": \"a", "EOF"),
            ("{\"path\":", "EOF"),
            ("{\"path\": \"a\nb\"}", "control character"),
            ("{\"path\": \"\\x\"}", "invalid escape"),
            ("{\"path\": \"\\ud800\"}", "field `path`"),
            ("{\"path\": \"a\"} {\"path\": \"b\"}", "trailing characters"),
            ("{\"path\": \"a\"} thanks", "trailing characters"),
            ("{\"path\": null}", "field `path`: invalid type: null, expected a string"),
            ("{\"path\": 5}", "field `path`: invalid type: integer `5`, expected a string at line 1 column"),
            ("{\"path\": [\"a\"]}", "field `path`: invalid type: sequence"),
            ("{\"path\": {\"path\": \"a\"}}", "field `path`: invalid type: map"),
            ("{\"path\": \"a\", \"limit\": \"5\"}", "field `limit`: invalid type: string"),
            ("{\"path\": \"a\", \"limit\": -1}", "field `limit`: invalid value: integer `-1`"),
            ("{\"path\": \"a\", \"limit\": 1.5}", "field `limit`: invalid type: floating point"),
            ("{\"path\": \"a\", \"limit\": 1e999}", "field `limit`: number out of range"),
            ("{\"path\": \"a\", \"limit\": 99999999999}", "field `limit`: invalid value"),
            ("{\"path\": \"a\", \"limit\": NaN}", "field `limit`: expected value"),
            ("{\"path\": \"a\", \"all\": \"yes\"}", "field `all`: invalid type: string"),
            ("{\"path\": \"a\", \"all\": null}", "field `all`: invalid type: null"),
            ("{\"path\": \"a\", \"path\": \"b\"}", "duplicate field `path`"),
            ("{\"path\": \"a\", \"Path\": \"b\"}", "unknown field `Path`, expected one of `path`, `limit`, `all`"),
            ("{\"path\": \"a\", \"\": 1}", "unknown field ``"),
            ("{\"path\": \"a\", \"__proto__\": {}}", "unknown field `__proto__`"),
            ("\u{feff}{\"path\": \"a\"}", "one JSON object"),
            ("{\"path\": \"a\"\0}", "expected `,` or `}`"),
            (&deep, "field `limit`: invalid type: sequence"),
            (&deep_unknown, "unknown field `x`"),
            (&long_value, "field `limit`: invalid type: string"),
            (&long_name, "unknown field"),
            (&huge, "bytes, at most 1048576"),
        ];
        for (input, expected) in table {
            let start: String = input.chars().take(60).collect();
            let message = read(input).expect_err(&start);
            assert!(message.contains(expected), "{start}: {message}");
            assert!(message.ends_with(r#"expected {"all"?: boolean, "limit"?: integer, "path": string}"#), "{message}");
            assert!(message.len() < 1000, "{start}: {} bytes", message.len());
        }
    }
}
