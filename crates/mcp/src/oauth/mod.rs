//! Signing in to servers with a URL, as the protocol prescribes it: OAuth 2.1 with metadata that the server and its
//! authorization server publish. Tokens are kept in one file of Bosun's home, and are sent to their server only.

mod answer;
mod challenge;
mod client_assertion;
mod credentials;
mod discovery;
mod error;
mod http_client;
mod login_callback;
mod login_request;
mod login_store;
mod logout;
mod metadata;
mod registration;
mod scopes;
mod settings;
mod token_request;

pub(crate) use challenge::Challenge;
pub use credentials::LOGIN_TIMEOUT;
pub(crate) use credentials::{Credentials, CredentialsSetup};
pub use error::OAuthError;
pub use login_callback::LoginCallback;
pub use login_request::{LoginPrompter, LoginRequest};
pub use login_store::{LoginStatus, LoginStore, LoginStoreError, StoredLogins};
pub use logout::log_out;
pub use settings::{McpOAuthSettings, OAuthGrant};
