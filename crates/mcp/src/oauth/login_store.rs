//! The file of logins: one for all servers, which only this user can read. Several processes may use it at once.

use std::fmt;
use std::io;

use host::{Home, HomeError};
use net::Secret;
use protocol::Timestamp;
use serde::{Deserialize, Serialize};
use url::Url;

use super::registration::OAuthClient;

/// The file's name in Bosun's home.
const FILE: &str = "mcp-logins.json";

/// Maximum bytes of the file.
const MAX_BYTES: u64 = 4 << 20;

/// Why the file of logins cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LoginStoreError {
    /// It cannot be locked.
    #[error(transparent)]
    Home(#[from] HomeError),
    /// It cannot be read or written.
    #[error("{FILE}: {0}")]
    Io(#[from] io::Error),
    /// It is not a file of logins.
    #[error("{FILE}: {0}; remove it, and sign in again")]
    Invalid(String),
}

/// The logins of all servers.
#[derive(Debug, Clone)]
pub struct LoginStore {
    home: Home,
}

/// What is known about the login to a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoginStatus {
    /// There was none, and the server never asked for one.
    Unknown,
    /// The server refused a request because there is none.
    Needed,
    /// There is one.
    SignedIn,
}

/// The login to one server.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StoredLogin {
    /// The name of the server.
    pub(crate) name: String,
    /// Its address: a server of the same name elsewhere has another login.
    pub(crate) url: String,
    /// Scopes that the server asked for when it refused a request; the next login asks for them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) missing_scopes: Vec<String>,
    /// The token; none after the server asked for a login.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) grant: Option<StoredGrant>,
}

/// A token, and what is needed to renew it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StoredGrant {
    pub(crate) issuer: String,
    pub(crate) token_endpoint: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) revocation_endpoint: Option<String>,
    pub(crate) resource: String,
    pub(crate) client: OAuthClient,
    pub(crate) access_token: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) refresh_token: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) expires_at: Option<Timestamp>,
    pub(crate) scopes: Vec<String>,
}

#[derive(Default, Serialize, Deserialize)]
struct LoginFile {
    logins: Vec<StoredLogin>,
}

impl LoginStore {
    /// The logins in a home.
    pub fn new(home: Home) -> LoginStore {
        LoginStore { home }
    }

    /// All logins, as they are now.
    pub fn read_all(&self) -> Result<StoredLogins, LoginStoreError> {
        Ok(StoredLogins(self.read()?.logins))
    }

    /// Removes the login to this server; whether there was one.
    pub fn remove(&self, name: &str, url: &str) -> Result<bool, LoginStoreError> {
        self.change(|logins| {
            let before = logins.len();
            logins.retain(|login| !login.is_for(name, url));
            logins.len() < before
        })
    }

    /// Every secret in the file: none of them may be written anywhere else.
    pub fn secrets(&self) -> Vec<Secret> {
        let logins = self.read().map(|file| file.logins).unwrap_or_default();
        let grants = logins.into_iter().filter_map(|login| login.grant);
        let texts = grants.flat_map(|grant| [Some(grant.access_token), grant.refresh_token, grant.client.secret]);
        texts.flatten().map(Secret::new).collect()
    }

    /// The login to this server.
    pub(crate) fn get(&self, name: &str, url: &str) -> Result<Option<StoredLogin>, LoginStoreError> {
        Ok(self.read()?.logins.into_iter().find(|login| login.is_for(name, url)))
    }

    /// Writes the login to a server, in place of the one before.
    pub(crate) fn put(&self, login: StoredLogin) -> Result<(), LoginStoreError> {
        self.change(|logins| {
            logins.retain(|other| !other.is_for(&login.name, &login.url));
            logins.push(login);
        })
    }

    fn change<T>(&self, change: impl FnOnce(&mut Vec<StoredLogin>) -> T) -> Result<T, LoginStoreError> {
        let _lock = self.home.lock("mcp-logins")?;
        let mut file = self.read()?;
        let result = change(&mut file.logins);
        let text = serde_json::to_vec_pretty(&file).map_err(|error| LoginStoreError::Invalid(error.to_string()))?;
        self.home.write_private_file(FILE, &text)?;
        Ok(result)
    }

    fn read(&self) -> Result<LoginFile, LoginStoreError> {
        let bytes = host::read_owned_below(self.home.root(), FILE.as_ref(), MAX_BYTES)
            .map_err(|error| LoginStoreError::Invalid(error.to_string()))?;
        let Some(bytes) = bytes else { return Ok(LoginFile::default()) };
        serde_json::from_slice(&bytes).map_err(|error| LoginStoreError::Invalid(error.to_string()))
    }
}

/// The logins of all servers at one moment.
#[derive(Debug, Default)]
pub struct StoredLogins(Vec<StoredLogin>);

impl StoredLogins {
    /// What is known about the login to this server.
    pub fn status(&self, name: &str, url: &str) -> LoginStatus {
        match self.0.iter().find(|login| login.is_for(name, url)) {
            None => LoginStatus::Unknown,
            Some(StoredLogin { grant: None, .. }) => LoginStatus::Needed,
            Some(StoredLogin { grant: Some(_), .. }) => LoginStatus::SignedIn,
        }
    }
}

impl StoredLogin {
    /// Whether it is the login to the server of this name at this address, however that is written.
    fn is_for(&self, name: &str, url: &str) -> bool {
        self.name == name && (self.url == url || Url::parse(url).is_ok_and(|url| self.url == url.as_str()))
    }
}

/// Tokens are not shown.
impl fmt::Debug for StoredLogin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoredLogin").field("name", &self.name).field("grant", &self.grant).finish_non_exhaustive()
    }
}

impl fmt::Debug for StoredGrant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoredGrant").field("issuer", &self.issuer).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::super::registration::ClientAuthMethod;
    use super::*;

    fn login(url: &str, token: &str) -> StoredLogin {
        let client = OAuthClient {
            id: "me".into(),
            secret: Some("s3".into()),
            method: ClientAuthMethod::Basic,
            redirect_uri: None,
        };
        StoredLogin {
            name: "calc".into(),
            url: url.into(),
            missing_scopes: Vec::new(),
            grant: Some(StoredGrant {
                issuer: "https://login.example".into(),
                token_endpoint: "https://login.example/token".into(),
                revocation_endpoint: None,
                resource: url.into(),
                client,
                access_token: token.into(),
                refresh_token: Some(format!("{token}-refresh")),
                expires_at: Some(Timestamp(5)),
                scopes: vec!["a".into()],
            }),
        }
    }

    #[test]
    fn logins_are_kept_by_server_in_a_private_file() {
        let folder = tempfile::tempdir().unwrap();
        let store = LoginStore::new(Home::open(folder.path().join("home")).unwrap());
        let status = |name: &str, url: &str| store.read_all().unwrap().status(name, url);
        assert_eq!(status("calc", "https://a"), LoginStatus::Unknown);
        store.put(login("https://a", "t1")).unwrap();
        store.put(login("https://b", "t2")).unwrap();
        store.put(login("https://a", "t3")).unwrap();
        assert_eq!(store.get("calc", "https://a").unwrap(), Some(login("https://a", "t3")));
        assert_eq!(status("calc", "https://b"), LoginStatus::SignedIn);
        assert_eq!(status("other", "https://b"), LoginStatus::Unknown);
        store.put(StoredLogin { grant: None, ..login("https://b", "") }).unwrap();
        assert_eq!(status("calc", "https://b"), LoginStatus::Needed);
        let secrets: Vec<String> = store.secrets().iter().map(|secret| secret.reveal().to_owned()).collect();
        assert_eq!(secrets, ["t3", "t3-refresh", "s3"]);
        store.put(login("https://c/", "t4")).unwrap();
        assert_eq!(status("calc", "HTTPS://C:443"), LoginStatus::SignedIn, "another spelling");
        let path = folder.path().join("home").join(FILE);
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert!(!format!("{:?}", store.get("calc", "https://a")).contains("t3"));
        assert!(store.remove("calc", "https://a").unwrap() && !store.remove("calc", "https://a").unwrap());
        std::fs::write(&path, "{").unwrap();
        let why = store.read_all().unwrap_err().to_string();
        assert!(why.contains("mcp-logins.json: ") && why.contains("remove it"), "{why}");
    }
}
