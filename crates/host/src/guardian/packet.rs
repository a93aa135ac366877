//! Packets between owner and guardian: one JSON object and its descriptors.
//!
//! A packet can be no larger than the socket's buffer, but a command may be. A large object is sent in a memory file,
//! whose descriptor is then the last one.

use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut, Read, Seek, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
    recvmsg, sendmsg,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The first byte of a packet whose object follows it.
const INLINE: u8 = b'i';
/// The only byte of a packet whose object is in a memory file.
const IN_MEMORY: u8 = b'm';
/// Maximum bytes of a packet.
const MAX_PACKET_BYTES: usize = 32 * 1024;
/// Maximum number of descriptors in a packet.
const MAX_DESCRIPTORS: usize = 4;

/// A packet to send.
#[derive(Debug)]
pub(super) struct Packet {
    body: Vec<u8>,
    descriptors: Vec<OwnedFd>,
}

impl Packet {
    /// Writes `object` into a packet.
    pub(super) fn new(object: &impl Serialize, mut descriptors: Vec<OwnedFd>) -> io::Result<Packet> {
        let mut body = vec![INLINE];
        serde_json::to_writer(&mut body, object)?;
        if body.len() > MAX_PACKET_BYTES {
            let mut memory = File::from(memfd_create("packet", MemfdFlags::CLOEXEC)?);
            memory.write_all(body.get(1..).unwrap_or_default())?;
            descriptors.push(memory.into());
            body = vec![IN_MEMORY];
        }
        Ok(Packet { body, descriptors })
    }

    /// Sends the packet without waiting; `WouldBlock` means that nothing of it was sent.
    pub(super) fn send(&self, socket: impl AsFd) -> io::Result<()> {
        let borrowed: Vec<BorrowedFd<'_>> = self.descriptors.iter().map(AsFd::as_fd).collect();
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        if !borrowed.is_empty() && !control.push(SendAncillaryMessage::ScmRights(&borrowed)) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "too many descriptors for one packet"));
        }
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        rustix::io::retry_on_intr(|| sendmsg(&socket, &[IoSlice::new(&self.body)], &mut control, flags))?;
        Ok(())
    }
}

/// The result of a receive.
#[derive(Debug)]
pub(super) enum ReceivedPacket<T> {
    /// An object with its descriptors.
    Packet(T, Vec<OwnedFd>),
    /// The other side is gone; nothing more will arrive.
    Closed,
}

/// Whether the other end of the socket is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PeerStatus {
    Connected,
    Gone,
}

/// A buffer for the largest packet.
#[derive(Debug)]
pub(super) struct PacketBuffer(Vec<u8>);

impl PacketBuffer {
    pub(super) fn new() -> PacketBuffer {
        PacketBuffer(vec![0; MAX_PACKET_BYTES])
    }

    /// Receives one packet without waiting; `WouldBlock` means that there is none.
    pub(super) fn receive<T: DeserializeOwned>(&mut self, socket: impl AsFd) -> io::Result<ReceivedPacket<T>> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
        let size = match rustix::io::retry_on_intr(|| {
            recvmsg(&socket, &mut [IoSliceMut::new(&mut self.0)], &mut control, flags)
        }) {
            Ok(message) if message.bytes == 0 => return Ok(ReceivedPacket::Closed),
            Ok(message) => message.bytes,
            Err(Errno::CONNRESET) => return Ok(ReceivedPacket::Closed),
            Err(errno) => return Err(errno.into()),
        };
        let mut descriptors = Vec::new();
        for message in control.drain() {
            if let RecvAncillaryMessage::ScmRights(received) = message {
                descriptors.extend(received);
            }
        }
        let object = parse_packet(self.0.get(..size).unwrap_or_default(), &mut descriptors)?;
        Ok(ReceivedPacket::Packet(object, descriptors))
    }
}

fn parse_packet<T: DeserializeOwned>(body: &[u8], descriptors: &mut Vec<OwnedFd>) -> io::Result<T> {
    match body.split_first() {
        Some((&INLINE, json)) => Ok(serde_json::from_slice(json)?),
        Some((&IN_MEMORY, _)) => {
            let lost = || io::Error::new(io::ErrorKind::InvalidData, "a packet arrived without its memory file");
            let mut memory = File::from(descriptors.pop().ok_or_else(lost)?);
            let mut json = Vec::new();
            memory.rewind()?;
            memory.read_to_end(&mut json)?;
            Ok(serde_json::from_slice(&json)?)
        }
        Some(_) | None => Err(io::Error::new(io::ErrorKind::InvalidData, "a packet of an unknown format")),
    }
}

#[cfg(test)]
mod tests {
    use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

    use super::*;

    fn pair() -> (OwnedFd, OwnedFd) {
        socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).unwrap()
    }

    fn receive(socket: &OwnedFd) -> (String, Vec<OwnedFd>) {
        match PacketBuffer::new().receive(socket).unwrap() {
            ReceivedPacket::Packet(text, descriptors) => (text, descriptors),
            ReceivedPacket::Closed => panic!("closed"),
        }
    }

    #[test]
    fn objects_of_every_size_arrive_with_their_descriptors() {
        let (here, there) = pair();
        for size in [0, 1, MAX_PACKET_BYTES - 3, MAX_PACKET_BYTES - 2, 5_000_000] {
            let (read, write) = rustix::pipe::pipe().unwrap();
            let text = "x".repeat(size);
            Packet::new(&text, vec![write]).unwrap().send(&here).unwrap();
            let (received, descriptors) = receive(&there);
            assert_eq!((received, descriptors.len()), (text, 1), "{size}");
            rustix::io::write(&descriptors[0], b"!").unwrap();
            assert_eq!(rustix::io::read(&read, &mut [0; 8]).unwrap(), 1);
        }
    }

    #[test]
    fn receive_would_block_on_an_empty_socket_and_reports_a_closed_one() {
        let (here, there) = pair();
        let error = PacketBuffer::new().receive::<String>(&there).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
        drop(here);
        assert!(matches!(PacketBuffer::new().receive::<String>(&there).unwrap(), ReceivedPacket::Closed));
    }
}
