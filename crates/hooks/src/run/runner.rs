//! Runs the hooks that an occasion concerns, one after the other, and makes one verdict of what they say.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use host::Guardian;
use net::{Client, Patience, Route};
use protocol::{HookAction, HookDialect, HookEvent, HookFailure, HookSpec};
use serde_json::Value;
use tokio::sync::Semaphore;

use super::command::{self, Command, Heard};
use super::failure::Failure;
use super::http::{self, Post};
use crate::payload::payload;
use crate::{About, Hook, Occasion, Ruling, Verdict};
use crate::{program, said};

/// Longest that any hook is waited for, whatever was written for it.
const LONGEST: Duration = Duration::from_secs(3600);

/// How many hooks run at once. A model can make thousands of calls in one answer: hooks that could not be started for
/// want of files or processes would have no say.
const AT_ONCE: usize = 64;

/// What hooks are run with.
#[derive(Debug, Clone)]
pub struct Ways {
    /// Starts programs.
    pub guardian: Guardian,
    /// The environment of started programs; header variables come from here too.
    pub env: Arc<Vec<(OsString, OsString)>>,
    /// The folder that the session works in.
    pub cwd: PathBuf,
    /// The project's top.
    pub top: PathBuf,
    /// The way to addresses.
    pub route: Route,
    /// The program that drives the session, if it has hooks.
    pub driver: Option<Arc<dyn Driver>>,
}

/// A program that drives a session and has hooks of its own.
pub trait Driver: Send + Sync + fmt::Debug {
    /// Calls one of them; gives its answer as JSON, or says in words why there is none.
    fn call<'a>(
        &'a self,
        id: &'a str,
        payload: Value,
    ) -> Pin<Box<dyn Future<Output = Result<String, String>> + Send + 'a>>;
}

/// Runs hooks.
#[derive(Debug, Clone)]
pub struct Runner {
    ways: Ways,
    client: Client,
    room: Arc<Semaphore>,
}

/// What a hook that ended wrote.
pub(super) enum Wrote {
    /// Its answer.
    Answer(String),
    /// That this may not be.
    No(String),
}

impl Runner {
    /// Runs hooks with these.
    pub fn new(ways: Ways) -> Runner {
        let patience = Patience { connect: LONGEST, first_byte: LONGEST, idle: LONGEST };
        let client = Client::new(ways.route.clone(), patience);
        Runner { ways, client, room: Arc::new(Semaphore::new(AT_ONCE)) }
    }

    /// Tells hooks of an occasion in their order. Each sees what those before it made of the call; after a no, nobody
    /// else is asked.
    pub async fn tell(&self, hooks: &[&Hook], occasion: &Occasion, about: &About) -> Verdict {
        let mut verdict = Verdict::default();
        let mut occasion = occasion.clone();
        for hook in hooks {
            let said = self.one(&hook.spec, &occasion, about).await;
            if let (Occasion::PreTool(call), Some(input)) = (&mut occasion, &said.input) {
                call.input = Value::Object(input.clone()).to_string();
            }
            if let (Occasion::PostTool { answer, .. }, Some(text)) = (&mut occasion, &said.text) {
                answer.clone_from(text);
            }
            verdict.join(said);
            if verdict.denied().is_some() && !is_told(&occasion) {
                break;
            }
        }
        verdict
    }

    async fn one(&self, hook: &HookSpec, occasion: &Occasion, about: &About) -> Verdict {
        let payload = payload(occasion, hook.event, about, hook.dialect);
        let time = Duration::from_millis(hook.timeout_ms).min(LONGEST);
        // Nobody closes it. Its time begins when it has room.
        let _room = self.room.acquire().await;
        let heard = Heard::default();
        let ran = tokio::time::timeout(time, self.run(hook, &payload, about, &heard)).await;
        let read = match ran {
            Ok(Ok(Wrote::Answer(text))) => said::read(&text, hook.event, hook.dialect, occasion),
            Ok(Ok(Wrote::No(reason))) => Ok(no(hook.event, reason)),
            Ok(Err(failure)) => before_failure(&heard, hook, occasion, failure),
            Err(_late) => before_failure(&heard, hook, occasion, Failure::Late(time)),
        };
        match read {
            Ok(verdict) => {
                for message in &verdict.messages {
                    tracing::info!(hook = hook.source, message, "a hook speaks");
                }
                verdict
            }
            Err(failure) => failed(hook, &failure),
        }
    }

    async fn run(&self, hook: &HookSpec, payload: &Value, about: &About, heard: &Heard) -> Result<Wrote, Failure> {
        match &hook.action {
            HookAction::Command { command, cwd, env } => {
                let folder = cwd.as_ref().map_or_else(|| self.folder(about), |cwd| self.ways.top.join(cwd));
                if let Some(file) = program::changed(&hook.programs, &folder) {
                    return Err(Failure::Program(file.display().to_string()));
                }
                let env = self.env(hook.dialect, env);
                command::run(&self.ways.guardian, Command { command, folder, env }, payload, heard).await
            }
            HookAction::Http { url, headers, allowed_env } => {
                let post = Post { url, headers, allowed: allowed_env, env: &self.ways.env };
                http::run(&self.client, post, payload).await
            }
            HookAction::Client { id } => match &self.ways.driver {
                Some(driver) => driver.call(id, payload.clone()).await.map(Wrote::Answer).map_err(Failure::Driver),
                None => Err(Failure::Driver("the program that has it is not there".into())),
            },
        }
    }

    /// The folder of the agent that it is about, which may be a checkout; the session's, if that is gone.
    fn folder(&self, about: &About) -> PathBuf {
        let folder = PathBuf::from(&about.cwd);
        if folder.is_dir() { folder } else { self.ways.cwd.clone() }
    }

    /// The session's variables, those that the formats promise, and the hook's own.
    fn env(&self, dialect: HookDialect, own: &BTreeMap<String, String>) -> Vec<(OsString, OsString)> {
        let project = match dialect {
            HookDialect::Camel => "COPILOT_PROJECT_DIR",
            HookDialect::Snake => "CLAUDE_PROJECT_DIR",
        };
        let promised = (OsString::from(project), self.ways.top.clone().into_os_string());
        let own = own.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
        let more: Vec<_> = std::iter::once(promised).chain(own).collect();
        let kept = self.ways.env.iter().filter(|(name, _)| more.iter().all(|(newer, _)| newer != name)).cloned();
        kept.chain(more.iter().cloned()).collect()
    }
}

/// Whether hooks are only told: what they say comes too late to keep it from happening.
fn is_told(occasion: &Occasion) -> bool {
    match occasion {
        Occasion::SessionStart(_)
        | Occasion::SessionEnd { .. }
        | Occasion::PostTool { .. }
        | Occasion::ToolFailed { .. }
        | Occasion::PermissionDenied { .. }
        | Occasion::Compact(_)
        | Occasion::Error { .. } => true,
        Occasion::Prompt { .. }
        | Occasion::PreTool(_)
        | Occasion::PermissionRequest { .. }
        | Occasion::Start
        | Occasion::Stop { .. }
        | Occasion::Item { .. } => false,
    }
}

/// What a hook that failed had said before: a no, or that a person should decide, counts all the same, and so does what
/// may have been one of a guard.
fn before_failure(heard: &Heard, hook: &HookSpec, occasion: &Occasion, failure: Failure) -> Result<Verdict, Failure> {
    match said::read(&heard.text(), hook.event, hook.dialect, occasion) {
        Ok(verdict) if matches!(verdict.ruling, Ruling::Deny { .. } | Ruling::Ask { .. }) => {
            tracing::warn!(hook = hook.source, %failure, "a hook said no, and failed");
            // Nothing that would let more happen.
            Ok(Verdict { input: None, rules: Vec::new(), ..verdict })
        }
        Ok(_) => Err(failure),
        Err(unread) if said::is_guard(hook.event) => Err(unread),
        Err(_unread) => Err(failure),
    }
}

/// A hook's plain no.
fn no(event: HookEvent, reason: String) -> Verdict {
    let reason = said::clipped(if reason.is_empty() { "it gave no reason" } else { &reason });
    let is_past = matches!(event, HookEvent::PostToolUse | HookEvent::PostToolUseFailure);
    let context = if is_past { vec![reason.clone()] } else { Vec::new() };
    Verdict { ruling: Ruling::Deny { reason }, context, ..Verdict::default() }
}

/// What the failure of a hook means: nothing, or no.
fn failed(hook: &HookSpec, failure: &Failure) -> Verdict {
    tracing::warn!(hook = hook.source, %failure, "a hook failed");
    // Whoever changed the program of a guard must not have got rid of it.
    let is_no = match failure {
        Failure::Program(_) => !said::is_stop(hook.event),
        // It may have been a no.
        Failure::Json(_) | Failure::Flood(_) => said::is_guard(hook.event),
        Failure::Start(_) | Failure::Late(_) | Failure::Status { .. } | Failure::Net(_) | Failure::Driver(_) => false,
    };
    match (hook.failure, is_no) {
        (HookFailure::Open, false) => Verdict::default(),
        (HookFailure::Closed, _) | (HookFailure::Open, true) => {
            let reason = format!("the hook of {} failed, and nothing goes on without it: {failure}", hook.source);
            // What a hook was to look through first is not shown without it.
            let text = (hook.event == HookEvent::PostToolUse).then(|| reason.clone());
            Verdict { ruling: Ruling::Deny { reason }, text, ..Verdict::default() }
        }
    }
}
