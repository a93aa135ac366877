//! The wire through real sockets: hostile clients, slow clients, many clients, and the order they are served in.

mod clients;
mod corpus;
mod drive;
mod frames;
mod order;
mod slow;
mod sockets;
mod stage;
