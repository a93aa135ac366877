//! Where the server's token is kept: nowhere, or in a file that only its user may read.

use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use doors::http::Token;

use crate::failure::Failure;

/// Most bytes of a file that holds a token.
const LONGEST: u64 = 4096;

/// A token, and how its user learns it.
#[derive(Debug)]
pub(super) struct Kept {
    pub(super) token: Token,
    /// The word itself, when it is in no file.
    pub(super) word: Option<String>,
    /// The file that holds it.
    pub(super) file: Option<String>,
}

/// A new token, or the one of a file, which is made if it is not there.
pub(super) fn keep(file: Option<&Path>) -> Result<Kept, Failure> {
    let Some(path) = file else {
        let word = fresh()?;
        let token = Token::new(&word).ok_or_else(|| Failure::failed("the new token is none"))?;
        return Ok(Kept { token, word: Some(word), file: None });
    };
    let unusable = |error: io::Error| Failure::usage(format!("cannot use {}: {error}", path.display()));
    let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    let word = match made {
        Ok(mut file) => {
            let word = fresh()?;
            writeln!(file, "{word}").and_then(|()| file.sync_all()).map_err(unusable)?;
            word
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => read(path)?,
        Err(error) => return Err(unusable(error)),
    };
    let token = Token::new(&word).ok_or_else(|| {
        Failure::usage(format!("{} holds no token of at least 32 letters and digits", path.display()))
            .hint("remove it, and a new one is made")
    })?;
    Ok(Kept { token, word: None, file: Some(path.display().to_string()) })
}

fn fresh() -> Result<String, Failure> {
    Token::fresh().map_err(|error| Failure::failed(format!("cannot make a token: {error}")))
}

/// Reads a token that nobody else could have read.
fn read(path: &Path) -> Result<String, Failure> {
    let unusable = |error: io::Error| Failure::usage(format!("cannot use {}: {error}", path.display()));
    let file = fs::File::open(path).map_err(unusable)?;
    let found = file.metadata().map_err(unusable)?;
    if !found.is_file() {
        return Err(Failure::usage(format!("{} is no file", path.display())));
    }
    if found.mode() & 0o077 != 0 {
        return Err(Failure::usage(format!("{} may be read by others", path.display()))
            .hint(format!("chmod 600 '{}', or remove it, and a new one is made", path.display())));
    }
    let mut word = String::new();
    file.take(LONGEST).read_to_string(&mut word).map_err(unusable)?;
    Ok(word.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn d4_a_token_file_is_made_once_for_its_user_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        let kept = keep(Some(&path)).unwrap();
        assert!(kept.word.is_none());
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        let word = fs::read_to_string(&path).unwrap();
        keep(Some(&path)).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), word);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(keep(Some(&path)).unwrap_err().to_string().contains("chmod 600"));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        fs::write(&path, "short").unwrap();
        assert!(keep(Some(&path)).is_err());
        assert!(keep(Some(folder.path())).is_err());
    }
}
