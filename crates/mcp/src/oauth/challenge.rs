//! What a server says when it refuses a request for want of a token: the header `WWW-Authenticate` (RFC 6750, RFC 9728).

/// What a server asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Challenge {
    /// Where the metadata of the resource is.
    pub(crate) resource_metadata: Option<String>,
    /// The scopes that the request needs.
    pub(crate) scopes: Vec<String>,
    /// The error code, such as `insufficient_scope`.
    pub(crate) error: Option<String>,
    /// The error as text.
    pub(crate) description: Option<String>,
}

/// The most scopes of one challenge.
const MAX_SCOPES: usize = 100;

impl Challenge {
    /// Reads the challenge for bearer tokens; empty if there is none.
    pub(crate) fn read<'a>(headers: impl Iterator<Item = &'a str>) -> Challenge {
        let mut challenge = Challenge::default();
        for (name, value) in headers.flat_map(bearer_parameters) {
            match name.to_ascii_lowercase().as_str() {
                "resource_metadata" => challenge.resource_metadata = Some(value),
                "scope" => {
                    challenge.scopes = value.split(' ').filter(|scope| !scope.is_empty()).map(str::to_owned).collect()
                }
                "error" => challenge.error = Some(value),
                "error_description" => challenge.description = Some(value),
                _other => {}
            }
        }
        challenge.scopes.truncate(MAX_SCOPES);
        challenge
    }

    /// Whether a token with more scopes would be accepted.
    pub(crate) fn wants_more_scopes(&self) -> bool {
        self.error.as_deref() == Some("insufficient_scope")
    }
}

/// The parameters of the `Bearer` challenges in a header, which may contain challenges of other schemes.
fn bearer_parameters(header: &str) -> Vec<(String, String)> {
    let (mut parameters, mut is_bearer, mut rest) = (Vec::new(), false, header);
    loop {
        rest = rest.trim_start_matches([' ', '\t', ',']);
        let end = rest.find(|c: char| " \t,=".contains(c)).unwrap_or(rest.len());
        if end == 0 {
            return parameters;
        }
        let word = &rest[..end];
        let after = rest[end..].trim_start_matches([' ', '\t']);
        match after.strip_prefix('=').filter(|value| !value.starts_with('=')) {
            Some(value) => {
                let (value, next) = read_value(value.trim_start_matches([' ', '\t']));
                if is_bearer {
                    parameters.push((word.to_owned(), value));
                }
                rest = next;
            }
            None => {
                is_bearer = word.eq_ignore_ascii_case("bearer");
                rest = after.trim_start_matches('=');
            }
        }
    }
}

/// A token or a quoted text, and what follows it.
fn read_value(text: &str) -> (String, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find([',', ' ', '\t']).unwrap_or(text.len());
        return (text[..end].to_owned(), &text[end..]);
    };
    let mut value = String::new();
    let mut chars = quoted.char_indices();
    while let Some((at, char)) = chars.next() {
        match char {
            '"' => return (value, &quoted[at + 1..]),
            '\\' => value.extend(chars.next().map(|(_, escaped)| escaped)),
            char => value.push(char),
        }
    }
    (value, "")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(header: &str) -> Challenge {
        Challenge::read([header].into_iter())
    }

    #[test]
    fn the_bearer_challenge_is_read_among_others() {
        let challenge = read(
            r#"Basic realm="a, Bearer scope=\"x\"", bearer error="insufficient_scope" , scope = "a  b",resource_metadata="https://x/y?a=1", Digest scope="c""#,
        );
        let expected = Challenge {
            resource_metadata: Some("https://x/y?a=1".into()),
            scopes: vec!["a".into(), "b".into()],
            error: Some("insufficient_scope".into()),
            description: None,
        };
        assert_eq!(challenge, expected);
        assert!(challenge.wants_more_scopes());
        assert_eq!(read("Bearer error=invalid_token").error.as_deref(), Some("invalid_token"));
        assert_eq!(read(r#"Bearer error_description="say \"no\"""#).description.as_deref(), Some(r#"say "no""#));
        for nothing in ["", "Bearer", "Basic dXNlcjpwYXNz==", "Negotiate abc==, scope", "=", ",,,"] {
            assert_eq!(read(nothing), Challenge::default(), "{nothing}");
        }
        assert_eq!(read(r#"Basic dXNlcg==, Bearer scope="s""#).scopes, ["s"]);
    }

    proptest! {
        #[test]
        fn any_header_is_read(header in "[ -~]{0,60}", pieces in r#"(Bearer|scope|=|"|,| |\\|é){0,30}"#) {
            read(&header);
            read(&pieces);
        }
    }
}
