//! The command line of the Copilot SDKs. Flags that the SDKs add themselves, or that concern only a screen, are accepted;
//! others are refused by name, because they may restrict what agents can do. Clients are told which of the accepted ones have
//! no effect.

/// Flags with a value that are accepted, and the values that ask for what Bosun does in any case.
const FLAGS_WITH_VALUE: [(&str, &[&str]); 5] = [
    ("--auth-token-env", &[]),
    ("--extension-sdk-path", &[]),
    ("--log-dir", &[]),
    ("--log-level", &["none", "error", "warning", "info"]),
    ("--session-idle-timeout", &["0"]),
];

/// Flags without a value that are accepted: Bosun neither updates itself nor signs in nor can be controlled remotely.
const PLAIN_FLAGS: [&str; 7] = [
    "--no-auto-login",
    "--no-auto-update",
    "--no-color",
    "--no-experimental",
    "--no-remote",
    "--no-remote-export",
    "--plain-diff",
];

/// A valid command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CopilotArgs {
    pub(crate) transport: CopilotTransport,
    pub(crate) approval: CallApproval,
    /// The flags that have no effect.
    pub(crate) without_effect: Vec<String>,
}

/// Who decides on calls that need permission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallApproval {
    /// A client of the session.
    Clients,
    /// They are allowed, as after a client's `setApproveAll`; deny and ask rules apply.
    AllowAll,
}

/// How clients connect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CopilotTransport {
    /// The client that started this process, on standard input and output.
    Stdio,
    /// Clients that connect to this local port; 0 selects a free one.
    Port(u16),
}

/// Why a command line is not valid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CopilotArgsError {
    /// It does not start a server.
    #[error("this program only serves the Copilot SDKs: start it with --headless --stdio or --headless --port")]
    NotHeadless,
    /// Every user of the machine could connect.
    #[error("a port without a token is open to every user and web page on this machine: set COPILOT_CONNECTION_TOKEN")]
    NoToken,
    /// It contains something that Bosun does not support here.
    #[error(
        "`{0}` is not supported: the Copilot adapter takes the flags of the SDKs, and options come with the sessions"
    )]
    Unknown(String),
    /// The port is not valid.
    #[error("`--port {0}` is not a port")]
    Port(String),
}

/// Parses a command line.
pub(crate) fn read_args(args: &[String]) -> Result<CopilotArgs, CopilotArgsError> {
    let (mut headless, mut stdio, mut port, mut unknown) = (false, false, 0, None);
    let (mut approval, mut without_effect) = (CallApproval::Clients, Vec::new());
    let mut line = args.iter();
    while let Some(arg) = line.next() {
        match arg.as_str() {
            "--headless" | "--server" => headless = true,
            "--stdio" => stdio = true,
            "--yolo" => approval = CallApproval::AllowAll,
            "--port" => port = parse_port(line.next().map_or("", String::as_str))?,
            plain if PLAIN_FLAGS.contains(&plain) => {}
            "--remote" => without_effect.push(arg.clone()),
            other => match other.split_once('=') {
                Some(("--port", value)) => port = parse_port(value)?,
                Some((flag, value)) if let Some(done) = values_without_effect(flag) => {
                    without_effect.extend((!done.contains(&value)).then(|| flag.to_owned()));
                }
                None if let Some(done) = values_without_effect(other) => {
                    let value = line.next().map_or("", String::as_str);
                    without_effect.extend((!done.contains(&value)).then(|| other.to_owned()));
                }
                Some(_) | None => unknown = unknown.or_else(|| Some(other.to_owned())),
            },
        }
    }
    let transport = match (headless, stdio, unknown) {
        (false, _, _) => return Err(CopilotArgsError::NotHeadless),
        (true, _, Some(unknown)) => return Err(CopilotArgsError::Unknown(unknown)),
        (true, true, None) => CopilotTransport::Stdio,
        (true, false, None) => CopilotTransport::Port(port),
    };
    Ok(CopilotArgs { transport, approval, without_effect })
}

/// The values of an accepted flag that ask for what Bosun does in any case.
fn values_without_effect(flag: &str) -> Option<&'static [&'static str]> {
    FLAGS_WITH_VALUE.iter().find(|(name, _)| *name == flag).map(|(_, values)| *values)
}

fn parse_port(text: &str) -> Result<u16, CopilotArgsError> {
    text.parse().map_err(|_| CopilotArgsError::Port(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_all(line: &str) -> Result<CopilotArgs, CopilotArgsError> {
        read_args(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    fn read_line(line: &str) -> Result<CopilotTransport, CopilotArgsError> {
        read_all(line).map(|args| args.transport)
    }

    #[test]
    fn a_program_may_allow_all_calls() {
        let approval = |line: &str| read_all(line).unwrap().approval;
        assert_eq!(approval("--headless --stdio"), CallApproval::Clients);
        assert_eq!(approval("--yolo --headless --stdio"), CallApproval::AllowAll);
    }

    #[test]
    fn flags_without_effect_are_named() {
        let named = |line: &str| read_all(&format!("--headless --stdio {line}")).unwrap().without_effect;
        assert!(named("--no-auto-update --no-auto-login --log-level info --session-idle-timeout 0").is_empty());
        let line = "--log-level=debug --session-idle-timeout 60 --auth-token-env V --remote";
        assert_eq!(named(line), ["--log-level", "--session-idle-timeout", "--auth-token-env", "--remote"]);
    }

    #[test]
    fn command_lines_of_both_sdks_are_parsed() {
        let node = "--headless --no-auto-update --log-level debug --stdio --auth-token-env COPILOT_SDK_AUTH_TOKEN";
        assert_eq!(read_line(node), Ok(CopilotTransport::Stdio));
        assert_eq!(
            read_line("--headless --no-auto-update --log-level=info --stdio --session-idle-timeout 60"),
            Ok(CopilotTransport::Stdio)
        );
        assert_eq!(read_line("--headless --no-auto-update"), Ok(CopilotTransport::Port(0)));
        assert_eq!(read_line("--headless --no-auto-update --port 4321 --remote"), Ok(CopilotTransport::Port(4321)));
    }

    #[test]
    fn invalid_command_lines_are_refused() {
        assert_eq!(read_line("-p hello"), Err(CopilotArgsError::NotHeadless));
        assert_eq!(read_line("--headless --port 70000"), Err(CopilotArgsError::Port("70000".into())));
        assert_eq!(read_line("--headless --port"), Err(CopilotArgsError::Port(String::new())));
        for unknown in ["--deny-tool=shell", "--mine", "stray"] {
            let refused = read_line(&format!("{unknown} --headless --log-level info --stdio"));
            assert_eq!(refused, Err(CopilotArgsError::Unknown(unknown.into())));
        }
    }
}
