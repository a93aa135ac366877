//! Runs the hooks that an occasion concerns, one after the other, and makes one verdict of what they say.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use host::Guardian;
use net::{HttpClient, HttpTimeouts, NetworkRoute};
use protocol::{HookAction, HookDialect, HookEvent, HookFailure, HookSpec};
use serde_json::Value;
use tokio::sync::Semaphore;

use super::command::{self, CapturedOutput, HookCommand};
use super::failure::HookRunError;
use super::http::{self, HookPost};
use crate::payload::payload;
use crate::{Hook, HookContext, HookEventData, HookVerdict, Ruling};
use crate::{output_parser, program};

/// Longest that any hook is waited for, whatever was written for it.
const MAX_TIMEOUT: Duration = Duration::from_secs(3600);

/// How many hooks run at once. A model can make thousands of calls in one answer: hooks that could not be started for
/// want of files or processes would have no say.
const MAX_CONCURRENT: usize = 64;

/// What hooks are run with.
#[derive(Debug, Clone)]
pub struct HookRunnerConfig {
    /// Starts programs.
    pub guardian: Guardian,
    /// The environment of started programs; header variables come from here too.
    pub env: Arc<Vec<(OsString, OsString)>>,
    /// The folder that the session works in.
    pub cwd: PathBuf,
    /// The project's top.
    pub project_root: PathBuf,
    /// The way to addresses.
    pub route: NetworkRoute,
    /// The program that drives the session, if it has hooks.
    pub client_hooks: Option<Arc<dyn ClientHookCaller>>,
}

/// A program that drives a session and has hooks of its own.
pub trait ClientHookCaller: Send + Sync + fmt::Debug {
    /// Calls one of them; gives its answer as JSON, or says in words why there is none.
    fn call<'a>(
        &'a self,
        id: &'a str,
        payload: Value,
    ) -> Pin<Box<dyn Future<Output = Result<String, String>> + Send + 'a>>;
}

/// Runs hooks.
#[derive(Debug, Clone)]
pub struct HookRunner {
    config: HookRunnerConfig,
    client: HttpClient,
    slots: Arc<Semaphore>,
}

/// What a hook that ended wrote.
pub(super) enum HookOutput {
    /// Its answer.
    Answer(String),
    /// That this may not be.
    Denial(String),
}

impl HookRunner {
    /// Runs hooks with these.
    pub fn new(ways: HookRunnerConfig) -> HookRunner {
        let patience = HttpTimeouts { connect: MAX_TIMEOUT, first_byte: MAX_TIMEOUT, idle: MAX_TIMEOUT };
        let client = HttpClient::new(ways.route.clone(), patience);
        HookRunner { config: ways, client, slots: Arc::new(Semaphore::new(MAX_CONCURRENT)) }
    }

    /// Tells hooks of an occasion in their order. Each sees what those before it made of the call; after a no, nobody
    /// else is asked.
    pub async fn run_hooks(&self, hooks: &[&Hook], occasion: &HookEventData, about: &HookContext) -> HookVerdict {
        let mut verdict = HookVerdict::default();
        let mut occasion = occasion.clone();
        for hook in hooks {
            let said = self.run_one(&hook.spec, &occasion, about).await;
            if let (HookEventData::PreTool(call), Some(input)) = (&mut occasion, &said.updated_input) {
                call.input = Value::Object(input.clone()).to_string();
            }
            if let (HookEventData::PostTool { answer, .. }, Some(text)) = (&mut occasion, &said.replacement_text) {
                answer.clone_from(text);
            }
            verdict.join(said);
            if verdict.denial_reason().is_some() && !is_informational(&occasion) {
                break;
            }
        }
        verdict
    }

    async fn run_one(&self, hook: &HookSpec, occasion: &HookEventData, about: &HookContext) -> HookVerdict {
        let payload = payload(occasion, hook.event, about, hook.dialect);
        let time = Duration::from_millis(hook.timeout_ms).min(MAX_TIMEOUT);
        // Nobody closes it. Its time begins when it has room.
        let _room = self.slots.acquire().await;
        let heard = CapturedOutput::default();
        let ran = tokio::time::timeout(time, self.run(hook, &payload, about, &heard)).await;
        let read = match ran {
            Ok(Ok(HookOutput::Answer(text))) => output_parser::parse_output(&text, hook.event, hook.dialect, occasion),
            Ok(Ok(HookOutput::Denial(reason))) => Ok(denial_verdict(hook.event, reason)),
            Ok(Err(failure)) => before_failure(&heard, hook, occasion, failure),
            Err(_late) => before_failure(&heard, hook, occasion, HookRunError::TimedOut(time)),
        };
        match read {
            Ok(verdict) => {
                for message in &verdict.messages {
                    tracing::info!(hook = hook.source, message, "a hook speaks");
                }
                verdict
            }
            Err(failure) => failure_verdict(hook, &failure),
        }
    }

    async fn run(
        &self,
        hook: &HookSpec,
        payload: &Value,
        about: &HookContext,
        heard: &CapturedOutput,
    ) -> Result<HookOutput, HookRunError> {
        match &hook.action {
            HookAction::Command { command, cwd, env } => {
                let folder = cwd.as_ref().map_or_else(|| self.folder(about), |cwd| self.config.project_root.join(cwd));
                if let Some(file) = program::first_changed(&hook.programs, &folder) {
                    return Err(HookRunError::Program(file.display().to_string()));
                }
                let env = self.env(hook.dialect, env);
                command::run(&self.config.guardian, HookCommand { command, folder, env }, payload, heard).await
            }
            HookAction::Http { url, headers, allowed_env } => {
                let post = HookPost { url, headers, allowed: allowed_env, env: &self.config.env };
                http::run(&self.client, post, payload).await
            }
            HookAction::Client { id } => match &self.config.client_hooks {
                Some(driver) => {
                    driver.call(id, payload.clone()).await.map(HookOutput::Answer).map_err(HookRunError::Client)
                }
                None => Err(HookRunError::Client("the program that has it is not there".into())),
            },
        }
    }

    /// The folder of the agent that it is about, which may be a checkout; the session's, if that is gone.
    fn folder(&self, about: &HookContext) -> PathBuf {
        let folder = PathBuf::from(&about.cwd);
        if folder.is_dir() { folder } else { self.config.cwd.clone() }
    }

    /// The session's variables, those that the formats promise, and the hook's own.
    fn env(&self, dialect: HookDialect, own: &BTreeMap<String, String>) -> Vec<(OsString, OsString)> {
        let project = match dialect {
            HookDialect::Camel => "COPILOT_PROJECT_DIR",
            HookDialect::Snake => "CLAUDE_PROJECT_DIR",
        };
        let promised = (OsString::from(project), self.config.project_root.clone().into_os_string());
        let own = own.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
        let more: Vec<_> = std::iter::once(promised).chain(own).collect();
        let kept = self.config.env.iter().filter(|(name, _)| more.iter().all(|(newer, _)| newer != name)).cloned();
        kept.chain(more.iter().cloned()).collect()
    }
}

/// Whether hooks are only told: what they say comes too late to keep it from happening.
fn is_informational(occasion: &HookEventData) -> bool {
    match occasion {
        HookEventData::SessionStart(_)
        | HookEventData::SessionEnd { .. }
        | HookEventData::PostTool { .. }
        | HookEventData::ToolFailed { .. }
        | HookEventData::PermissionDenied { .. }
        | HookEventData::Compact(_)
        | HookEventData::Error { .. } => true,
        HookEventData::Prompt { .. }
        | HookEventData::PreTool(_)
        | HookEventData::PermissionRequest { .. }
        | HookEventData::AgentStart
        | HookEventData::AgentStop { .. }
        | HookEventData::Item { .. } => false,
    }
}

/// What a hook that failed had said before: a no, or that a person should decide, counts all the same, and so does what
/// may have been one of a guard.
fn before_failure(
    heard: &CapturedOutput,
    hook: &HookSpec,
    occasion: &HookEventData,
    failure: HookRunError,
) -> Result<HookVerdict, HookRunError> {
    match output_parser::parse_output(&heard.text(), hook.event, hook.dialect, occasion) {
        Ok(verdict) if matches!(verdict.ruling, Ruling::Deny { .. } | Ruling::Ask { .. }) => {
            tracing::warn!(hook = hook.source, %failure, "a hook said no, and failed");
            // Nothing that would let more happen.
            Ok(HookVerdict { updated_input: None, rules: Vec::new(), ..verdict })
        }
        Ok(_) => Err(failure),
        Err(unread) if output_parser::is_guard(hook.event) => Err(unread),
        Err(_unread) => Err(failure),
    }
}

/// A hook's plain no.
fn denial_verdict(event: HookEvent, reason: String) -> HookVerdict {
    let reason = output_parser::clip_text(if reason.is_empty() { "it gave no reason" } else { &reason });
    let is_past = matches!(event, HookEvent::PostToolUse | HookEvent::PostToolUseFailure);
    let context = if is_past { vec![reason.clone()] } else { Vec::new() };
    HookVerdict { ruling: Ruling::Deny { reason }, context, ..HookVerdict::default() }
}

/// What the failure of a hook means: nothing, or no.
fn failure_verdict(hook: &HookSpec, failure: &HookRunError) -> HookVerdict {
    tracing::warn!(hook = hook.source, %failure, "a hook failed");
    // Whoever changed the program of a guard must not have got rid of it.
    let is_no = match failure {
        HookRunError::Program(_) => !output_parser::is_stop(hook.event),
        // It may have been a no.
        HookRunError::Json(_) | HookRunError::TooMuchOutput(_) => output_parser::is_guard(hook.event),
        HookRunError::Start(_)
        | HookRunError::TimedOut(_)
        | HookRunError::Status { .. }
        | HookRunError::Net(_)
        | HookRunError::Client(_) => false,
    };
    match (hook.failure, is_no) {
        (HookFailure::Open, false) => HookVerdict::default(),
        (HookFailure::Closed, _) | (HookFailure::Open, true) => {
            let reason = format!("the hook of {} failed, and nothing goes on without it: {failure}", hook.source);
            // What a hook was to look through first is not shown without it.
            let text = (hook.event == HookEvent::PostToolUse).then(|| reason.clone());
            HookVerdict { ruling: Ruling::Deny { reason }, replacement_text: text, ..HookVerdict::default() }
        }
    }
}
