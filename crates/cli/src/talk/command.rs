//! What begins with a slash: said to Bosun, not to the model.

use protocol::PermissionMode;

/// What can be typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Command {
    Help,
    Model(Option<String>),
    Mode(Option<PermissionMode>),
    Cost,
    Approvals,
    /// Lists the agents that a person may start.
    Agents,
    /// Starts one of them with this prompt.
    Agent(String, String),
    /// Lists what every task does.
    Tasks,
    Show(usize),
    Resume(Option<String>),
    New,
    Exit,
}

/// One row of the table of commands.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) name: &'static str,
    pub(super) arguments: &'static str,
    pub(super) about: &'static str,
    read: fn(&str) -> Result<Command, String>,
}

/// Every command.
pub(super) const TABLE: [Entry; 12] = [
    Entry { name: "help", arguments: "", about: "shows this", read: |rest| alone(rest, Command::Help) },
    Entry {
        name: "model",
        arguments: "[PROVIDER/NAME]",
        about: "shows the model, or goes on with another",
        read: |rest| Ok(Command::Model(word(rest)?)),
    },
    Entry {
        name: "mode",
        arguments: "[MODE]",
        about: "shows what is allowed without asking, or changes it",
        read: mode,
    },
    Entry {
        name: "cost",
        arguments: "",
        about: "what the session used so far",
        read: |rest| alone(rest, Command::Cost),
    },
    Entry {
        name: "approvals",
        arguments: "",
        about: "what waits for your decision",
        read: |rest| alone(rest, Command::Approvals),
    },
    Entry {
        name: "agent",
        arguments: "NAME PROMPT",
        about: "starts an agent in the background; its result reaches the conversation",
        read: agent,
    },
    Entry { name: "agents", arguments: "", about: "the agents there are", read: |rest| alone(rest, Command::Agents) },
    Entry {
        name: "tasks",
        arguments: "",
        about: "what every agent and command does",
        read: |rest| alone(rest, Command::Tasks),
    },
    Entry {
        name: "show",
        arguments: "[N]",
        about: "all of the last call and its output, or of the one N calls ago (Ctrl-O)",
        read: show,
    },
    Entry {
        name: "resume",
        arguments: "[ID]",
        about: "lists the sessions of this folder, or goes on with one",
        read: |rest| Ok(Command::Resume(word(rest)?)),
    },
    Entry { name: "new", arguments: "", about: "begins a new session", read: |rest| alone(rest, Command::New) },
    Entry { name: "exit", arguments: "", about: "leaves (Ctrl-D)", read: |rest| alone(rest, Command::Exit) },
];

/// Other names that people try.
const ALIASES: [(&str, &str); 4] = [("quit", "exit"), ("last", "show"), ("clear", "new"), ("?", "help")];

/// Reads a line that is meant for Bosun; none if it is meant for the model, as a path at its beginning is.
pub(super) fn read(line: &str) -> Option<Result<Command, String>> {
    let line = line.strip_prefix('/')?;
    let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    if name.contains('/') || name.contains('.') {
        return None;
    }
    let alias = ALIASES.iter().find(|(alias, _)| *alias == name);
    let name = alias.map_or(name, |(_, name)| name);
    Some(match TABLE.iter().find(|entry| entry.name == name) {
        Some(entry) => (entry.read)(rest.trim()).map_err(|problem| format!("/{name}: {problem}")),
        None => Err(unknown(name)),
    })
}

/// What the beginning of a command can become.
pub(super) fn completions(line: &str) -> Vec<&'static str> {
    let Some(begun) = line.strip_prefix('/') else { return Vec::new() };
    TABLE.iter().map(|entry| entry.name).filter(|name| name.starts_with(begun)).collect()
}

fn unknown(name: &str) -> String {
    let distance = |near: &str| (strsim::damerau_levenshtein(near, name), near.len().abs_diff(name.len()));
    let near = TABLE.iter().map(|entry| (distance(entry.name), entry.name)).min();
    match near {
        Some(((distance, _), near)) if distance <= 2 => format!("there is no /{name}; did you mean /{near}?"),
        Some(_) | None => format!("there is no /{name}; /help lists what there is"),
    }
}

fn alone(rest: &str, command: Command) -> Result<Command, String> {
    if rest.is_empty() { Ok(command) } else { Err("nothing follows it".into()) }
}

fn word(rest: &str) -> Result<Option<String>, String> {
    match rest.split_whitespace().collect::<Vec<_>>()[..] {
        [] => Ok(None),
        [word] => Ok(Some(word.to_owned())),
        [..] => Err("one word follows it at most".into()),
    }
}

fn agent(rest: &str) -> Result<Command, String> {
    match rest.split_once(char::is_whitespace) {
        Some((name, prompt)) => Ok(Command::Agent(name.to_owned(), prompt.trim().to_owned())),
        None if rest.is_empty() => Ok(Command::Agents),
        None => Err(format!("what should `{rest}` do? a prompt follows its name")),
    }
}

fn mode(rest: &str) -> Result<Command, String> {
    let Some(word) = word(rest)? else { return Ok(Command::Mode(None)) };
    let found = PermissionMode::ALL.into_iter().find(|mode| mode.word() == word);
    let words = PermissionMode::ALL.map(PermissionMode::word).join(", ");
    found.map(|mode| Command::Mode(Some(mode))).ok_or_else(|| format!("`{word}` is none of {words}"))
}

fn show(rest: &str) -> Result<Command, String> {
    match word(rest)? {
        None => Ok(Command::Show(1)),
        Some(word) => match word.parse() {
            Ok(ago @ 1..) => Ok(Command::Show(ago)),
            Ok(0) | Err(_) => Err(format!("`{word}` is no number of calls; 1 is the last")),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_read() {
        assert_eq!(read("/help"), Some(Ok(Command::Help)));
        assert_eq!(read("/quit"), Some(Ok(Command::Exit)));
        assert_eq!(read("/model a/b"), Some(Ok(Command::Model(Some("a/b".into())))));
        assert_eq!(read("/mode plan"), Some(Ok(Command::Mode(Some(PermissionMode::Plan)))));
        assert_eq!(read("/show 3"), Some(Ok(Command::Show(3))));
        assert!(read("/show 0").unwrap().is_err() && read("/mode x").unwrap().is_err());
        assert!(read("/cost now").unwrap().is_err());
    }

    #[test]
    fn what_is_no_command_is_for_the_model() {
        for line in ["hello", " /help", "/etc/hosts is wrong", "/tmp/a.txt", "a /help"] {
            assert_eq!(read(line), None, "{line}");
        }
    }

    #[test]
    fn the_nearest_name_is_offered() {
        let problem = |line| read(line).unwrap().unwrap_err();
        assert!(problem("/hlep").contains("did you mean /help?"));
        assert!(problem("/modle x").contains("/model"));
        assert!(problem("/frobnicate").contains("/help lists"));
        assert_eq!(completions("/mo"), ["model", "mode"]);
        assert_eq!(read("/agent"), Some(Ok(Command::Agents)));
        assert_eq!(read("/agent explore find it"), Some(Ok(Command::Agent("explore".into(), "find it".into()))));
        assert!(problem("/agent explore").contains("a prompt follows"));
        assert!(completions("mo").is_empty());
    }
}
