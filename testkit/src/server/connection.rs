//! One connection: answers requests one after the other.

use std::sync::Arc;

use model::WireFormat;
use serde_json::json;
use tokio::net::TcpStream;
use tokio::net::tcp::OwnedWriteHalf;

use super::answer::answer;
use super::http::{ConnectionReader, FullResponse, ReceivedRequest};
use super::listing::listing;
use super::outlet::StreamHalt;
use super::serve::ServerShared;

/// Serves a client until it disconnects, or a fault closes the connection.
pub(super) async fn serve(socket: TcpStream, shared: Arc<ServerShared>) {
    // Send small pieces at once.
    let _set = socket.set_nodelay(true);
    let (from, mut to) = socket.into_split();
    let mut inbox = ConnectionReader::new(from);
    while let Some(request) = inbox.request().await {
        let answered = tokio::select! {
            answered = route(&shared, &request, &mut to) => answered,
            // The client has disconnected; this ends a hanging answer too.
            () = inbox.closed() => return,
        };
        if answered.is_err() || request.header("connection") == Some("close") {
            return;
        }
    }
}

async fn route(shared: &ServerShared, request: &ReceivedRequest, to: &mut OwnedWriteHalf) -> Result<(), StreamHalt> {
    if let Some(wire) = wire(request) {
        return answer(shared, wire, request, to).await;
    }
    let unknown =
        || FullResponse::json(404, &json!({ "error": { "message": format!("{} is not served", request.path) } }));
    let page = listing(&shared.setup, request).unwrap_or_else(unknown);
    Ok(page.send(to).await?)
}

fn wire(request: &ReceivedRequest) -> Option<WireFormat> {
    match (request.method.as_str(), request.path.as_str()) {
        ("POST", "/v1/messages") => Some(WireFormat::Anthropic),
        ("POST", "/v1/responses") => Some(WireFormat::Responses),
        ("POST", "/v1/chat/completions") => Some(WireFormat::Chat),
        _ => None,
    }
}
