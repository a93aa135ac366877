//! The prompt that starts a fleet: the root splits the request into todos and starts agents for them. The runtime does
//! not drive this fleet; its state is in the todo tables.

use protocol::FLEET_DEPLOYED;

use super::SlashPrompt;

/// The instructions for a root that runs a fleet.
const FLEET: &str = include_str!("../prompts/fleet.md");

/// The prompt that starts a fleet, for this request or for the existing todos.
pub(crate) fn prompt(request: Option<&str>) -> SlashPrompt {
    let request = request.map(str::trim).filter(|request| !request.is_empty());
    let (text, display) = match request {
        Some(request) => (format!("{FLEET}\nUser request: {request}"), format!("{FLEET_DEPLOYED}: {request}")),
        None => (FLEET.to_owned(), FLEET_DEPLOYED.to_owned()),
    };
    SlashPrompt { text, display, mode: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fleet_prompt_is_short_and_complete() {
        assert!(FLEET.len() < 2048, "{} bytes", FLEET.len());
        let phrases = [
            "SELECT id, title, status FROM todos",
            "INSERT INTO todos",
            "todo_deps",
            "status = 'pending'",
            "d.status <> 'done'",
            "`mode: background`",
            "one message",
            "one todo",
            "status = 'done'",
            "status = 'blocked'",
            "`mode: sync`",
            "truth",
            "request",
        ];
        for phrase in phrases {
            assert!(FLEET.contains(phrase), "{phrase}");
        }
    }

    #[test]
    fn the_user_sees_the_request_and_not_the_instructions() {
        let SlashPrompt { text, display, .. } = prompt(Some("  port it \n"));
        assert_eq!(display, "Fleet deployed: port it");
        assert!(text.starts_with(FLEET) && text.ends_with("\nUser request: port it"));
        assert_eq!((prompt(None), prompt(Some(" "))), (prompt(Some("")), prompt(None)));
        assert_eq!(prompt(None).display, "Fleet deployed");
    }
}
