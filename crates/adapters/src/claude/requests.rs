//! Control requests of the client.

use protocol::SessionMode;
use protocol::api::{
    ContextView, InvokeSlashParams, InvokeSlashResult, Method, ModeParams, ModelParams, PermissionParams,
    RenameSessionParams,
};
use rpc::CallError;
use serde_json::{Value, json};

use super::args::MAX_NAME_BYTES;
use super::background::{self, BackgroundOutcome};
use super::context_usage;
use super::conversation::ClientConversation;
use super::frames::{self, VERSION};
use super::mode::ClaudePermissionMode;
use super::model_names::{ModelChoice, choose_model};
use super::tasks;
use super::wire::ClientGone;
use crate::managed::has_effect;

/// Why settings files are not written.
const NO_SETTINGS_FILES: &str = "Bosun does not write the settings files of Claude Code: change the file, or use \
                                 apply_flag_settings for this session";

/// Why plugins, skills and output styles are not read again.
const NO_RELOAD: &str = "plugins, skills and output styles are read when a session begins: resume the session to read \
                         them again";

impl ClientConversation {
    /// Answers a request.
    pub(super) async fn handle_request(&mut self, id: &str, request: Value) -> Result<(), ClientGone> {
        let subtype = request["subtype"].as_str().unwrap_or_default();
        let answer = match subtype {
            "initialize" => match late_fields(&request) {
                None => Ok(frames::initialize_response(&self.info)),
                Some(late) => Err(format!("the session is open: these fields of initialize come too late: {late}")),
            },
            "interrupt" => {
                if request["cancel_queued"].as_bool().unwrap_or(false) {
                    self.queue.clear();
                }
                self.interrupt_when_read = self.is_prompt_pending && !self.has_read_prompt;
                // The client must receive the response before the end of the turn.
                self.control.respond(id, Ok(json!({}))).await;
                self.interrupt().await;
                return Ok(());
            }
            "set_permission_mode" => match request["mode"].as_str().and_then(ClaudePermissionMode::parse) {
                Some(ClaudePermissionMode::Bypass) if self.options.forbids_bypass => {
                    Err("managed settings forbid the permission mode bypassPermissions".into())
                }
                Some(mode) => match self.apply_mode(mode).await {
                    Ok(()) => {
                        self.control.respond(id, Ok(json!({ "mode": mode.as_str() }))).await;
                        return self.report_mode(mode).await;
                    }
                    Err(error) => Err(background::error_text(error)),
                },
                None => Err(format!("unknown permission mode {}", request["mode"])),
            },
            "set_model" => self.set_model(request["model"].as_str()).await,
            "cancel_async_message" => Ok(json!({ "cancelled": self.cancel_queued(&request["message_uuid"]) })),
            "mcp_status" => Ok(json!({ "mcpServers": self.servers.status().await.0 })),
            "mcp_toggle" => self.servers.toggle(&request).await,
            "mcp_reconnect" => {
                let answer = self.servers.reconnect(&request);
                self.answer_later(id, answer);
                return Ok(());
            }
            "mcp_set_servers" => {
                let answer = self.servers.set_servers(&request);
                self.answer_later(id, answer);
                return Ok(());
            }
            "rewind_files" => {
                let answer = self.rewind_files(&request);
                self.answer_later(id, answer);
                return Ok(());
            }
            "stop_task" => tasks::stop(&self.api, &request).await,
            "background_tasks" => tasks::background(&self.api, self.follower.tasks(), &request).await,
            "get_task_output" => tasks::output(&self.api, &request).await,
            "get_context_usage" => self.context_usage().await,
            "get_usage" => Ok(self.stats.usage_report()),
            "get_session_cost" => self.session_cost().await,
            "rename_session" => self.rename(&request).await,
            "apply_flag_settings" => return self.apply_flag_settings(id, &request).await,
            "update_settings" => Err(NO_SETTINGS_FILES.into()),
            "reload_plugins" | "reload_skills" | "reload_output_styles" => Err(NO_RELOAD.into()),
            "list_models" => Ok(json!({ "models": frames::model_list(&self.info) })),
            "get_binary_version" => Ok(json!({ "version": VERSION })),
            "get_settings" => Ok(json!({ "effective": {}, "sources": [] })),
            // These are about what the client shows and knows, not about agents.
            "set_has_subscribers" | "set_color" | "seed_read_state" => Ok(json!({})),
            "set_max_thinking_tokens" => self.set_thinking(&request).await,
            other => Err(format!("Unsupported control request subtype: {other}")),
        };
        self.control.respond(id, answer).await;
        Ok(())
    }

    async fn context_usage(&self) -> Result<Value, String> {
        let view: ContextView = self.call(Method::ContextGet, json!({})).await.map_err(background::error_text)?;
        let agents: Vec<String> = self.info.agents.iter().map(|agent| agent.name.clone()).collect();
        Ok(context_usage::context_usage(&view, &agents))
    }

    async fn session_cost(&self) -> Result<Value, String> {
        let command = InvokeSlashParams { name: "cost".to_owned(), input: String::new() };
        match self.call(Method::CommandsInvoke, command).await.map_err(background::error_text)? {
            InvokeSlashResult::Text { text } => Ok(json!({ "text": text })),
            _other => Err("the session does not report its cost".into()),
        }
    }

    async fn rename(&self, request: &Value) -> Result<Value, String> {
        if let Some(session) = request["session_id"].as_str().filter(|id| *id != self.session.to_string()) {
            let session = protocol::clip_middle(session, MAX_NAME_BYTES);
            return Err(format!("this client's session is not {session}"));
        }
        let title = request["title"].as_str().unwrap_or_default().to_owned();
        self.call(Method::SessionRename, RenameSessionParams { title }).await.map_err(background::error_text)
    }

    /// Answers a request when its work is done; the conversation continues meanwhile.
    fn answer_later(&mut self, id: &str, answer: impl Future<Output = Result<Value, String>> + Send + 'static) {
        let id = id.to_owned();
        self.background.spawn(async move { BackgroundOutcome::Requested { id, answer: answer.await } });
    }

    /// Changes the permission mode, and reports it to the client.
    pub(super) async fn set_mode(&mut self, mode: ClaudePermissionMode) -> Result<(), ClientGone> {
        match self.apply_mode(mode).await {
            Ok(()) => self.report_mode(mode).await,
            Err(error) => {
                tracing::warn!(%error, "the session keeps its permission mode");
                Ok(())
            }
        }
    }

    pub(super) async fn apply_mode(&self, mode: ClaudePermissionMode) -> Result<(), CallError> {
        let previous = self.info.mode;
        if previous == ClaudePermissionMode::Plan || mode == ClaudePermissionMode::Plan {
            let _set: Value = self.call(Method::ModeSet, ModeParams { mode: mode.session_mode() }).await?;
        }
        if mode.session_mode() != SessionMode::Plan {
            let params = PermissionParams { mode: mode.permission_mode() };
            let _set: Value = self.call(Method::PermissionSet, params).await?;
        }
        Ok(())
    }

    pub(super) async fn report_mode(&mut self, mode: ClaudePermissionMode) -> Result<(), ClientGone> {
        self.info.mode = mode;
        self.send_mode().await
    }

    pub(super) async fn call_or_warn(&self, method: Method, params: Value) {
        if let Err(error) = self.call::<Value>(method, params).await {
            tracing::warn!(%error, method = method.name(), "the session refused a call");
        }
    }

    /// Changes the model, from the next turn on. Without a name it is the one that the session was opened with.
    pub(super) async fn set_model(&mut self, name: Option<&str>) -> Result<Value, String> {
        let catalog = || self.sessions.opener().catalog(None).unwrap_or_default();
        let model = match name.map_or(ModelChoice::Configured, |name| choose_model(name, catalog)) {
            ModelChoice::Configured => self.model.clone(),
            ModelChoice::Named(model) => model,
            ModelChoice::Unknown => {
                let name = protocol::clip_middle(name.unwrap_or_default(), MAX_NAME_BYTES);
                return Err(format!("no configured provider has the model `{name}`: name it as PROVIDER/NAME"));
            }
        };
        if model != self.info.model {
            let params = ModelParams::new(model);
            let changed: ModelParams = self.call(Method::ModelSet, params).await.map_err(background::error_text)?;
            self.info.model = changed.model;
        }
        Ok(json!({}))
    }

    /// Removes a queued message.
    fn cancel_queued(&mut self, uuid: &Value) -> bool {
        let queued = self.queue.len();
        self.queue.retain(|prompt| uuid.as_str().is_none_or(|uuid| prompt.uuid() != Some(uuid)));
        self.queue.len() < queued
    }
}

/// The fields with which a second `initialize` would change the session, clipped; `None` if there are none.
fn late_fields(request: &Value) -> Option<String> {
    let fields = request.as_object().into_iter().flatten();
    let fields = fields.filter(|(name, value)| *name != "subtype" && has_effect(value));
    let names: Vec<&str> = fields.map(|(name, _)| name.as_str()).collect();
    (!names.is_empty()).then(|| protocol::clip_middle(&names.join(", "), MAX_NAME_BYTES))
}
