//! The answer to a login: what the address says that the browser was sent back to (RFC 6749, RFC 9207).

use std::borrow::Cow;

use url::Url;

use super::OAuthError;
use super::metadata::AuthorizationServer;

/// Maximum bytes of an authorization server's error.
const MAX_ERROR_BYTES: usize = 300;

/// The code in the address that the browser was sent back to.
pub(crate) fn read_code(address: &str, state: &str, server: &AuthorizationServer) -> Result<String, OAuthError> {
    let refused = |why: &str| OAuthError::Answer(why.to_owned());
    let url = Url::parse(address.trim()).map_err(|_invalid| refused("it is not an address"))?;
    let parameter = |wanted: &str| url.query_pairs().find(|(name, _)| name == wanted).map(|(_, value)| value);
    let is_repeated = |wanted: &&str| url.query_pairs().filter(|(name, _)| name == wanted).count() > 1;
    if ["state", "iss", "code", "error"].iter().any(is_repeated) {
        return Err(refused("it says the same thing twice"));
    }
    if parameter("state").as_deref() != Some(state) {
        return Err(refused("it belongs to another login (`state`)"));
    }
    // Another authorization server may have sent the browser, to have the code sent to this one.
    match parameter("iss") {
        Some(issuer) if issuer != server.issuer.as_str() => {
            return Err(refused("it is of another authorization server (`iss`)"));
        }
        None if server.authorization_response_iss_parameter_supported => {
            return Err(refused("it does not name its authorization server (`iss`)"));
        }
        Some(_) | None => {}
    }
    if let Some(error) = parameter("error") {
        let description = parameter("error_description").map(|text| format!(": {text}")).unwrap_or_default();
        let why = protocol::clip_middle(&format!("{error}{description}"), MAX_ERROR_BYTES);
        return Err(OAuthError::Refused { request: "login", why });
    }
    parameter("code").map(Cow::into_owned).ok_or_else(|| refused("it has no `code`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_code_is_taken_only_from_an_answer_to_this_login() {
        let server = |names_issuer: bool| AuthorizationServer {
            issuer: "https://login.example".into(),
            authorization_response_iss_parameter_supported: names_issuer,
            ..AuthorizationServer::default()
        };
        let iss = "iss=https%3A%2F%2Flogin.example";
        for (query, names_issuer, expected) in [
            ("state=s&code=c", false, Ok("c")),
            (&*format!("state=s&code=c&{iss}"), true, Ok("c")),
            ("state=s&code=c", true, Err("does not name its authorization server")),
            (&format!("state=s&code=c&{iss}%2F"), false, Err("of another authorization server")),
            (&format!("state=s&code=c&{iss}&{iss}"), true, Err("the same thing twice")),
            ("state=t&code=c", false, Err("belongs to another login")),
            ("code=c", false, Err("belongs to another login")),
            ("state=s&state=s&code=c", false, Err("the same thing twice")),
            ("state=s", false, Err("no `code`")),
            ("state=s&error=access_denied&error_description=no", false, Err("refused the login: access_denied: no")),
        ] {
            let code = read_code(&format!("http://127.0.0.1:9/callback?{query}"), "s", &server(names_issuer));
            match (code, expected) {
                (Ok(code), Ok(expected)) => assert_eq!(code, expected),
                (Err(error), Err(expected)) => assert!(error.to_string().contains(expected), "{query}: {error}"),
                (code, expected) => panic!("{query}: {code:?} instead of {expected:?}"),
            }
        }
        assert!(read_code("callback?state=s&code=c", "s", &server(false)).is_err());
    }
}
