//! Hooks that are URLs: JSON is posted there, and the answer is JSON.

use std::collections::BTreeMap;
use std::ffi::OsString;

use net::{HttpClient, RequestHeader, Secret};
use serde_json::Value;

use super::failure::HookRunError;
use super::runner::HookOutput;

/// Maximum length of an answer, in bytes; a longer one is a failure, since its decision may be cut off.
const MAX_ANSWER_BYTES: usize = 1024 * 1024;

/// A request to a hook's URL.
pub(super) struct HookPost<'a> {
    pub(super) url: &'a str,
    pub(super) headers: &'a BTreeMap<String, String>,
    /// The variables that header values may use.
    pub(super) allowed_env: &'a [String],
    pub(super) env: &'a [(OsString, OsString)],
}

/// Posts the payload to the hook's URL; redirects are not followed.
pub(super) async fn run(client: &HttpClient, post: HookPost<'_>, payload: &Value) -> Result<HookOutput, HookRunError> {
    let net_error = |error: net::NetError| HookRunError::Net(error.to_string());
    let content_type = RequestHeader::plain("content-type", "application/json");
    // Any header may contain a key.
    let own = post
        .headers
        .iter()
        .map(|(name, value)| RequestHeader::user_defined(name, Secret::new(post.expand_variables(value))));
    let headers =
        std::iter::once(Ok(content_type)).chain(own).collect::<Result<Vec<RequestHeader>, _>>().map_err(net_error)?;
    let body = payload.to_string().into();
    let answer = client.post(net::PostRequest { url: post.url.to_owned(), headers, body }).await.map_err(net_error)?;
    let (status, is_success) = (answer.status(), answer.is_success());
    let text = answer.text(MAX_ANSWER_BYTES + 1).await.map_err(net_error)?;
    if text.len() > MAX_ANSWER_BYTES {
        return Err(HookRunError::TooMuchOutput(MAX_ANSWER_BYTES));
    }
    match is_success {
        true => Ok(HookOutput::Answer(text)),
        false => {
            let said = protocol::clip_middle(text.trim(), 500);
            Err(HookRunError::Status { status: format!("status {status}"), said })
        }
    }
}

impl HookPost<'_> {
    /// Expands the variables in a header's value. A variable that is not permitted or not set is empty.
    fn expand_variables(&self, value: &str) -> String {
        let (mut filled, mut rest) = (String::new(), value);
        while let Some(index) = rest.find('$') {
            filled.push_str(&rest[..index]);
            let (name, after) = variable(&rest[index + 1..]);
            match name {
                Some(name) => filled.push_str(&self.variable_value(name)),
                None => filled.push('$'),
            }
            rest = after;
        }
        filled.push_str(rest);
        filled
    }

    fn variable_value(&self, name: &str) -> String {
        let found = self.env.iter().rev().find(|(known, _)| known == name);
        let value = found.filter(|_| self.allowed_env.iter().any(|allowed| allowed == name));
        value.map(|(_, value)| value.to_string_lossy().into_owned()).unwrap_or_default()
    }
}

/// Splits text after a `$` into the variable's name, with or without braces, and the rest.
fn variable(text: &str) -> (Option<&str>, &str) {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if let Some((name, after)) = text.strip_prefix('{').and_then(|inner| inner.split_once('}')) {
        return (Some(name), after);
    }
    let end = text.find(|c| !is_word(c)).unwrap_or(text.len());
    if end == 0 { (None, text) } else { (Some(&text[..end]), &text[end..]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_permitted_variables_are_filled_in() {
        let env = [("TOKEN", "t0p"), ("OTHER", "0th")].map(|(name, value)| (name.into(), value.into()));
        let (headers, allowed) = (BTreeMap::new(), ["TOKEN".to_owned(), "GONE".to_owned()]);
        let post = HookPost { url: "", headers: &headers, allowed_env: &allowed, env: &env };
        for (value, filled) in [
            ("Bearer $TOKEN", "Bearer t0p"),
            ("${TOKEN}-x", "t0p-x"),
            ("$OTHER/${OTHER}", "/"),
            ("$GONE!", "!"),
            ("5$ and $", "5$ and $"),
            ("${TOKEN", "${TOKEN"),
        ] {
            assert_eq!(post.expand_variables(value), filled, "{value}");
        }
    }
}
