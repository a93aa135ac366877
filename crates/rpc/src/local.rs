//! The session's socket: a file that only its user may open. It is replaced only when its listener is dead.

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
    /// The operating system refused.
    #[error("cannot listen on {}: {source}", path.display())]
    Io {
        /// The socket.
        path: PathBuf,
        /// The system error.
        source: io::Error,
    },
}

/// Why a socket could not be connected to.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// There is no socket: no process has listened there since it was last removed.
    #[error("no process listens on {}: there is no such socket", path.display())]
    Absent {
        /// The socket.
        path: PathBuf,
    },
    /// There is a socket whose listener is dead.
    #[error("no process listens on {}: its owner has ended", path.display())]
    Refused {
        /// The socket.
        path: PathBuf,
    },
    /// The socket belongs to another user.
    #[error("cannot open {}: it belongs to another user", path.display())]
    Denied {
        /// The socket.
        path: PathBuf,
    },
    /// The listener is alive but does not accept.
    #[error("{} does not accept connections: its owner is busy or stopped", path.display())]
    Busy {
        /// The socket.
        path: PathBuf,
    },
    /// The operating system refused.
    #[error("cannot connect to {}: {source}", path.display())]
    Io {
        /// The socket.
        path: PathBuf,
        /// The system error.
        source: io::Error,
    },
}

/// Whether the process with this id may be a client.
pub type PeerFilter = fn(u32) -> bool;

/// A listening socket. Dropping it removes the file.
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

    /// Returns the next client's stream. A client that is not admitted is closed without an answer, and so is one that
    /// exited before it could be checked: it may have passed its stream to another process.
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
    /// The socket still listens here, so no other process can have replaced the file as dead.
    fn drop(&mut self) {
        if fs::symlink_metadata(&self.path).is_ok_and(|file| file.ino() == self.inode) {
            // A socket file that stays behind is replaced by the next listener.
            fs::remove_file(&self.path).ok();
        }
    }
}

/// Listens on `path` with mode 0600, replacing a socket whose listener is dead. `admits` is called once for each client
/// and should be quick.
pub async fn listen(path: &Path, admits: PeerFilter) -> Result<LocalListener, ListenError> {
    let io_error = |source| ListenError::Io { path: path.into(), source };
    let socket_path = SocketPath::open(path).map_err(io_error)?;
    // Two processes that find the same dead socket must not both replace it.
    let socket_path = socket_path.lock().await.map_err(io_error)?;
    socket_path.check_free().await?;
    let (socket, inode) = socket_path.bind().map_err(io_error)?;
    Ok(LocalListener { socket, path: path.into(), inode, admits })
}

/// How often a listener with a full queue is tried, and the pause between tries.
const CONNECT_RETRIES: (u32, Duration) = (100, Duration::from_millis(20));

/// Connects to the listener on `path`.
pub async fn connect(path: &Path) -> Result<UnixStream, ConnectError> {
    let socket_path = SocketPath::open(path).map_err(|source| connect_error(path, source))?;
    for _ in 0..CONNECT_RETRIES.0 {
        match UnixStream::connect(socket_path.short_path(&socket_path.name)).await {
            Err(error) if error.kind() == ErrorKind::WouldBlock => tokio::time::sleep(CONNECT_RETRIES.1).await,
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
const MAX_ADDRESS_BYTES: usize = 107;

/// A socket's name in an open folder. A path too long for a socket address goes through the folder's descriptor.
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

    /// Waits until no other process is claiming a socket in this folder.
    async fn lock(self) -> io::Result<SocketPath> {
        let locked = tokio::task::spawn_blocking(move || self.folder.lock().map(|()| self));
        locked.await.map_err(io::Error::other)?
    }

    /// A path to the sibling called `name` that fits a socket address.
    fn short_path(&self, name: &str) -> PathBuf {
        let direct = self.path.with_file_name(name);
        if direct.as_os_str().len() <= MAX_ADDRESS_BYTES {
            return direct;
        }
        PathBuf::from(format!("/proc/self/fd/{}/{name}", self.folder.as_raw_fd()))
    }

    /// Checks that the path is free or a dead socket.
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
            // A full queue means that there is a listener.
            Err(error) if error.kind() == ErrorKind::WouldBlock => Err(ListenError::InUse { path }),
            Err(source) => Err(ListenError::Io { path, source }),
            Ok(_) => Err(ListenError::InUse { path }),
        }
    }

    /// Binds under a temporary name first, so that the socket never has a wider mode under its own name.
    fn bind(&self) -> io::Result<(UnixListener, u64)> {
        let temporary_name = format!(".{}.{}", self.name, std::process::id());
        let temporary_path = self.path.with_file_name(&temporary_name);
        match fs::remove_file(&temporary_path) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        let socket = UnixListener::bind(self.short_path(&temporary_name))?;
        fs::set_permissions(&temporary_path, Permissions::from_mode(0o600))?;
        fs::rename(&temporary_path, &self.path)?;
        Ok((socket, fs::symlink_metadata(&self.path)?.ino()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connect_errors_are_distinguished() {
        let error = |kind: ErrorKind| connect_error(Path::new("/run/s.sock"), kind.into());
        assert!(matches!(error(ErrorKind::NotFound), ConnectError::Absent { .. }));
        assert!(matches!(error(ErrorKind::ConnectionRefused), ConnectError::Refused { .. }));
        assert!(matches!(error(ErrorKind::PermissionDenied), ConnectError::Denied { .. }));
        assert!(matches!(error(ErrorKind::OutOfMemory), ConnectError::Io { .. }));
    }
}
