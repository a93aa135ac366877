//! Reads arbitrary bytes as a peer's messages, until they end or are refused. Fuzz targets share it.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::Cursor;
use std::time::Duration;

use bosun_rpc::{Connection, ConnectionLimits, Framing};
use tokio::runtime::Builder;

/// Maximum bytes of a message here: small, so that inputs can exceed it.
const MAX_FRAME_BYTES: u32 = 4096;

/// Reads messages that are lines.
pub(crate) fn lines(bytes: &[u8]) {
    read(Framing::Lines, bytes);
}

/// Reads messages with a `Content-Length`.
pub(crate) fn counted(bytes: &[u8]) {
    read(Framing::ContentLength, bytes);
}

fn read(framing: Framing, bytes: &[u8]) {
    let runtime = Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let limits = ConnectionLimits { max_frame_bytes: MAX_FRAME_BYTES, ..ConnectionLimits::LOCAL };
        let mut connection = Connection::new(Cursor::new(bytes.to_vec()), tokio::io::sink(), framing, limits);
        let read = async {
            let mut frames = 0;
            while let Ok(Some(_message)) = connection.next().await {
                frames += 1;
            }
            frames
        };
        // Time is paused, so the timeout fires only if reading hangs.
        let frames = tokio::time::timeout(Duration::from_secs(3600), read).await.unwrap();
        assert!(frames <= bytes.len(), "{frames} messages of {} bytes", bytes.len());
        connection.close().await;
    });
}
