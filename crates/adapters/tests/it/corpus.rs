//! Every file of the fuzz corpus, as an ordinary test: no panic, no hang, and no unbounded memory.

use crate::replay::replay;
use crate::{drive, drive_session};

#[test]
fn every_claude_message_is_answered_or_ends_the_adapter() {
    replay("claude", drive::claude);
}

#[test]
fn every_copilot_message_is_answered_or_ends_the_adapter() {
    replay("copilot", drive::copilot);
}

#[test]
fn every_claude_client_of_an_open_session_is_answered_or_ends_the_adapter() {
    replay("claude_session", drive_session::claude);
}

#[test]
fn every_copilot_client_of_an_open_session_is_answered_or_ends_the_adapter() {
    replay("copilot_session", drive_session::copilot);
}

#[test]
fn an_endless_message_is_refused_before_it_is_buffered() {
    let endless = [b"{\"type\":\"user\",\"x\":\"".as_slice(), &vec![b'a'; 40 << 20]].concat();
    drive::claude(&endless);
    let claimed = [b"Content-Length: 9999999999\r\n\r\n{".as_slice(), &vec![b'a'; 1 << 20]].concat();
    drive::copilot(&claimed);
    drive::copilot(&vec![b'X'; 1 << 20]);
    drive::claude(&b"[".repeat(1 << 20));
}
