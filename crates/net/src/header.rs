//! Headers of requests.

use std::borrow::Cow;
use std::fmt;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use crate::{NetError, Secret};

/// One header of a request.
#[derive(Clone)]
pub struct RequestHeader {
    name: Cow<'static, str>,
    value: HeaderContent,
}

#[derive(Clone)]
enum HeaderContent {
    Plain(String),
    Secret(Secret),
    Bearer(Secret),
}

impl RequestHeader {
    /// A public header; its name is in lower case.
    pub fn plain(name: &'static str, value: impl Into<String>) -> RequestHeader {
        RequestHeader { name: name.into(), value: HeaderContent::Plain(value.into()) }
    }

    /// A header that contains only a secret.
    pub fn secret(name: &'static str, secret: Secret) -> RequestHeader {
        RequestHeader { name: name.into(), value: HeaderContent::Secret(secret) }
    }

    /// A header with a user-defined name.
    pub fn user_defined(name: &str, secret: Secret) -> Result<RequestHeader, NetError> {
        let valid_name = HeaderName::try_from(name).map_err(|_| NetError::Header { name: name.to_owned() })?;
        Ok(RequestHeader { name: valid_name.as_str().to_owned().into(), value: HeaderContent::Secret(secret) })
    }

    /// `Authorization: Bearer` with a secret.
    pub fn bearer(secret: Secret) -> RequestHeader {
        RequestHeader { name: "authorization".into(), value: HeaderContent::Bearer(secret) }
    }

    fn value(&self) -> Result<HeaderValue, NetError> {
        let (text, is_secret) = match &self.value {
            HeaderContent::Plain(text) => (text.clone(), false),
            HeaderContent::Secret(secret) => (secret.reveal().to_owned(), true),
            HeaderContent::Bearer(secret) => (format!("Bearer {}", secret.reveal()), true),
        };
        let mut value = HeaderValue::try_from(text).map_err(|_| NetError::Header { name: self.name.to_string() })?;
        value.set_sensitive(is_secret);
        Ok(value)
    }
}

impl fmt::Debug for RequestHeader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.value {
            HeaderContent::Plain(text) => write!(f, "{}: {text}", self.name),
            HeaderContent::Secret(secret) | HeaderContent::Bearer(secret) => write!(f, "{}: {secret:?}", self.name),
        }
    }
}

/// The headers as they are sent.
pub(crate) fn header_map(headers: &[RequestHeader]) -> Result<HeaderMap, NetError> {
    let name = |header: &RequestHeader| {
        HeaderName::try_from(&*header.name).map_err(|_| NetError::Header { name: header.name.to_string() })
    };
    headers.iter().map(|header| Ok((name(header)?, header.value()?))).collect()
}

/// The headers as texts, as they are sent.
pub(crate) fn header_texts(headers: &[RequestHeader]) -> Result<Vec<(String, String)>, NetError> {
    let text = |(name, value): (&HeaderName, &HeaderValue)| {
        let value = value.to_str().map_err(|_| NetError::Header { name: name.to_string() })?;
        Ok((name.to_string(), value.to_owned()))
    };
    header_map(headers)?.iter().map(text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_output_hides_secret_headers() {
        let headers =
            [RequestHeader::bearer(Secret::new("sk-1")), RequestHeader::secret("x-api-key", Secret::new("sk-2"))];
        assert_eq!(format!("{headers:?}"), "[authorization: [secret], x-api-key: [secret]]");
        let sent = header_map(&headers).unwrap();
        assert_eq!(sent["authorization"], "Bearer sk-1");
        assert!(sent.values().all(HeaderValue::is_sensitive));
        assert!(!format!("{sent:?}").contains("sk-"));
    }

    #[test]
    fn user_defined_header_name_is_checked() {
        let sent = header_map(&[RequestHeader::user_defined("X-Team", Secret::new("core")).unwrap()]).unwrap();
        assert_eq!(sent["x-team"], "core");
        let error = RequestHeader::user_defined("X Team:", Secret::new("core")).unwrap_err();
        assert_eq!(error, NetError::Header { name: "X Team:".into() });
    }

    #[test]
    fn key_with_a_line_break_is_refused_without_showing_it() {
        let error = header_map(&[RequestHeader::bearer(Secret::new("sk-1\n"))]).unwrap_err();
        assert_eq!(error, NetError::Header { name: "authorization".into() });
        assert!(!error.to_string().contains("sk-1"));
    }
}
