//! Canvases: views that a client offers and draws itself. The session passes calls on to the client that offers the
//! canvas, and remembers which instances are open.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rpc::ErrorObject;
use serde_json::{Value, json};

use super::peer::ClientPeer;

/// Maximum canvases that the clients of one session may offer, and maximum open instances.
const MAX_CANVASES: usize = 256;

/// How long a client may take to answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);

/// The canvases of a session's clients.
#[derive(Debug, Default)]
pub(crate) struct Canvases(Mutex<CanvasTable>);

#[derive(Debug, Default)]
struct CanvasTable {
    offered: Vec<OfferedCanvas>,
    /// The open instances, by their ids.
    open: BTreeMap<String, OpenCanvas>,
}

/// A canvas with the client that offers it.
#[derive(Debug, Clone)]
struct OfferedCanvas {
    peer: Arc<ClientPeer>,
    /// The id of the client as a provider of canvases.
    provider: String,
    declaration: Value,
}

#[derive(Debug, Clone)]
struct OpenCanvas {
    canvas: OfferedCanvas,
    /// The instance in the SDK's format.
    view: Value,
}

impl OfferedCanvas {
    fn id(&self) -> &str {
        self.declaration["id"].as_str().unwrap_or_default()
    }

    fn view(&self) -> Value {
        let mut view = json!({
            "canvasId": self.id(),
            "displayName": self.declaration["displayName"],
            "description": self.declaration["description"],
            "extensionId": self.provider,
        });
        for key in ["icon", "inputSchema", "actions"] {
            if !self.declaration[key].is_null() {
                view[key] = self.declaration[key].clone();
            }
        }
        view
    }

    async fn request(&self, method: &str, params: Value) -> Result<Value, ErrorObject> {
        match tokio::time::timeout(ANSWER_TIMEOUT, self.peer.request(method, params)).await {
            Ok(answer) => answer,
            Err(_) => Err(ErrorObject::internal(format!("the client did not answer for the canvas {}", self.id()))),
        }
    }
}

impl Canvases {
    /// Offers the canvases of a client that creates or joins the session, instead of those that it offered before.
    pub(crate) fn offer(&self, peer: &Arc<ClientPeer>, params: &Value) {
        let provider = params["canvasProvider"]["id"].as_str().map(str::to_owned);
        let provider = provider.unwrap_or_else(|| format!("client:{}", peer.connection_id()));
        let declared = params["canvases"].as_array().map(Vec::as_slice).unwrap_or_default();
        let mut table = self.lock();
        table.offered.retain(|canvas| !Arc::ptr_eq(&canvas.peer, peer));
        let room = MAX_CANVASES.saturating_sub(table.offered.len());
        let named = declared.iter().filter(|canvas| canvas["id"].is_string()).take(room);
        table.offered.extend(named.map(|declaration| OfferedCanvas {
            peer: Arc::clone(peer),
            provider: provider.clone(),
            declaration: declaration.clone(),
        }));
    }

    /// Removes the canvases of a client that leaves.
    pub(crate) fn client_left(&self, peer: &ClientPeer) {
        let mut table = self.lock();
        table.offered.retain(|canvas| !std::ptr::eq(&*canvas.peer, peer));
        table.open.retain(|_instance, open| !std::ptr::eq(&*open.canvas.peer, peer));
    }

    /// The canvases in the SDK's format.
    pub(crate) fn list(&self) -> Vec<Value> {
        self.lock().offered.iter().map(OfferedCanvas::view).collect()
    }

    /// The open instances in the SDK's format.
    pub(crate) fn list_open(&self) -> Vec<Value> {
        self.lock().open.values().map(|open| open.view.clone()).collect()
    }

    /// Opens an instance of a canvas, or opens it again with another input.
    pub(crate) async fn open(&self, session: &str, params: &Value) -> Result<Value, ErrorObject> {
        let (canvas_id, instance) = (text(params, "canvasId")?, text(params, "instanceId")?);
        let canvas = self.find(canvas_id, params["extensionId"].as_str())?;
        let is_new = !self.lock().open.contains_key(instance);
        if is_new && self.lock().open.len() >= MAX_CANVASES {
            return Err(ErrorObject::internal(format!("{MAX_CANVASES} canvases are open: close one first")));
        }
        let mut view = json!({ "instanceId": instance, "extensionId": canvas.provider, "canvasId": canvas_id });
        if !params["input"].is_null() {
            view["input"] = params["input"].clone();
        }
        let mut request = view.clone();
        request["sessionId"] = session.into();
        let opened = canvas.request("canvas.open", request).await?;
        for key in ["title", "status", "url"] {
            if opened[key].is_string() {
                view[key] = opened[key].clone();
            }
        }
        let open = OpenCanvas { canvas, view: view.clone() };
        self.lock().open.insert(instance.to_owned(), open);
        Ok(view)
    }

    /// Has the client carry out an action of an open instance; returns its result.
    pub(crate) async fn invoke(&self, session: &str, params: &Value) -> Result<Value, ErrorObject> {
        let OpenCanvas { canvas, view } = self.find_open(text(params, "instanceId")?)?;
        let mut request = instance_request(session, &view);
        request["actionName"] = text(params, "actionName")?.into();
        if !params["input"].is_null() {
            request["input"] = params["input"].clone();
        }
        canvas.request("canvas.action.invoke", request).await
    }

    /// Closes an open instance, and tells its client; returns the instance.
    pub(crate) async fn close(&self, session: &str, params: &Value) -> Result<Value, ErrorObject> {
        let OpenCanvas { canvas, view } = self.find_open(text(params, "instanceId")?)?;
        let closed = canvas.request("canvas.close", instance_request(session, &view)).await;
        self.lock().open.remove(text(params, "instanceId")?);
        closed.map(|_done| view)
    }

    fn find(&self, canvas: &str, provider: Option<&str>) -> Result<OfferedCanvas, ErrorObject> {
        let table = self.lock();
        let is_meant = |offered: &&OfferedCanvas| {
            offered.id() == canvas && provider.is_none_or(|provider| provider == offered.provider)
        };
        let found = table.offered.iter().rev().find(is_meant).cloned();
        found.ok_or_else(|| ErrorObject::internal(format!("no client offers a canvas `{canvas}`")))
    }

    fn find_open(&self, instance: &str) -> Result<OpenCanvas, ErrorObject> {
        let open = self.lock().open.get(instance).cloned();
        open.ok_or_else(|| ErrorObject::internal(format!("no canvas `{instance}` is open")))
    }

    fn lock(&self) -> MutexGuard<'_, CanvasTable> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request to the client about an open instance.
fn instance_request(session: &str, view: &Value) -> Value {
    json!({
        "sessionId": session,
        "extensionId": view["extensionId"],
        "canvasId": view["canvasId"],
        "instanceId": view["instanceId"],
    })
}

fn text<'a>(params: &'a Value, name: &str) -> Result<&'a str, ErrorObject> {
    super::methods::fields::required_text(params, name)
}
