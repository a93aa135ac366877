//! Reads one entry of an event: a hook, or a matcher with its own hooks.

use protocol::{HookAction, HookDialect, HookEvent, HookFailure, HookSpec};
use serde_json::Value;

use super::file_reader::{HookFileReader, value_kind};
use crate::{event, hook};

/// Default timeout of a command, in milliseconds.
const COMMAND_MS: u64 = 60_000;

/// Default timeout of an address, in milliseconds.
const HTTP_MS: u64 = 30_000;

/// Maximum timeout, in seconds.
const LONGEST_SECS: f64 = 3600.0;

/// Fields of an entry with its own hooks.
const GROUP_FIELDS: [&str; 2] = ["matcher", "hooks"];

/// Fields of a hook.
const HOOK_FIELDS: [&str; 22] = [
    "type",
    "command",
    "bash",
    "powershell",
    "args",
    "shell",
    "cwd",
    "env",
    "url",
    "headers",
    "allowedEnvVars",
    "timeout",
    "timeoutSec",
    "matcher",
    "onFailure",
    "async",
    "asyncRewake",
    "if",
    "once",
    "prompt",
    "model",
    "asyncTimeout",
];

/// What an entry inherits.
#[derive(Debug, Clone)]
pub(super) struct EntryContext {
    pub(super) event: HookEvent,
    pub(super) dialect: HookDialect,
    pub(super) matcher: Option<String>,
}

impl HookFileReader<'_> {
    pub(super) fn entry(&mut self, path: &str, outer: EntryContext, entry: &Value) {
        if !entry.is_object() {
            let remedy = "write {\"type\": \"command\", \"command\": \"…\"}";
            return self.problem(path, format!("a hook is {}, not an object", value_kind(entry)), remedy);
        }
        let Ok(matcher) = self.matcher(path, &outer, entry) else { return };
        let outer = EntryContext { matcher: matcher.or(outer.matcher), ..outer };
        match entry.get("hooks") {
            None => self.hook(path, outer, entry),
            Some(Value::Array(hooks)) => {
                self.report_unknown_fields(path, entry, &GROUP_FIELDS);
                for (index, inner) in hooks.iter().enumerate() {
                    let path = format!("{path}/hooks/{index}");
                    match inner.get("hooks") {
                        Some(_) => self.problem(&path, "a matcher is inside a matcher", "write one matcher for both"),
                        None => self.entry(&path, outer.clone(), inner),
                    }
                }
            }
            Some(other) => {
                let message = format!("the `hooks` of a matcher are {}, not a list", value_kind(other));
                self.problem(&format!("{path}/hooks"), message, "write [{…}]");
            }
        }
    }

    /// The entry's own matcher; fails if it is not valid.
    fn matcher(&mut self, path: &str, outer: &EntryContext, entry: &Value) -> Result<Option<String>, ()> {
        let path = format!("{path}/matcher");
        let matcher = match entry.get("matcher") {
            None | Some(Value::Null) => return Ok(None),
            Some(Value::String(matcher)) => matcher,
            Some(other) => {
                let message = format!("`matcher` is {}, not a string", value_kind(other));
                self.problem(&path, message, "write \"Edit|Write\"");
                return Err(());
            }
        };
        match hook::compile(matcher) {
            Ok(Some(_)) if event::matcher_subject(outer.event).is_none() => {
                let name = event::event_name(outer.event, outer.dialect);
                self.problem(
                    &path,
                    format!("there is nothing to match on {name}"),
                    "remove it: the hook runs every time",
                );
                Ok(None)
            }
            Ok(_) => Ok(Some(matcher.clone())),
            Err(error) => {
                let why = error.to_string();
                let why = why.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
                let message = format!("`{matcher}` is not a pattern: {why}");
                self.problem(&path, message, "write a name, names with | between them, or a regular expression");
                Err(())
            }
        }
    }

    fn hook(&mut self, path: &str, outer: EntryContext, entry: &Value) {
        let Some(action) = self.action(path, entry) else { return };
        self.report_unknown_fields(path, entry, &HOOK_FIELDS);
        let (Ok(timeout), Ok(failure)) = (self.timeout(path, entry), self.failure(path, &outer, entry)) else { return };
        let default_ms = match &action {
            HookAction::Command { .. } => COMMAND_MS,
            HookAction::Http { .. } | HookAction::Client { .. } => HTTP_MS,
        };
        let EntryContext { event, dialect, matcher } = outer;
        let (timeout_ms, source) = (timeout.unwrap_or(default_ms), self.source(path));
        self.hooks.push(HookSpec {
            event,
            matcher,
            action,
            timeout_ms,
            failure,
            dialect,
            source,
            programs: Vec::new(),
        });
    }

    fn timeout(&mut self, path: &str, entry: &Value) -> Result<Option<u64>, ()> {
        let given = ["timeoutSec", "timeout"].into_iter().find_map(|name| entry.get(name).map(|value| (name, value)));
        let Some((name, value)) = given else { return Ok(None) };
        match value.as_f64().filter(|secs| *secs > 0.0 && *secs <= LONGEST_SECS) {
            // The value fits: it is between 1 and a few million.
            Some(secs) => Ok(Some(((secs * 1000.0) as u64).max(1))),
            None => {
                let message = format!("`{name}` is {value}, but must be 1 to {LONGEST_SECS} seconds");
                self.problem(&format!("{path}/{name}"), message, "write a number such as 30");
                Err(())
            }
        }
    }

    /// The failure policy. In Copilot's dialect, a failing guard of calls denies.
    fn failure(&mut self, path: &str, outer: &EntryContext, entry: &Value) -> Result<HookFailure, ()> {
        match entry.get("onFailure").map(Value::as_str) {
            Some(Some("block")) => Ok(HookFailure::Closed),
            Some(Some("allow" | "continue" | "ignore" | "open")) => Ok(HookFailure::Open),
            Some(_) => {
                let remedy = "write \"block\" or \"allow\"";
                self.problem(&format!("{path}/onFailure"), "`onFailure` is neither block nor allow", remedy);
                Err(())
            }
            None => Ok(match (outer.dialect, outer.event) {
                (HookDialect::Camel, HookEvent::PreToolUse) => HookFailure::Closed,
                (HookDialect::Camel | HookDialect::Snake, _) => HookFailure::Open,
            }),
        }
    }
}
