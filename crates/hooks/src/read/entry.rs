//! Reads one entry of an event: a hook, or a matcher with its own hooks.

use protocol::{HookAction, HookDialect, HookEvent, HookFailure, HookSpec};
use serde_json::Value;

use super::file_reader::{HookFileReader, value_kind};
use crate::{event, hook};

/// Default timeout of a command, in milliseconds.
const DEFAULT_COMMAND_TIMEOUT_MS: u64 = 60_000;

/// Default timeout of a URL, in milliseconds.
const DEFAULT_HTTP_TIMEOUT_MS: u64 = 30_000;

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

/// What an entry inherits from its event and its matcher.
#[derive(Debug, Clone)]
pub(super) struct EntryContext {
    pub(super) event: HookEvent,
    pub(super) dialect: HookDialect,
    pub(super) matcher: Option<String>,
}

impl HookFileReader<'_> {
    pub(super) fn read_entry(&mut self, path: &str, inherited: EntryContext, entry: &Value) {
        if !entry.is_object() {
            let remedy = "write {\"type\": \"command\", \"command\": \"…\"}";
            return self.report_problem(path, format!("a hook is {}, not an object", value_kind(entry)), remedy);
        }
        let Ok(matcher) = self.matcher(path, &inherited, entry) else { return };
        let inherited = EntryContext { matcher: matcher.or(inherited.matcher), ..inherited };
        match entry.get("hooks") {
            None => self.read_hook(path, inherited, entry),
            Some(Value::Array(hooks)) => {
                self.report_unknown_fields(path, entry, &GROUP_FIELDS);
                for (index, inner) in hooks.iter().enumerate() {
                    let path = format!("{path}/hooks/{index}");
                    match inner.get("hooks") {
                        Some(_) => {
                            self.report_problem(&path, "a matcher is inside a matcher", "write one matcher for both")
                        }
                        None => self.read_entry(&path, inherited.clone(), inner),
                    }
                }
            }
            Some(other) => {
                let message = format!("the `hooks` of a matcher are {}, not a list", value_kind(other));
                self.report_problem(&format!("{path}/hooks"), message, "write [{…}]");
            }
        }
    }

    /// The entry's own matcher; fails if it is not valid.
    fn matcher(&mut self, path: &str, inherited: &EntryContext, entry: &Value) -> Result<Option<String>, ()> {
        let path = format!("{path}/matcher");
        let matcher = match entry.get("matcher") {
            None | Some(Value::Null) => return Ok(None),
            Some(Value::String(matcher)) => matcher,
            Some(other) => {
                let message = format!("`matcher` is {}, not a string", value_kind(other));
                self.report_problem(&path, message, "write \"Edit|Write\"");
                return Err(());
            }
        };
        match hook::compile_matcher(matcher) {
            Ok(Some(_)) if event::matcher_subject(inherited.event).is_none() => {
                let name = event::event_name(inherited.event, inherited.dialect);
                self.report_problem(
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
                self.report_problem(&path, message, "write a name, names with | between them, or a regular expression");
                Err(())
            }
        }
    }

    fn read_hook(&mut self, path: &str, inherited: EntryContext, entry: &Value) {
        let Some(action) = self.read_action(path, entry) else { return };
        self.report_unknown_fields(path, entry, &HOOK_FIELDS);
        let (Ok(timeout), Ok(failure)) =
            (self.read_timeout(path, entry), self.read_failure_policy(path, &inherited, entry))
        else {
            return;
        };
        let default_ms = match &action {
            HookAction::Command { .. } => DEFAULT_COMMAND_TIMEOUT_MS,
            HookAction::Http { .. } | HookAction::Client { .. } => DEFAULT_HTTP_TIMEOUT_MS,
        };
        let EntryContext { event, dialect, matcher } = inherited;
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

    fn read_timeout(&mut self, path: &str, entry: &Value) -> Result<Option<u64>, ()> {
        let field = ["timeoutSec", "timeout"].into_iter().find_map(|name| entry.get(name).map(|value| (name, value)));
        let Some((name, value)) = field else { return Ok(None) };
        match value.as_f64().filter(|secs| *secs > 0.0 && *secs <= LONGEST_SECS) {
            // The value fits: it is between 1 and a few million.
            Some(secs) => Ok(Some(((secs * 1000.0) as u64).max(1))),
            None => {
                let message = format!("`{name}` is {value}, but must be 1 to {LONGEST_SECS} seconds");
                self.report_problem(&format!("{path}/{name}"), message, "write a number such as 30");
                Err(())
            }
        }
    }

    /// The failure policy. In Copilot's dialect, a failing guard of calls denies.
    fn read_failure_policy(&mut self, path: &str, inherited: &EntryContext, entry: &Value) -> Result<HookFailure, ()> {
        match entry.get("onFailure").map(Value::as_str) {
            Some(Some("block")) => Ok(HookFailure::Closed),
            Some(Some("allow" | "continue" | "ignore" | "open")) => Ok(HookFailure::Open),
            Some(_) => {
                let remedy = "write \"block\" or \"allow\"";
                self.report_problem(&format!("{path}/onFailure"), "`onFailure` is neither block nor allow", remedy);
                Err(())
            }
            None => Ok(match (inherited.dialect, inherited.event) {
                (HookDialect::Camel, HookEvent::PreToolUse) => HookFailure::Closed,
                (HookDialect::Camel | HookDialect::Snake, _) => HookFailure::Open,
            }),
        }
    }
}
