//! The prompts of a server, which users run as slash commands.

use protocol::mcp_tool_name;
use serde_json::{Map, Value};

use crate::content;
use crate::link::ServerRequest;
use crate::{McpError, McpServer};

/// The most prompts of a server.
const MAX_PROMPTS: usize = 200;

/// A prompt as its server describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct McpPrompt {
    pub(crate) name: String,
    pub(crate) description: String,
    arguments: Vec<PromptArgument>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct PromptArgument {
    name: String,
    required: bool,
}

impl McpServer {
    /// The prompts.
    pub(crate) async fn prompts(&self) -> Result<Vec<McpPrompt>, McpError> {
        if !self.capabilities().has_prompts {
            return Ok(Vec::new());
        }
        let entries = self.entries("prompts/list", "prompts", MAX_PROMPTS).await?;
        Ok(entries.iter().filter_map(McpPrompt::read).collect())
    }

    /// The messages of a prompt, as text.
    pub(crate) async fn prompt_text(
        &self,
        prompt: &McpPrompt,
        arguments: Map<String, Value>,
    ) -> Result<String, McpError> {
        const METHOD: &str = "prompts/get";
        let name = ("name".to_owned(), Value::from(prompt.name.as_str()));
        let params = Map::from_iter([name, ("arguments".to_owned(), Value::Object(arguments))]);
        let result = self.request(ServerRequest::new(METHOD, params, self.options().timeouts.list)).await?;
        let Some(messages) = result.get("messages").and_then(Value::as_array) else {
            return Err(self.malformed(METHOD, "it has no `messages` list"));
        };
        let max = self.options().limits.max_text_bytes;
        let mut text = String::new();
        for message in messages {
            if text.len() > max {
                break;
            }
            let role = message["role"].as_str().unwrap_or_default();
            text.push_str(&format!("[{role}]\n{}\n", content::block_text(&message["content"])));
        }
        Ok(protocol::clip_middle(text.trim_end(), max))
    }
}

impl McpPrompt {
    fn read(entry: &Value) -> Option<McpPrompt> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let arguments = entry["arguments"].as_array().into_iter().flatten();
        let arguments = arguments.map(|argument| PromptArgument {
            name: text(&argument["name"]),
            required: argument["required"] == Value::Bool(true),
        });
        let name = text(&entry["name"]);
        (!name.is_empty()).then(|| McpPrompt {
            name,
            description: protocol::clip_middle(&text(&entry["description"]), 300),
            arguments: arguments.filter(|argument| !argument.name.is_empty()).collect(),
        })
    }

    /// Its name as a slash command.
    pub(crate) fn command(&self, server: &str) -> String {
        mcp_tool_name(server, &self.name)
    }

    /// Its arguments, as shown to users.
    pub(crate) fn hint(&self) -> String {
        let shown = |argument: &PromptArgument| match argument.required {
            true => argument.name.to_uppercase(),
            false => format!("[{}]", argument.name.to_uppercase()),
        };
        self.arguments.iter().map(shown).collect::<Vec<_>>().join(" ")
    }

    /// The arguments in what a user typed: words in the order of the arguments, the last of which takes the rest, or
    /// `name=value`. The error text says what is missing.
    pub(crate) fn parse(&self, typed: &str) -> Result<Map<String, Value>, String> {
        let mut arguments = Map::new();
        let mut rest = typed.trim();
        while !rest.is_empty() {
            let (word, after) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
            let named = word.split_once('=').filter(|(name, _)| self.arguments.iter().any(|known| known.name == *name));
            if let Some((name, value)) = named {
                arguments.insert(name.to_owned(), value.into());
                rest = after.trim_start();
                continue;
            }
            let mut open = self.arguments.iter().filter(|argument| !arguments.contains_key(&argument.name));
            let Some(next) = open.next() else { return Err(self.usage("it does not take that many arguments")) };
            if open.next().is_none() {
                arguments.insert(next.name.clone(), rest.into());
                break;
            }
            arguments.insert(next.name.clone(), word.into());
            rest = after.trim_start();
        }
        let missing =
            self.arguments.iter().find(|argument| argument.required && !arguments.contains_key(&argument.name));
        match missing {
            Some(argument) => Err(self.usage(&format!("`{}` is missing", argument.name))),
            None => Ok(arguments),
        }
    }

    fn usage(&self, why: &str) -> String {
        match self.arguments.as_slice() {
            [] => format!("{why}; it takes none"),
            _some => format!("{why}; its arguments are: {}", self.hint()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn typed_arguments_are_matched_to_declared_ones() {
        let prompt = McpPrompt::read(&json!({ "name": "review", "arguments": [
            { "name": "file", "required": true }, { "name": "style" }] }))
        .unwrap();
        assert_eq!((prompt.command("docs"), prompt.hint()), ("mcp__docs__review".into(), "FILE [STYLE]".into()));
        for (typed, expected) in [
            ("a.rs", json!({ "file": "a.rs" })),
            ("a.rs  very strict ", json!({ "file": "a.rs", "style": "very strict" })),
            ("style=strict a b.rs", json!({ "style": "strict", "file": "a b.rs" })),
            ("other=1", json!({ "file": "other=1" })),
        ] {
            assert_eq!(prompt.parse(typed).map(Value::Object), Ok(expected), "{typed}");
        }
        assert_eq!(prompt.parse("").unwrap_err(), "`file` is missing; its arguments are: FILE [STYLE]");
        let bare = McpPrompt::read(&json!({ "name": "hello" })).unwrap();
        assert_eq!(bare.parse("you").unwrap_err(), "it does not take that many arguments; it takes none");
        assert_eq!(McpPrompt::read(&json!({})), None);
    }
}
