//! Reads small untrusted files: whole, up to a size, and only if they are plain files. A pipe or a device is refused
//! before a byte of it is read, so nothing here blocks.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, StatxFlags, fstat, openat, openat2, statx};
use rustix::io::Errno;

/// Why a file is not read.
#[derive(Debug, thiserror::Error)]
pub enum PlainError {
    /// It is a folder, a pipe, a device or a socket.
    #[error("it is not a plain file")]
    NotPlain,
    /// It is a link, or its path contains one.
    #[error("it is a link, or its path contains one")]
    Link,
    /// Another user could have put it there.
    #[error("it belongs to another user")]
    OtherOwner,
    /// It is too large.
    #[error("it is larger than {most} bytes")]
    TooLarge {
        /// The maximum bytes.
        most: u64,
    },
    /// A system error.
    #[error(transparent)]
    Io(io::Error),
}

/// Whether this process may read a file. The file is not opened, so that no lock on it is lost when it is closed again.
pub fn check_readable(path: &Path) -> io::Result<()> {
    Ok(rustix::fs::access(path, rustix::fs::Access::READ_OK)?)
}

/// Reads a trusted file, following links; none when it does not exist.
pub fn read_plain(path: &Path, most: u64) -> Result<Option<Vec<u8>>, PlainError> {
    read_whole(openat(CWD, path, READ_FLAGS, Mode::empty()), most)
}

/// Opens a file that is not a link, to read it in pieces; none when it does not exist.
pub fn open_plain(path: &Path) -> Result<Option<File>, PlainError> {
    require_plain(openat(CWD, path, READ_FLAGS | OFlags::NOFOLLOW, Mode::empty()))
}

/// Reads a file below a folder, following no link on the way; none when it does not exist.
pub fn read_below(folder: &Path, below: &Path, most: u64) -> Result<Option<Vec<u8>>, PlainError> {
    read_whole(open_folder(folder).and_then(|folder| open_linkless(&folder, below)), most)
}

/// Reads a file anywhere, following no link in its path; none when it does not exist.
pub fn read_without_links(path: &Path, most: u64) -> Result<Option<Vec<u8>>, PlainError> {
    let below = path.strip_prefix("/").map_err(|_relative| PlainError::Link)?;
    read_below(Path::new("/"), below, most)
}

/// Reads at most the first `most` bytes of a file below a folder, following no link on the way; none when it does not
/// exist. A file that belongs neither to this user, nor to root, nor to the owner of the folder is refused: in a
/// world-writable folder, any user could have put it there.
pub fn read_owned_below(folder: &Path, below: &Path, most: u64) -> Result<Option<Vec<u8>>, PlainError> {
    let io = |errno: Errno| PlainError::Io(errno.into());
    let folder = match open_folder(folder) {
        Ok(folder) => folder,
        Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
        Err(errno) => return Err(io(errno)),
    };
    let owner = fstat(&folder).map_err(io)?.st_uid;
    let Some(file) = require_plain(open_linkless(&folder, below))? else { return Ok(None) };
    if ![user_id(), 0, owner].contains(&fstat(&file).map_err(io)?.st_uid) {
        return Err(PlainError::OtherOwner);
    }
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes).map_err(PlainError::Io)?;
    Ok(Some(bytes))
}

/// Whether an open file was removed, so that it has no name any more. Asks only for the number of links: once the times
/// of a file were asked for, Linux updates them with each change, which would slow down a frequent writer.
pub fn is_removed(file: &File) -> bool {
    statx(file, "", AtFlags::EMPTY_PATH, StatxFlags::NLINK).is_ok_and(|found| found.stx_nlink == 0)
}

/// The effective user of this process.
pub fn user_id() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Flags to open a file for reading: opening a pipe must not wait for its writer.
const READ_FLAGS: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

fn open_folder(folder: &Path) -> rustix::io::Result<OwnedFd> {
    openat(CWD, folder, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
}

fn open_linkless(folder: &OwnedFd, below: &Path) -> rustix::io::Result<OwnedFd> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    openat2(folder, below, READ_FLAGS | OFlags::NOFOLLOW, Mode::empty(), resolve)
}

fn read_whole(opened: rustix::io::Result<OwnedFd>, most: u64) -> Result<Option<Vec<u8>>, PlainError> {
    let Some(file) = require_plain(opened)? else { return Ok(None) };
    let mut bytes = Vec::new();
    file.take(most.saturating_add(1)).read_to_end(&mut bytes).map_err(PlainError::Io)?;
    if bytes.len() as u64 > most { Err(PlainError::TooLarge { most }) } else { Ok(Some(bytes)) }
}

fn require_plain(opened: rustix::io::Result<OwnedFd>) -> Result<Option<File>, PlainError> {
    let file = match opened {
        Ok(file) => file,
        Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
        Err(Errno::LOOP) => return Err(PlainError::Link),
        // The errors for a socket and for a device without a driver.
        Err(Errno::NXIO | Errno::NODEV) => return Err(PlainError::NotPlain),
        Err(errno) => return Err(PlainError::Io(errno.into())),
    };
    let metadata = fstat(&file).map_err(|errno| PlainError::Io(errno.into()))?;
    match FileType::from_raw_mode(metadata.st_mode) {
        FileType::RegularFile => Ok(Some(File::from(file))),
        _other => Err(PlainError::NotPlain),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    fn below(folder: &Path, name: &str) -> Result<Option<Vec<u8>>, String> {
        read_below(folder, Path::new(name), 4).map_err(|error| error.to_string())
    }

    #[test]
    fn plain_file_is_read_up_to_the_limit() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("four"), "1234").unwrap();
        fs::write(folder.path().join("five"), "12345").unwrap();
        assert_eq!(below(folder.path(), "four"), Ok(Some(b"1234".to_vec())));
        assert_eq!(below(folder.path(), "none"), Ok(None));
        assert_eq!(below(folder.path(), "four/none"), Ok(None));
        assert_eq!(below(folder.path(), "five"), Err("it is larger than 4 bytes".into()));
        assert_eq!(below(folder.path(), "../etc/passwd").unwrap_err(), "Invalid cross-device link (os error 18)");
    }

    #[test]
    fn removed_file_is_recognised() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let file = File::create(&path).unwrap();
        assert!(!is_removed(&file));
        fs::remove_file(&path).unwrap();
        assert!(is_removed(&file));
    }

    #[test]
    fn pipes_and_devices_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let fifo = folder.path().join("fifo");
        rustix::fs::mknodat(CWD, &fifo, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        symlink("/dev/zero", folder.path().join("zero")).unwrap();
        assert_eq!(below(folder.path(), "fifo"), Err("it is not a plain file".into()));
        assert_eq!(below(folder.path(), "."), Err("it is not a plain file".into()));
        assert!(matches!(read_plain(&folder.path().join("zero"), 4), Err(PlainError::NotPlain)));
        assert!(matches!(open_plain(&folder.path().join("zero")), Err(PlainError::Link)));
        assert!(matches!(open_plain(&fifo), Err(PlainError::NotPlain)));
    }

    #[test]
    fn read_owned_below_reads_the_start_of_trusted_files_only() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("five"), "12345").unwrap();
        symlink("five", folder.path().join("link")).unwrap();
        let read = |name: &str| read_owned_below(folder.path(), Path::new(name), 4).map_err(|error| error.to_string());
        assert_eq!(read("five"), Ok(Some(b"1234".to_vec())));
        assert_eq!((read("none"), read("link")), (Ok(None), Err("it is a link, or its path contains one".into())));
        // Only root can give files away.
        if std::os::unix::fs::chown(folder.path().join("five"), Some(65_534), None).is_ok() {
            assert_eq!(read("five"), Err("it belongs to another user".into()));
            std::os::unix::fs::chown(folder.path(), Some(65_534), None).unwrap();
            assert_eq!(read("five"), Ok(Some(b"1234".to_vec())));
        }
    }

    #[test]
    fn only_read_plain_follows_links() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("there")).unwrap();
        fs::write(folder.path().join("there/file"), "1").unwrap();
        symlink("there/file", folder.path().join("link")).unwrap();
        symlink("there", folder.path().join("way")).unwrap();
        assert_eq!(read_plain(&folder.path().join("link"), 4).unwrap(), Some(b"1".to_vec()));
        for name in ["link", "way/file"] {
            assert_eq!(below(folder.path(), name), Err("it is a link, or its path contains one".into()), "{name}");
        }
    }
}
