//! A page as it arrives.

use std::fmt;
use std::time::Duration;

use reqwest::Response;
use reqwest::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderName};
use tokio::time::Instant;

use super::{FetchError, PageUrl};
use crate::{NetError, wait};

/// A page whose headers have arrived.
pub struct WebPage {
    target: PageUrl,
    response: Response,
    deadline: FetchDeadline,
    /// Maximum bytes to read.
    max_bytes: usize,
}

/// The deadline of a fetch.
#[derive(Debug, Clone, Copy)]
pub(super) struct FetchDeadline {
    pub(super) at: Instant,
    /// The timeout of the fetch, for messages.
    pub(super) timeout: Duration,
}

/// The content of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageBody {
    /// Its bytes, up to the limit.
    pub bytes: Vec<u8>,
    /// Whether these are all bytes of the page.
    pub is_complete: bool,
}

impl WebPage {
    /// A page; fails if it is compressed.
    pub(super) fn new(
        target: PageUrl,
        response: Response,
        deadline: FetchDeadline,
        most: usize,
    ) -> Result<WebPage, FetchError> {
        let page = WebPage { target, response, deadline, max_bytes: most };
        match page.header(&CONTENT_ENCODING) {
            Some(encoding) if !encoding.trim().is_empty() && !encoding.trim().eq_ignore_ascii_case("identity") => {
                let encoding = encoding.chars().take(40).collect();
                Err(FetchError::Compressed { host: page.target.host().to_owned(), encoding })
            }
            Some(_) | None => Ok(page),
        }
    }

    /// Its address, after redirects.
    pub fn target(&self) -> &PageUrl {
        &self.target
    }

    /// The status code.
    pub fn status(&self) -> u16 {
        self.response.status().as_u16()
    }

    /// Whether the status is a success, so that this is not an error page.
    pub fn is_success(&self) -> bool {
        self.response.status().is_success()
    }

    /// Its content type according to the server.
    pub fn content_type(&self) -> Option<String> {
        self.header(&CONTENT_TYPE)
    }

    /// Reads it, up to the limits.
    pub async fn read(self) -> Result<PageBody, FetchError> {
        let WebPage { target, response, deadline, max_bytes: most } = self;
        let timed_out = FetchError::TimedOut { host: target.host().to_owned(), after: deadline.timeout };
        wait::until(deadline.at, read(response, target.host(), most)).await.unwrap_or(Err(timed_out))
    }

    fn header(&self, name: &HeaderName) -> Option<String> {
        Some(String::from_utf8_lossy(self.response.headers().get(name)?.as_bytes()).into_owned())
    }
}

async fn read(mut response: Response, host: &str, most: usize) -> Result<PageBody, FetchError> {
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| NetError::from_body(host, &error))? {
        let room = most - bytes.len();
        bytes.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if chunk.len() > room {
            return Ok(PageBody { bytes, is_complete: false });
        }
    }
    Ok(PageBody { bytes, is_complete: true })
}

impl fmt::Debug for WebPage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "page {} with status {}", self.target.as_str(), self.status())
    }
}
