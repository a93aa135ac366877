//! Runs the hooks of an event one after the other, and combines their answers into one verdict.

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

/// Maximum timeout of any hook, regardless of its file.
const MAX_TIMEOUT: Duration = Duration::from_secs(3600);

/// How many hooks run at once. A model can make thousands of calls in one answer, and hooks that could not start for
/// lack of files or processes could not deny them.
const MAX_CONCURRENT: usize = 64;

/// Services and settings that hooks run with.
#[derive(Debug, Clone)]
pub struct HookRunnerConfig {
    /// Starts programs.
    pub guardian: Guardian,
    /// The environment of started programs; header variables come from here too.
    pub env: Arc<Vec<(OsString, OsString)>>,
    /// The session's folder.
    pub cwd: PathBuf,
    /// The project's top folder.
    pub project_root: PathBuf,
    /// The network route to the URLs of hooks.
    pub route: NetworkRoute,
    /// The session's client, if it has hooks.
    pub client_hooks: Option<Arc<dyn ClientHookCaller>>,
}

/// A session's client with hooks of its own.
pub trait ClientHookCaller: Send + Sync + fmt::Debug {
    /// Calls one of its hooks; returns the answer as JSON, or a message why there is none.
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
    permits: Arc<Semaphore>,
}

/// The output of a hook that ended.
pub(super) enum HookOutput {
    /// Its answer.
    Answer(String),
    /// A denial, with the reason.
    Denial(String),
}

impl HookRunner {
    /// Creates a runner.
    pub fn new(config: HookRunnerConfig) -> HookRunner {
        let timeouts = HttpTimeouts { connect: MAX_TIMEOUT, first_byte: MAX_TIMEOUT, idle: MAX_TIMEOUT };
        let client = HttpClient::new(config.route.clone(), timeouts);
        HookRunner { config, client, permits: Arc::new(Semaphore::new(MAX_CONCURRENT)) }
    }

    /// Runs hooks on an event in their order. Each sees the changes made by those before it; after a denial, no further
    /// hook runs.
    pub async fn run_hooks(&self, hooks: &[&Hook], data: &HookEventData, context: &HookContext) -> HookVerdict {
        let mut verdict = HookVerdict::default();
        let mut data = data.clone();
        for hook in hooks {
            let hook_verdict = self.run_one(&hook.spec, &data, context).await;
            if let (HookEventData::PreTool(call), Some(input)) = (&mut data, &hook_verdict.updated_input) {
                call.input = Value::Object(input.clone()).to_string();
            }
            if let (HookEventData::PostTool { answer, .. }, Some(text)) = (&mut data, &hook_verdict.replacement_text) {
                answer.clone_from(text);
            }
            verdict.merge(hook_verdict);
            if verdict.denial_reason().is_some() && !is_informational(&data) {
                break;
            }
        }
        verdict
    }

    async fn run_one(&self, hook: &HookSpec, data: &HookEventData, context: &HookContext) -> HookVerdict {
        let payload = payload(data, hook.event, context, hook.dialect);
        let timeout = Duration::from_millis(hook.timeout_ms).min(MAX_TIMEOUT);
        // The semaphore is never closed. The timeout starts once a permit is free.
        let _permit = self.permits.acquire().await;
        let captured = CapturedOutput::default();
        let result = tokio::time::timeout(timeout, self.run(hook, &payload, context, &captured)).await;
        let verdict = match result {
            Ok(Ok(HookOutput::Answer(text))) => output_parser::parse_output(&text, hook.event, hook.dialect, data),
            Ok(Ok(HookOutput::Denial(reason))) => Ok(denial_verdict(hook.event, reason)),
            Ok(Err(failure)) => verdict_before_failure(&captured, hook, data, failure),
            Err(_late) => verdict_before_failure(&captured, hook, data, HookRunError::TimedOut(timeout)),
        };
        match verdict {
            Ok(verdict) => {
                for message in &verdict.messages {
                    tracing::info!(hook = hook.source, message, "message from a hook");
                }
                let client_allows = matches!(hook.action, HookAction::Client { .. }) && verdict.ruling == Ruling::Allow;
                HookVerdict { client_allows, ..verdict }
            }
            Err(failure) => failure_verdict(hook, &failure),
        }
    }

    async fn run(
        &self,
        hook: &HookSpec,
        payload: &Value,
        context: &HookContext,
        captured: &CapturedOutput,
    ) -> Result<HookOutput, HookRunError> {
        match &hook.action {
            HookAction::Command { command, cwd, env } => {
                let folder =
                    cwd.as_ref().map_or_else(|| self.agent_folder(context), |cwd| self.config.project_root.join(cwd));
                if let Some(file) = program::first_changed(&hook.programs, &folder) {
                    return Err(HookRunError::Program(file.display().to_string()));
                }
                let env = self.env(hook.dialect, env);
                command::run(&self.config.guardian, HookCommand { command, folder, env }, payload, captured).await
            }
            HookAction::Http { url, headers, allowed_env } => {
                let post = HookPost { url, headers, allowed_env, env: &self.config.env };
                http::run(&self.client, post, payload).await
            }
            HookAction::Client { id } => match &self.config.client_hooks {
                Some(client) => {
                    client.call(id, payload.clone()).await.map(HookOutput::Answer).map_err(HookRunError::Client)
                }
                None => Err(HookRunError::Client("it is not connected".into())),
            },
        }
    }

    /// The agent's folder, which may be a checkout; the session's, if that is gone.
    fn agent_folder(&self, context: &HookContext) -> PathBuf {
        let folder = PathBuf::from(&context.cwd);
        if folder.is_dir() { folder } else { self.config.cwd.clone() }
    }

    /// The session's variables, those of the dialect, and the hook's own.
    fn env(&self, dialect: HookDialect, own: &BTreeMap<String, String>) -> Vec<(OsString, OsString)> {
        let project = match dialect {
            HookDialect::Camel => "COPILOT_PROJECT_DIR",
            HookDialect::Snake => "CLAUDE_PROJECT_DIR",
        };
        let project_variable = (OsString::from(project), self.config.project_root.clone().into_os_string());
        let own = own.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
        let overrides: Vec<_> = std::iter::once(project_variable).chain(own).collect();
        let inherited =
            self.config.env.iter().filter(|(name, _)| overrides.iter().all(|(newer, _)| newer != name)).cloned();
        inherited.chain(overrides.iter().cloned()).collect()
    }
}

/// Whether hooks are only informed: their answer comes too late to prevent the event.
fn is_informational(data: &HookEventData) -> bool {
    match data {
        HookEventData::SessionStart(_)
        | HookEventData::SessionEnd { .. }
        | HookEventData::PostTool { .. }
        | HookEventData::ToolFailed { .. }
        | HookEventData::PermissionDenied { .. }
        | HookEventData::Compact(_)
        | HookEventData::Error { .. } => true,
        HookEventData::Prompt { .. }
        | HookEventData::TransformedPrompt { .. }
        | HookEventData::PreTool(_)
        | HookEventData::PreMcp(_)
        | HookEventData::PermissionRequest { .. }
        | HookEventData::AgentStart
        | HookEventData::AgentStop { .. }
        | HookEventData::Item { .. } => false,
    }
}

/// Applies the answer that a failed hook gave before: a denial or an ask still counts, and so does text of a guard that
/// may have been one.
fn verdict_before_failure(
    captured: &CapturedOutput,
    hook: &HookSpec,
    data: &HookEventData,
    failure: HookRunError,
) -> Result<HookVerdict, HookRunError> {
    match output_parser::parse_output(&captured.text(), hook.event, hook.dialect, data) {
        Ok(verdict) if matches!(verdict.ruling, Ruling::Deny { .. } | Ruling::Ask { .. }) => {
            tracing::warn!(hook = hook.source, %failure, "a hook denied or asked, and then failed");
            // Drop everything that would allow more.
            Ok(HookVerdict { updated_input: None, rules: Vec::new(), ..verdict })
        }
        Ok(_) => Err(failure),
        Err(invalid) if output_parser::is_guard(hook.event) => Err(invalid),
        Err(_invalid) => Err(failure),
    }
}

/// A hook's denial without JSON.
fn denial_verdict(event: HookEvent, reason: String) -> HookVerdict {
    let reason = output_parser::clip_text(if reason.is_empty() { "it gave no reason" } else { &reason });
    let is_past = matches!(event, HookEvent::PostToolUse | HookEvent::PostToolUseFailure);
    let context = if is_past { vec![reason.clone()] } else { Vec::new() };
    HookVerdict { ruling: Ruling::Deny { reason }, context, ..HookVerdict::default() }
}

/// The consequence of a hook's failure: none, or a denial.
fn failure_verdict(hook: &HookSpec, failure: &HookRunError) -> HookVerdict {
    tracing::warn!(hook = hook.source, %failure, "a hook failed");
    // Changing the program of a guard must not disable the guard.
    let denies = match failure {
        HookRunError::Program(_) => !output_parser::is_stop_event(hook.event),
        // It may have been a denial.
        HookRunError::Json(_) | HookRunError::TooMuchOutput(_) => output_parser::is_guard(hook.event),
        HookRunError::Start(_)
        | HookRunError::TimedOut(_)
        | HookRunError::Status { .. }
        | HookRunError::Net(_)
        | HookRunError::Client(_) => false,
    };
    match (hook.failure, denies) {
        (HookFailure::Open, false) => HookVerdict::default(),
        (HookFailure::Closed, _) | (HookFailure::Open, true) => {
            let reason = format!("the hook of {} failed, and it cannot be skipped: {failure}", hook.source);
            // A result that a hook should have filtered is not shown without it.
            let text = (hook.event == HookEvent::PostToolUse).then(|| reason.clone());
            HookVerdict { ruling: Ruling::Deny { reason }, replacement_text: text, ..HookVerdict::default() }
        }
    }
}
