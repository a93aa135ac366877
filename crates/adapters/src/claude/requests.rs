//! Control requests of the client.

use protocol::SessionMode;
use protocol::api::{Method, ModeParams, ModelParams, PermissionParams};
use serde_json::{Value, json};

use super::background::{self, BackgroundOutcome};
use super::conversation::ClientConversation;
use super::frames::{self, VERSION};
use super::mode::ClaudePermissionMode;
use super::session_options;
use super::tasks;
use super::wire::ClientGone;

impl ClientConversation {
    /// Answers a request.
    pub(super) async fn handle_request(&mut self, id: &str, request: Value) -> Result<(), ClientGone> {
        let subtype = request["subtype"].as_str().unwrap_or_default();
        let answer = match subtype {
            "initialize" => Ok(frames::initialize_response(&self.info)),
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
                Some(mode) => {
                    self.control.respond(id, Ok(json!({ "mode": mode.as_str() }))).await;
                    return self.set_mode(mode).await;
                }
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
            "stop_task" => tasks::stop(&self.api, &request).await,
            "background_tasks" => tasks::background(&self.api, self.follower.tasks(), &request).await,
            "get_task_output" => tasks::output(&self.api, &request).await,
            "list_models" => Ok(json!({ "models": frames::initialize_response(&self.info)["models"] })),
            "get_binary_version" => Ok(json!({ "version": VERSION })),
            "get_settings" => Ok(json!({ "effective": {}, "sources": [] })),
            "set_max_thinking_tokens" | "set_has_subscribers" | "set_color" | "seed_read_state" => Ok(json!({})),
            other => Err(format!("Unsupported control request subtype: {other}")),
        };
        self.control.respond(id, answer).await;
        Ok(())
    }

    /// Answers a request when its work is done; the conversation continues meanwhile.
    fn answer_later(&mut self, id: &str, answer: impl Future<Output = Result<Value, String>> + Send + 'static) {
        let id = id.to_owned();
        self.background.spawn(async move { BackgroundOutcome::Requested { id, answer: answer.await } });
    }

    /// Changes the permission mode, and reports it to the client.
    pub(super) async fn set_mode(&mut self, mode: ClaudePermissionMode) -> Result<(), ClientGone> {
        let previous = self.info.mode;
        if previous == ClaudePermissionMode::Plan || mode == ClaudePermissionMode::Plan {
            let mode = ModeParams { mode: mode.session_mode() };
            self.call_or_warn(Method::ModeSet, json!(mode)).await;
        }
        if mode.session_mode() != SessionMode::Plan {
            self.call_or_warn(Method::PermissionSet, json!(PermissionParams { mode: mode.permission_mode() })).await;
        }
        self.info.mode = mode;
        self.send_mode().await
    }

    pub(super) async fn call_or_warn(&self, method: Method, params: Value) {
        if let Err(error) = self.call::<Value>(method, params).await {
            tracing::warn!(%error, method = method.name(), "the session refused a call");
        }
    }

    /// Changes the model, from the next turn on. A bare name means the model that the session was opened with.
    async fn set_model(&mut self, name: Option<&str>) -> Result<Value, String> {
        let model = name.and_then(session_options::qualified_model).unwrap_or(&self.model).to_owned();
        if model != self.info.model {
            let params = ModelParams { model: model.clone() };
            self.call::<Value>(Method::ModelSet, params).await.map_err(background::error_text)?;
            self.info.model = model;
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
