//! The command line is a client of sessions: only the places that open a session as its owner name the runtime's types
//! for that, no place names the runtime's types for the fleets of a session, and none answers a method of the API: the
//! answers are below every edge, so that all of them give the same ones.

use std::path::Path;

use crate::sources::{ByteKind, SourceFile, only, shipped, words};

/// The types of a session for its owner.
const OWNERS_TYPES: [&str; 4] = ["Session", "SessionStatus", "Subscription", "BusMessage"];

/// The places that own sessions: that of the terminal, and the opener of those that the session host keeps.
const OWNERS: [&str; 2] = ["crates/cli/src/foreground_session.rs", "crates/cli/src/sdk/session_opener.rs"];

/// The types of a session's fleets, which only the runtime and the crate that runs fleets use.
const FLEET_TYPES: [&str; 6] =
    ["FleetHandle", "FleetRequest", "FleetOutcome", "FleetLimit", "FleetError", "FleetSession"];

/// The table of the methods that are behind each command.
const METHOD_TABLE: &str = "crates/cli/src/args/api_methods.rs";

/// Every place in the command line that names such a type, or a method of the API.
pub(super) fn faults(sources: &[SourceFile]) -> Vec<String> {
    let shipped = shipped(sources);
    let of_commands = || shipped.iter().filter(|source| source.owner() == "cli");
    let answers = of_commands().filter(|source| source.path != Path::new(METHOD_TABLE)).flat_map(answered_methods);
    of_commands().flat_map(faults_of).chain(answers).collect()
}

fn answered_methods(source: &SourceFile) -> Vec<String> {
    let code = only(&source.text, &[ByteKind::Code]);
    let named = code.match_indices("Method::").filter(|(at, _)| !code[..*at].ends_with(char::is_alphanumeric));
    let fault = |(at, path): (usize, &str)| {
        let name = words(&code[at + path.len()..]).next().unwrap_or_default();
        let line = code[..at].matches('\n').count() + 1;
        format!(
            "session: {}:{line} names Method::{name}: the command line answers no method; `config/src/methods` does",
            source.path.display()
        )
    };
    named.map(fault).collect()
}

fn faults_of(source: &SourceFile) -> Vec<String> {
    let owns_sessions = OWNERS.iter().any(|owner| source.path == Path::new(owner));
    let code = only(&source.text, &[ByteKind::Code]);
    let mut faults = Vec::new();
    for (at, path) in code.match_indices("runtime::") {
        let rest = &code[at + path.len()..];
        let named = match rest.strip_prefix('{') {
            Some(list) => list.split('}').next().unwrap_or_default(),
            None => rest.split(|letter: char| !letter.is_alphanumeric() && letter != '_').next().unwrap_or_default(),
        };
        let line = code[..at].matches('\n').count() + 1;
        let forbidden =
            words(named).filter(|word| FLEET_TYPES.contains(word) || OWNERS_TYPES.contains(word) && !owns_sessions);
        faults.extend(forbidden.map(|name| {
            format!(
                "session: {}:{line} names runtime::{name}: the command line reaches a session through client::SessionHandle",
                source.path.display()
            )
        }));
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults_in(path: &str, text: &str) -> Vec<String> {
        faults(&[SourceFile { path: path.into(), text: text.into() }])
    }

    fn fault(path: &str, line: u32, name: &str) -> String {
        format!(
            "session: {path}:{line} names runtime::{name}: the command line reaches a session through \
             client::SessionHandle"
        )
    }

    #[test]
    fn a_command_that_owns_a_session_is_named() {
        let path = "crates/cli/src/tasks/a.rs";
        assert_eq!(faults_in(path, "\nuse runtime::Session;"), [fault(path, 2, "Session")]);
        assert_eq!(faults_in(path, "let a = runtime::Session::open(b);"), [fault(path, 1, "Session")]);
        let list = "use runtime::{\n    BusMessage, SessionStart,\n    Subscription,\n};";
        assert_eq!(faults_in(path, list), [fault(path, 1, "BusMessage"), fault(path, 1, "Subscription")]);
    }

    #[test]
    fn a_command_that_holds_a_fleet_is_named_even_where_sessions_are_owned() {
        for path in ["crates/cli/src/fleet/a.rs", OWNERS[0]] {
            assert_eq!(faults_in(path, "use runtime::FleetHandle;"), [fault(path, 1, "FleetHandle")]);
            let list = "use runtime::{FleetRequest, SessionStart};";
            assert_eq!(faults_in(path, list), [fault(path, 1, "FleetRequest")]);
        }
        assert_eq!(faults_in("crates/fleet/src/a.rs", "use runtime::FleetHandle;"), Vec::<String>::new());
    }

    #[test]
    fn a_command_that_answers_a_method_is_named() {
        let text = "match method {\n    Method::DoctorCheck => doctor(),\n}";
        let path = "crates/cli/src/doctor/a.rs";
        let fault = format!(
            "session: {path}:2 names Method::DoctorCheck: the command line answers no method; `config/src/methods` does"
        );
        assert_eq!(faults_in(path, text), [fault]);
        for allowed in [METHOD_TABLE, "crates/config/src/methods/answer.rs", "crates/cli/tests/it/a.rs"] {
            assert_eq!(faults_in(allowed, text), Vec::<String>::new(), "{allowed}");
        }
        assert_eq!(faults_in(path, "HttpMethod::Get; fn answer(method: Method)"), Vec::<String>::new());
    }

    #[test]
    fn owners_tests_and_other_types_are_allowed() {
        let owned = "use runtime::{Session, SessionStatus};";
        for path in OWNERS.into_iter().chain(["crates/cli/tests/it/a.rs", "crates/server/src/a.rs", "testkit/src/a.rs"])
        {
            assert_eq!(faults_in(path, owned), Vec::<String>::new(), "{path}");
        }
        for text in [
            "use runtime::{SessionSettings, SessionStart};",
            "runtime::strip_quote_marks(Session)",
            "// runtime::Session\nlet a = \"runtime::Session\";",
            "#[cfg(test)]\nmod tests { use runtime::Session; }",
        ] {
            assert_eq!(faults_in("crates/cli/src/a.rs", text), Vec::<String>::new(), "{text}");
        }
    }
}
