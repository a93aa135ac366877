//! What the client asks for besides turns.

use protocol::SessionMode;
use protocol::api::{Method, ModeParams, ModelParams, PermissionParams};
use serde_json::{Value, json};

use super::chore;
use super::frames::{self, VERSION};
use super::mode::Mode;
use super::orders;
use super::talk::Talk;
use super::tasks;
use super::wire::Gone;

impl Talk {
    /// Answers a request.
    pub(super) async fn request(&mut self, id: &str, request: Value) -> Result<(), Gone> {
        let subtype = request["subtype"].as_str().unwrap_or_default();
        let answer = match subtype {
            "initialize" => Ok(frames::hello(&self.intro)),
            "interrupt" => {
                if request["cancel_queued"].as_bool().unwrap_or(false) {
                    self.queue.clear();
                }
                self.breaks = self.asked && !self.heard;
                // The client hears of the end of the turn after the answer to its request.
                self.control.answer(id, Ok(json!({}))).await;
                self.interrupt().await;
                return Ok(());
            }
            "set_permission_mode" => match request["mode"].as_str().and_then(Mode::named) {
                Some(Mode::Bypass) if self.manner.forbids_bypass => {
                    Err("managed settings forbid the permission mode bypassPermissions".into())
                }
                Some(mode) => {
                    self.control.answer(id, Ok(json!({ "mode": mode.word() }))).await;
                    return self.set_mode(mode).await;
                }
                None => Err(format!("there is no permission mode {}", request["mode"])),
            },
            "set_model" => self.set_model(request["model"].as_str()).await,
            "cancel_async_message" => Ok(json!({ "cancelled": self.cancel(&request["message_uuid"]) })),
            "mcp_status" => Ok(json!({ "mcpServers": self.intro.servers })),
            "stop_task" => tasks::stop(&self.api, &request).await,
            "background_tasks" => tasks::background(&self.api, self.watch.tasks(), &request).await,
            "get_task_output" => tasks::output(&self.api, &request).await,
            "list_models" => Ok(json!({ "models": frames::hello(&self.intro)["models"] })),
            "get_binary_version" => Ok(json!({ "version": VERSION })),
            "get_settings" => Ok(json!({ "effective": {}, "sources": [] })),
            "set_max_thinking_tokens" | "set_has_subscribers" | "set_color" | "seed_read_state" => Ok(json!({})),
            other => Err(format!("Unsupported control request subtype: {other}")),
        };
        self.control.answer(id, answer).await;
        Ok(())
    }

    /// Goes on in another permission mode, and says so.
    pub(super) async fn set_mode(&mut self, mode: Mode) -> Result<(), Gone> {
        let was = self.intro.mode;
        if was == Mode::Plan || mode == Mode::Plan {
            let mode = ModeParams { mode: mode.session() };
            self.tell(Method::ModeSet, json!(mode)).await;
        }
        if mode.session() != SessionMode::Plan {
            self.tell(Method::PermissionSet, json!(PermissionParams { mode: mode.permission() })).await;
        }
        self.intro.mode = mode;
        self.show_mode().await
    }

    pub(super) async fn tell(&self, method: Method, params: Value) {
        if let Err(error) = self.call::<Value>(method, params).await {
            tracing::warn!(%error, method = method.name(), "the session did not take it");
        }
    }

    /// Asks another model from the next turn on. A bare name means the one that the session was opened with.
    async fn set_model(&mut self, name: Option<&str>) -> Result<Value, String> {
        let model = name.and_then(orders::model).unwrap_or(&self.model).to_owned();
        if model != self.intro.model {
            let params = ModelParams { model: model.clone() };
            self.call::<Value>(Method::ModelSet, params).await.map_err(chore::in_words)?;
            self.intro.model = model;
        }
        Ok(json!({}))
    }

    /// Takes back a message that waits.
    fn cancel(&mut self, uuid: &Value) -> bool {
        let waiting = self.queue.len();
        self.queue.retain(|prompt| uuid.as_str().is_none_or(|uuid| prompt.uuid() != Some(uuid)));
        self.queue.len() < waiting
    }
}
