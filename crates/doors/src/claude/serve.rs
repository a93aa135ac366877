//! One client, from its first word to its last.

use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite, BufReader};
use tokio::task::JoinSet;

use super::inbox::{Inbox, Said};
use super::wire::{Control, Lines, Writer};
use crate::{Ended, House};

/// Serves one client on standard input and output.
pub async fn serve(house: Arc<dyn House>, args: Vec<String>) -> Ended {
    serve_on(house, args, tokio::io::stdin(), tokio::io::stdout()).await
}

/// Serves one client on any two streams.
pub async fn serve_on<R, W>(house: Arc<dyn House>, args: Vec<String>, input: R, output: W) -> Ended
where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let mut streams = JoinSet::new();
    let (writer, carrying) = Writer::new(output);
    let control = Arc::new(Control::new(writer));
    let (mut inbox, filling) = Inbox::new(Lines::new(BufReader::new(input)), Arc::clone(&control));
    streams.spawn(filling);
    streams.spawn(carrying);
    let _unused = (house, args);
    loop {
        match inbox.next().await {
            Said::Request { id, request } => {
                let subtype = request["subtype"].as_str().unwrap_or_default();
                control.answer(&id, Err(format!("Unsupported control request subtype: {subtype}"))).await;
            }
            Said::User(_) => {}
            Said::End => return Ended::Well,
            Said::Broken(_) => return Ended::Failed,
        }
    }
}
