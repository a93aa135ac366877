//! Which scopes to ask for.

/// The scope that makes an authorization server issue a refresh token.
const OFFLINE_ACCESS: &str = "offline_access";

/// The scopes to ask for: those of the settings, else those that the server asks for in its refusal, else all that it
/// publishes. Scopes that were granted before stay.
pub(crate) fn to_request(
    configured: &[String],
    challenged: &[String],
    published: Option<&[String]>,
    granted: &[String],
    by_authorization_server: Option<&[String]>,
) -> Vec<String> {
    let base = match (configured, challenged) {
        ([], []) => published.unwrap_or_default(),
        (configured, []) => configured,
        (_, challenged) => challenged,
    };
    let configured = if challenged.is_empty() { &[] } else { configured };
    let mut scopes: Vec<String> = Vec::new();
    for scope in granted.iter().chain(configured).chain(base) {
        if !scopes.contains(scope) {
            scopes.push(scope.clone());
        }
    }
    let is_offered = by_authorization_server.is_some_and(|all| all.iter().any(|scope| scope == OFFLINE_ACCESS));
    if is_offered && !scopes.iter().any(|scope| scope == OFFLINE_ACCESS) {
        scopes.push(OFFLINE_ACCESS.to_owned());
    }
    scopes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_specific_source_of_scopes_counts() {
        let list = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        for (configured, challenged, published, granted, offered, expected) in [
            ("", "", None, "", None, ""),
            ("", "", Some("a b"), "", None, "a b"),
            ("", "c", Some("a b"), "", None, "c"),
            ("d", "", Some("a b"), "", None, "d"),
            ("d", "c", Some("a b"), "", None, "d c"),
            ("", "c", None, "a", None, "a c"),
            ("", "", Some("a"), "", Some("a offline_access"), "a offline_access"),
            ("", "offline_access", None, "", Some("offline_access"), "offline_access"),
            ("", "", None, "", Some("a"), ""),
        ] {
            let (published, offered) = (published.map(list), offered.map(list));
            let scopes = to_request(
                &list(configured),
                &list(challenged),
                published.as_deref(),
                &list(granted),
                offered.as_deref(),
            );
            assert_eq!(scopes, list(expected), "{configured:?} {challenged:?} {published:?} {granted:?}");
        }
    }
}
