//! Reads what a hook runs.

use std::collections::BTreeMap;

use protocol::HookAction;
use serde_json::Value;

use super::file_reader::{HookFileReader, value_kind};

/// Variables with a plugin's folder, for its commands.
const PLUGIN_FOLDER_VARIABLES: [&str; 3] = ["PLUGIN_ROOT", "CLAUDE_PLUGIN_ROOT", "COPILOT_PLUGIN_ROOT"];

impl HookFileReader<'_> {
    /// The action of a hook; `None` if it has none that is supported, which is reported.
    pub(super) fn read_action(&mut self, path: &str, entry: &Value) -> Option<HookAction> {
        for (name, what) in [
            ("async", "asynchronous hooks are not supported in this version"),
            ("asyncRewake", "asynchronous hooks are not supported in this version"),
            ("if", "hooks with a condition are not supported in this version"),
            ("once", "hooks that run once are not supported in this version"),
        ] {
            if entry.get(name).is_some_and(|value| !value.is_null() && *value != Value::Bool(false)) {
                self.report_problem(
                    &format!("{path}/{name}"),
                    what,
                    format!("remove `{name}`, or handle it in the script"),
                );
                return None;
            }
        }
        let is_http = entry.get("url").is_some();
        match entry.get("type") {
            Some(Value::String(kind)) if kind == "command" => self.read_command(path, entry),
            Some(Value::String(kind)) if kind == "http" => self.read_http(path, entry),
            None if is_http => self.read_http(path, entry),
            None => self.read_command(path, entry),
            Some(Value::String(kind)) if ["prompt", "agent", "mcp_tool"].contains(&kind.as_str()) => {
                let message = format!("hooks of the type {kind} are not supported in this version");
                self.report_problem(&format!("{path}/type"), message, "use the type command or http");
                None
            }
            Some(other) => {
                let remedy = "write \"command\" or \"http\"";
                self.report_problem(&format!("{path}/type"), format!("there are no hooks of the type {other}"), remedy);
                None
            }
        }
    }

    fn read_command(&mut self, path: &str, entry: &Value) -> Option<HookAction> {
        let field = ["bash", "command"].into_iter().find_map(|name| entry.get(name).map(|value| (name, value)));
        let (name, command) = match field {
            Some((name, Value::String(command))) if !command.trim().is_empty() && !command.contains('\0') => {
                (name, command)
            }
            Some((name, other)) => {
                let message = match other {
                    Value::String(_) => format!("`{name}` is empty"),
                    other => format!("`{name}` is {}, not a string", value_kind(other)),
                };
                self.report_problem(&format!("{path}/{name}"), message, "write a shell command");
                return None;
            }
            None if entry.get("powershell").is_some() => {
                self.report_problem(
                    &format!("{path}/powershell"),
                    "PowerShell is not supported",
                    "add a `bash` command",
                );
                return None;
            }
            None => {
                self.report_problem(path, "a hook has nothing to run", "add a `command` or a `url`");
                return None;
            }
        };
        if entry.get("shell").is_some_and(|shell| shell != "bash" && shell != "sh") {
            self.report_problem(&format!("{path}/shell"), "only bash is supported", "remove `shell`");
            return None;
        }
        let command = self.with_args(path, command, entry)?;
        let cwd = self.optional_text(path, "cwd", entry)?;
        let mut env = self.text_map(path, "env", entry)?;
        if let Some(plugin) = &self.plugin {
            let folder = plugin.display().to_string();
            env.extend(PLUGIN_FOLDER_VARIABLES.map(|name| (name.to_owned(), folder.clone())));
        }
        let is_valid_name = |name: &String| !name.is_empty() && !name.contains(['=', '\0']);
        if let Some(name) =
            env.iter().find(|(name, value)| !is_valid_name(name) || value.contains('\0')).map(|(name, _)| name)
        {
            let message = format!("`{}` cannot be a variable", name.escape_debug());
            self.report_problem(&format!("{path}/env"), message, "write NAME: value");
            return None;
        }
        tracing::debug!(name, file = self.file, "read a command");
        Some(HookAction::Command { command, cwd, env })
    }

    /// Quotes a program and its arguments as a shell command.
    fn with_args(&mut self, path: &str, command: &str, entry: &Value) -> Option<String> {
        let Some(args) = entry.get("args") else { return Some(command.to_owned()) };
        let args = args.as_array().map(|args| args.iter().map(Value::as_str).collect::<Option<Vec<&str>>>());
        let Some(Some(args)) = args else {
            self.report_problem(&format!("{path}/args"), "`args` is not a list of strings", "write [\"one\", \"two\"]");
            return None;
        };
        let quoted = |arg: &str| format!("'{}'", arg.replace('\'', r"'\''"));
        Some(std::iter::once(command).chain(args).map(quoted).collect::<Vec<_>>().join(" "))
    }

    fn read_http(&mut self, path: &str, entry: &Value) -> Option<HookAction> {
        let url = match self.optional_text(path, "url", entry)? {
            Some(url) if url.starts_with("https://") || url.starts_with("http://") => url,
            Some(_) | None => {
                let remedy = "write `url`: https://… or http://…";
                self.report_problem(&format!("{path}/url"), "a hook of the type http has no valid URL", remedy);
                return None;
            }
        };
        let headers = self.text_map(path, "headers", entry)?;
        let allowed_env = match entry.get("allowedEnvVars") {
            None => Vec::new(),
            Some(Value::Array(names)) if names.iter().all(Value::is_string) => {
                names.iter().filter_map(Value::as_str).map(str::to_owned).collect()
            }
            Some(_) => {
                let path = format!("{path}/allowedEnvVars");
                self.report_problem(&path, "`allowedEnvVars` is not a list of names", "write [\"TOKEN\"]");
                return None;
            }
        };
        Some(HookAction::Http { url, headers, allowed_env })
    }

    /// Reads an optional string; returns the outer `None` if it has another type.
    fn optional_text(&mut self, path: &str, name: &str, entry: &Value) -> Option<Option<String>> {
        match entry.get(name) {
            None | Some(Value::Null) => Some(None),
            Some(Value::String(text)) => Some(Some(text.clone())),
            Some(other) => {
                let message = format!("`{name}` is {}, not a string", value_kind(other));
                self.report_problem(&format!("{path}/{name}"), message, "put it in quotes");
                None
            }
        }
    }

    fn text_map(&mut self, path: &str, name: &str, entry: &Value) -> Option<BTreeMap<String, String>> {
        let fields = match entry.get(name) {
            None | Some(Value::Null) => return Some(BTreeMap::new()),
            Some(Value::Object(fields)) => fields,
            Some(other) => {
                let message = format!("`{name}` is {}, not an object", value_kind(other));
                self.report_problem(&format!("{path}/{name}"), message, "write {\"NAME\": \"value\"}");
                return None;
            }
        };
        let text = |(key, value): (&String, &Value)| value.as_str().map(|text| (key.clone(), text.to_owned()));
        let texts = fields.iter().map(text).collect::<Option<BTreeMap<String, String>>>();
        if texts.is_none() {
            self.report_problem(
                &format!("{path}/{name}"),
                format!("a value of `{name}` is not a string"),
                "put it in quotes",
            );
        }
        texts
    }
}
