//! Builds the request to open a session: its options, the client's hooks and tools, and its system text.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use host::Home;
use protocol::SessionId;
use runtime::{ClientExtensions, SessionStart, SystemEdits, SystemText};
use serde_json::Value;
use tools::ToolCatalog;

use super::args::ClaudeArgs;
use super::client_setup::ClientSetup;
use super::hook_callbacks::HookReporting;
use super::initialize::InitializeRequest;
use super::session_options::session_options;
use super::wire::ControlChannel;
use super::{hook_callbacks, mcp_servers, output_style, structured};
use crate::managed::{self, ManagedPolicy};
use crate::session_id;
use server::{OpenRefusal, OpenRequest};

/// Maximum bytes of a file that the command line names.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// Builds the request to open the client's session.
pub(super) fn build_request(
    args: &ClaudeArgs,
    initialize: &InitializeRequest,
    setup: &ClientSetup,
    home: &Home,
    control: &Arc<ControlChannel>,
) -> Result<OpenRequest, OpenRefusal> {
    let start = session_start(args, home)?;
    let id = args.session_id.as_deref().map(|text| parse_session_id(text, "--session-id")).transpose()?;
    let id = id.filter(|_| !matches!(start, SessionStart::Resume(_)));
    let hook_reporting = if args.hook_events { HookReporting::On } else { HookReporting::Off };
    let extensions = ClientExtensions {
        hooks: hook_callbacks::hook_specs(&initialize.hooks).into_iter().chain(setup.settings.hooks()?).collect(),
        hook_driver: Some(Arc::new(hook_callbacks::HookCallbacks::new(Arc::clone(control), hook_reporting))),
        system_text: added_texts(setup).fold(system_text(args, initialize)?, with_text),
        tools: setup.tools(),
        catalog: Some(Arc::clone(&setup.servers) as Arc<dyn ToolCatalog>),
        ..ClientExtensions::default()
    };
    let mut options = session_options(args, initialize, setup)?;
    mcp_servers::add_tool_rules(&initialize.request, &mut options);
    Ok(OpenRequest { id, options, client_extensions: extensions, ..OpenRequest::new(start) })
}

/// Whether to start, resume or fork the session.
fn session_start(args: &ClaudeArgs, home: &Home) -> Result<SessionStart, OpenRefusal> {
    let id = match &args.resume {
        Some(text) => {
            let id = parse_session_id(text, "--resume")?;
            if !home.session_dir(id).is_dir() {
                return Err(refusal(format!("there is no session with the id {text}"), "`bosun sessions` lists them"));
            }
            id
        }
        None if args.continue_latest => match latest_session(home)? {
            Some(id) => id,
            None => return Ok(SessionStart::New),
        },
        None => return Ok(SessionStart::New),
    };
    Ok(if args.fork_session { SessionStart::Fork(id) } else { SessionStart::Resume(id) })
}

/// The most recent session of this folder.
fn latest_session(home: &Home) -> Result<Option<SessionId>, OpenRefusal> {
    let list_error = |error: &dyn std::fmt::Display| refusal(format!("cannot list the sessions: {error}"), "");
    let cwd = std::env::current_dir().map_err(|error| list_error(&error))?.display().to_string();
    client::sessions::latest(home, &cwd).map_err(|error| list_error(&error))
}

fn parse_session_id(text: &str, flag: &str) -> Result<SessionId, OpenRefusal> {
    session_id(text).ok_or_else(|| refusal(format!("{flag} is not a session id: {text}"), "an id is a UUID"))
}

pub(super) fn refusal(words: String, hint: &str) -> OpenRefusal {
    OpenRefusal { words, hint: Some(hint.to_owned()).filter(|hint| !hint.is_empty()) }
}

/// The client's managed settings, from the command line and `initialize`.
pub(super) fn managed_policy(args: &ClaudeArgs, initialize: &InitializeRequest) -> Result<ManagedPolicy, OpenRefusal> {
    let mut managed = ManagedPolicy::default();
    let mut join = |settings: &Value| {
        let ManagedPolicy { deny, ask, forbids_bypass } = ManagedPolicy::read(settings)?;
        managed.deny.extend(deny);
        managed.ask.extend(ask);
        managed.forbids_bypass |= forbids_bypass;
        Ok::<(), OpenRefusal>(())
    };
    if let Some(text) = &args.managed_settings {
        join(&read_settings(text, "managed-settings")?)?;
    }
    match &initialize.request["managedSettings"] {
        Value::Null if args.managed_in_initialize => {
            return Err(managed::refusal(
                "`initialize` lacks the managed settings that the command line announces".into(),
            ));
        }
        Value::Null => {}
        settings => join(settings)?,
    }
    Ok(managed)
}

/// The root's system prompt. Blank text counts as absent.
fn system_text(args: &ClaudeArgs, initialize: &InitializeRequest) -> Result<SystemText, OpenRefusal> {
    let file = args.system_file.as_deref().map(read_file).transpose()?;
    let replacement = initialize.system_prompt.clone().or_else(|| args.system_prompt.clone()).or(file);
    let append = initialize.append_system_prompt.clone().or_else(|| args.append_system_prompt.clone());
    Ok(match (replacement.filter(|text| !text.trim().is_empty()), append.filter(|text| !text.trim().is_empty())) {
        (None, None) => SystemText::BuiltIn,
        (None, Some(appended)) => SystemText::Appended(appended),
        (Some(replacement), None) => SystemText::Replaced(replacement),
        (Some(replacement), Some(appended)) => SystemText::Replaced(format!("{replacement}\n\n{appended}")),
    })
}

/// Text that is added to the system prompt: of the output style, and for structured output.
fn added_texts(setup: &ClientSetup) -> impl Iterator<Item = String> {
    let settings = &setup.settings;
    let style = settings.output_style.as_deref();
    let style = style.and_then(|style| output_style::style_text(style, &settings.style_folders));
    let schema = setup.structured.as_ref().map(|_| structured::SYSTEM_TEXT.to_owned());
    style.into_iter().chain(schema).filter(|text| !text.is_empty())
}

fn with_text(system: SystemText, added: String) -> SystemText {
    match system {
        SystemText::BuiltIn => SystemText::Appended(added),
        SystemText::Appended(appended) => SystemText::Appended(format!("{appended}\n\n{added}")),
        SystemText::Replaced(replacement) => SystemText::Replaced(format!("{replacement}\n\n{added}")),
        SystemText::Customized(edits) => {
            SystemText::Customized(SystemEdits { appended: format!("{}\n\n{added}", edits.appended), ..edits })
        }
    }
}

/// Reads the settings of a flag, given as JSON or as a file name.
pub(super) fn read_settings(text: &str, flag: &str) -> Result<Value, OpenRefusal> {
    let json = if text.trim_start().starts_with('{') { text.to_owned() } else { read_file(text)? };
    serde_json::from_str(&json).map_err(|error| refusal(format!("--{flag} is not JSON: {error}"), ""))
}

fn read_file(path: &str) -> Result<String, OpenRefusal> {
    let mut text = String::new();
    let read = File::open(Path::new(path)).and_then(|file| file.take(MAX_FILE_BYTES).read_to_string(&mut text));
    read.map(|_| text).map_err(|error| refusal(format!("cannot read {path}: {error}"), ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn client_system_prompt_replaces_or_extends_built_in_text() {
        let prompt = |line: &[&str], initialize: InitializeRequest| {
            system_text(&ClaudeArgs::parse(line.iter().map(|arg| (*arg).to_owned()).collect()), &initialize).unwrap()
        };
        assert_eq!(prompt(&["--system-prompt", ""], InitializeRequest::default()), SystemText::BuiltIn);
        assert_eq!(
            prompt(&["--append-system-prompt=b"], InitializeRequest::default()),
            SystemText::Appended("b".into())
        );
        assert_eq!(prompt(&["--system-prompt=a"], InitializeRequest::default()), SystemText::Replaced("a".into()));
        let initialize = InitializeRequest {
            system_prompt: Some("c".into()),
            append_system_prompt: Some("d".into()),
            ..InitializeRequest::default()
        };
        assert_eq!(prompt(&[], initialize), SystemText::Replaced("c\n\nd".into()));
    }
}
