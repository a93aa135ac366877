//! The wire through real sockets: hostile clients, slow clients, many clients, and the order they are served in.

mod clients;
mod corpus;
mod drive;
mod frames;
mod in_process;
mod order;
#[cfg(test)]
#[path = "../../../../fuzz/replay.rs"]
mod replay;
mod slow;
mod sockets;
mod stage;
