//! The server's token: kept in memory only, or in a file that only the user may read.

use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use adapters::http::AccessToken;

use crate::error::CliError;

/// The maximum size of a token file.
const MAX_TOKEN_BYTES: u64 = 4096;

/// A token, and where the user finds it.
#[derive(Debug)]
pub(crate) struct ServerToken {
    pub(crate) token: AccessToken,
    /// The token as text.
    pub(crate) secret: String,
    /// The file that contains it; without one, it is printed.
    pub(crate) file: Option<String>,
}

/// Generates a token, or reads the one in the file, which is created if it does not exist.
pub(crate) fn load_or_create(file: Option<&Path>) -> Result<ServerToken, CliError> {
    let Some(path) = file else {
        let secret = generate_secret()?;
        let token = AccessToken::new(&secret).ok_or_else(|| CliError::failed("the generated token is invalid"))?;
        return Ok(ServerToken { token, secret, file: None });
    };
    let unusable = |error: io::Error| CliError::usage(format!("cannot use {}: {error}", path.display()));
    let created = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    let secret = match created {
        Ok(mut file) => {
            let secret = generate_secret()?;
            writeln!(file, "{secret}").and_then(|()| file.sync_all()).map_err(unusable)?;
            secret
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => read_token_file(path)?,
        Err(error) => return Err(unusable(error)),
    };
    let token = AccessToken::new(&secret).ok_or_else(|| {
        CliError::usage(format!("{} does not contain a token of at least 32 letters and digits", path.display()))
            .with_hint("remove it to create a new one")
    })?;
    Ok(ServerToken { token, secret, file: Some(path.display().to_string()) })
}

fn generate_secret() -> Result<String, CliError> {
    AccessToken::generate().map_err(|error| CliError::failed(format!("cannot generate a token: {error}")))
}

/// Reads a token from a file that no other user can read.
fn read_token_file(path: &Path) -> Result<String, CliError> {
    let unusable = |error: io::Error| CliError::usage(format!("cannot use {}: {error}", path.display()));
    let file = fs::File::open(path).map_err(unusable)?;
    let metadata = file.metadata().map_err(unusable)?;
    if !metadata.is_file() {
        return Err(CliError::usage(format!("{} is not a file", path.display())));
    }
    if metadata.mode() & 0o077 != 0 {
        return Err(CliError::usage(format!("{} is readable by other users", path.display()))
            .with_hint(format!("chmod 600 '{}', or remove it to create a new one", path.display())));
    }
    let mut secret = String::new();
    file.take(MAX_TOKEN_BYTES).read_to_string(&mut secret).map_err(unusable)?;
    Ok(secret.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn token_file_is_created_once_and_private() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        let token = load_or_create(Some(&path)).unwrap();
        assert!(token.file.is_some());
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        let secret = fs::read_to_string(&path).unwrap();
        load_or_create(Some(&path)).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), secret);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(load_or_create(Some(&path)).unwrap_err().to_string().contains("chmod 600"));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        fs::write(&path, "short").unwrap();
        assert!(load_or_create(Some(&path)).is_err());
        assert!(load_or_create(Some(folder.path())).is_err());
    }
}
