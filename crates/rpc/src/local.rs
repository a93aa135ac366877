//! The session's socket: a file that only its owner may open, replaced when its listener died and never
//! while it lives.

use std::fs::{self, File, Permissions};
use std::io::{self, ErrorKind};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::net::{UnixListener, UnixStream};

/// Why a socket could not be listened on.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// A live process listens there.
    #[error("{} is in use by a live process", path.display())]
    InUse {
        /// The socket.
        path: PathBuf,
    },
    /// Something that is not a socket is in the way.
    #[error("{} is not a socket: move it away", path.display())]
    NotASocket {
        /// The file.
        path: PathBuf,
    },
    /// The machine refused.
    #[error("cannot listen on {}: {source}", path.display())]
    Io {
        /// The socket.
        path: PathBuf,
        /// What the machine said.
        source: io::Error,
    },
}

/// Why a socket could not be connected to.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// There is no socket: nobody has listened since it was last removed.
    #[error("nobody listens on {}: there is no such socket", path.display())]
    Absent {
        /// The socket.
        path: PathBuf,
    },
    /// There is a socket whose listener is dead.
    #[error("nobody listens on {}: its owner is gone", path.display())]
    Refused {
        /// The socket.
        path: PathBuf,
    },
    /// The socket belongs to somebody else.
    #[error("{} may not be opened: it belongs to another user", path.display())]
    Denied {
        /// The socket.
        path: PathBuf,
    },
    /// The listener lives and does not accept.
    #[error("{} does not accept connections: its owner is busy or stopped", path.display())]
    Busy {
        /// The socket.
        path: PathBuf,
    },
    /// The machine refused.
    #[error("cannot connect to {}: {source}", path.display())]
    Io {
        /// The socket.
        path: PathBuf,
        /// What the machine said.
        source: io::Error,
    },
}

/// Whether the process with this number may be a client.
pub type PeerFilter = fn(u32) -> bool;

/// A socket that is listened on. Dropping it removes the file.
#[derive(Debug)]
pub struct LocalListener {
    socket: UnixListener,
    path: PathBuf,
    inode: u64,
    admits: PeerFilter,
}

impl LocalListener {
    /// Where it listens.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The next client's stream. Whoever is not admitted is closed without a word, and so is one that left before it
    /// could be looked at: the process that connected may have given its stream to another.
    pub async fn accept(&self) -> io::Result<UnixStream> {
        loop {
            let (stream, _) = self.socket.accept().await?;
            let peer = stream.peer_cred()?.pid().and_then(|pid| u32::try_from(pid).ok());
            if peer.is_some_and(self.admits) {
                return Ok(stream);
            }
        }
    }
}

impl Drop for LocalListener {
    /// The socket still listens here, so nobody can have replaced the file for being dead.
    fn drop(&mut self) {
        if fs::symlink_metadata(&self.path).is_ok_and(|file| file.ino() == self.inode) {
            // A socket file that stays behind is replaced by the next listener.
            fs::remove_file(&self.path).ok();
        }
    }
}

/// Listens on `path` with mode 0600, in place of a socket whose listener died, and lets in whom `admits` says. It is
/// asked once for each client, and should be quick.
pub async fn listen(path: &Path, admits: PeerFilter) -> Result<LocalListener, ListenError> {
    let broken = |source| ListenError::Io { path: path.into(), source };
    let place = SocketPath::open(path).map_err(broken)?;
    // Two processes that find the same dead socket must not both replace it.
    let place = place.lock().await.map_err(broken)?;
    place.check_free().await?;
    let (socket, inode) = place.bind().map_err(broken)?;
    Ok(LocalListener { socket, path: path.into(), inode, admits })
}

/// How long a full queue of a live listener is waited for, and how often it is tried.
const BUSY: (u32, Duration) = (100, Duration::from_millis(20));

/// Connects to the listener on `path`.
pub async fn connect(path: &Path) -> Result<UnixStream, ConnectError> {
    let place = SocketPath::open(path).map_err(|source| connect_error(path, source))?;
    for _ in 0..BUSY.0 {
        match UnixStream::connect(place.short_path(&place.name)).await {
            Err(error) if error.kind() == ErrorKind::WouldBlock => tokio::time::sleep(BUSY.1).await,
            Err(source) => return Err(connect_error(path, source)),
            Ok(stream) => return Ok(stream),
        }
    }
    Err(ConnectError::Busy { path: path.into() })
}

fn connect_error(path: &Path, source: io::Error) -> ConnectError {
    let path = path.into();
    match source.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => ConnectError::Absent { path },
        ErrorKind::ConnectionRefused => ConnectError::Refused { path },
        ErrorKind::PermissionDenied => ConnectError::Denied { path },
        _ => ConnectError::Io { path, source },
    }
}

/// The longest path that fits a socket address, without its final zero.
const MAX_ADDRESS: usize = 107;

/// A name in an open folder. A path too long for a socket address is reached through the folder's descriptor.
struct SocketPath {
    path: PathBuf,
    folder: File,
    name: String,
}

impl SocketPath {
    fn open(path: &Path) -> io::Result<SocketPath> {
        let name = path.file_name().and_then(|name| name.to_str());
        let name = name.ok_or_else(|| io::Error::new(ErrorKind::InvalidInput, "the socket has no readable name"))?;
        let folder = match path.parent() {
            Some(parent) if parent != Path::new("") => File::open(parent)?,
            Some(_) | None => File::open(".")?,
        };
        Ok(SocketPath { path: path.into(), folder, name: name.into() })
    }

    /// Waits until nobody else looks for a free socket in this folder.
    async fn lock(self) -> io::Result<SocketPath> {
        let locked = tokio::task::spawn_blocking(move || self.folder.lock().map(|()| self));
        locked.await.map_err(io::Error::other)?
    }

    /// The shortest way to a sibling called `name`.
    fn short_path(&self, name: &str) -> PathBuf {
        let direct = self.path.with_file_name(name);
        if direct.as_os_str().len() <= MAX_ADDRESS {
            return direct;
        }
        PathBuf::from(format!("/proc/self/fd/{}/{name}", self.folder.as_raw_fd()))
    }

    /// Makes sure that nothing, or only a dead socket, is in the way.
    async fn check_free(&self) -> Result<(), ListenError> {
        let path = self.path.clone();
        match fs::symlink_metadata(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(source) => return Err(ListenError::Io { path, source }),
            Ok(file) if !file.file_type().is_socket() => return Err(ListenError::NotASocket { path }),
            Ok(_) => {}
        }
        match UnixStream::connect(self.short_path(&self.name)).await {
            Err(error) if matches!(error.kind(), ErrorKind::ConnectionRefused | ErrorKind::NotFound) => Ok(()),
            // A full queue is a listener, too.
            Err(error) if error.kind() == ErrorKind::WouldBlock => Err(ListenError::InUse { path }),
            Err(source) => Err(ListenError::Io { path, source }),
            Ok(_) => Err(ListenError::InUse { path }),
        }
    }

    /// Binds under another name first, so that the socket never has a wider mode under its own.
    fn bind(&self) -> io::Result<(UnixListener, u64)> {
        let draft = format!(".{}.{}", self.name, std::process::id());
        let draft_path = self.path.with_file_name(&draft);
        match fs::remove_file(&draft_path) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        let socket = UnixListener::bind(self.short_path(&draft))?;
        fs::set_permissions(&draft_path, Permissions::from_mode(0o600))?;
        fs::rename(&draft_path, &self.path)?;
        Ok((socket, fs::symlink_metadata(&self.path)?.ino()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_not_to_connect_are_told_apart() {
        let reason = |kind: ErrorKind| connect_error(Path::new("/run/s.sock"), kind.into());
        assert!(matches!(reason(ErrorKind::NotFound), ConnectError::Absent { .. }));
        assert!(matches!(reason(ErrorKind::ConnectionRefused), ConnectError::Refused { .. }));
        assert!(matches!(reason(ErrorKind::PermissionDenied), ConnectError::Denied { .. }));
        assert!(matches!(reason(ErrorKind::OutOfMemory), ConnectError::Io { .. }));
    }
}
