//! The command line of the Copilot SDKs. Unknown flags do not stop the server, because every version adds some: clients
//! are told that they have no effect.

/// How clients connect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CopilotTransport {
    /// The client that started this process, on standard input and output.
    Stdio,
    /// Clients that connect to this local port; 0 selects a free one.
    Port(u16),
}

/// A command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CopilotArgs {
    pub(crate) transport: CopilotTransport,
    /// The flags that have no effect.
    pub(crate) without_effect: Vec<String>,
}

/// Flags that ask for what Bosun does in any case.
const DONE_ANYWAY: [&str; 2] = ["--no-auto-login", "--no-auto-update"];

/// Flags with a value, and the values that ask for what Bosun does in any case.
const WITH_VALUES: [(&str, &[&str]); 3] = [
    ("--auth-token-env", &[]),
    ("--log-level", &["none", "error", "warning", "info"]),
    ("--session-idle-timeout", &["0"]),
];

/// Maximum bytes of a flag in a message.
const MAX_FLAG_BYTES: usize = 80;

/// Why a command line is not valid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CopilotArgsError {
    /// It does not start a server.
    #[error("this program only serves the Copilot SDKs: start it with --headless --stdio or --headless --port")]
    NotHeadless,
    /// Every user of the machine could connect.
    #[error("a port without a token is open to every user and web page on this machine: set COPILOT_CONNECTION_TOKEN")]
    NoToken,
    /// The port is not valid.
    #[error("`--port {0}` is not a port")]
    Port(String),
}

/// Parses a command line.
pub(crate) fn read_args(args: &[String]) -> Result<CopilotArgs, CopilotArgsError> {
    let (mut headless, mut stdio, mut port) = (false, false, 0);
    let mut without_effect = Vec::new();
    let mut line = args.iter();
    while let Some(arg) = line.next() {
        match arg.as_str() {
            "--headless" | "--server" => headless = true,
            "--stdio" => stdio = true,
            "--port" => port = parse_port(line.next().map_or("", String::as_str))?,
            flag if DONE_ANYWAY.contains(&flag) => {}
            other => {
                if let Some(value) = other.strip_prefix("--port=") {
                    port = parse_port(value)?;
                } else if let Some((_, done)) = WITH_VALUES.iter().find(|(flag, _)| *flag == other) {
                    let value = line.next().map_or("", String::as_str);
                    without_effect.extend((!done.contains(&value)).then(|| other.to_owned()));
                } else if other.starts_with('-') {
                    let name = other.split_once('=').map_or(other, |(name, _)| name);
                    without_effect.push(protocol::clip_middle(name, MAX_FLAG_BYTES));
                }
            }
        }
    }
    let transport = match (headless, stdio) {
        (false, _) => return Err(CopilotArgsError::NotHeadless),
        (true, true) => CopilotTransport::Stdio,
        (true, false) => CopilotTransport::Port(port),
    };
    Ok(CopilotArgs { transport, without_effect })
}

fn parse_port(text: &str) -> Result<u16, CopilotArgsError> {
    text.parse().map_err(|_| CopilotArgsError::Port(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_line(line: &str) -> Result<CopilotArgs, CopilotArgsError> {
        read_args(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    fn transport(line: &str) -> CopilotTransport {
        read_line(line).unwrap().transport
    }

    #[test]
    fn command_lines_of_both_sdks_are_parsed() {
        let node = "--headless --no-auto-update --log-level debug --stdio --auth-token-env COPILOT_SDK_AUTH_TOKEN";
        assert_eq!(transport(node), CopilotTransport::Stdio);
        assert_eq!(transport("--mine --headless --no-auto-update --log-level info --stdio"), CopilotTransport::Stdio);
        assert_eq!(transport("--headless --no-auto-update"), CopilotTransport::Port(0));
        assert_eq!(transport("--headless --no-auto-update --port 4321 --remote"), CopilotTransport::Port(4321));
    }

    #[test]
    fn flags_without_effect_are_named() {
        let named = |line: &str| read_line(&format!("--headless --stdio {line}")).unwrap().without_effect;
        assert!(named("--no-auto-update --no-auto-login --log-level info --session-idle-timeout 0 word").is_empty());
        let line = "--mine=7 --log-level debug --session-idle-timeout 60 --remote --auth-token-env V";
        assert_eq!(named(line), ["--mine", "--log-level", "--session-idle-timeout", "--remote", "--auth-token-env"]);
    }

    #[test]
    fn invalid_command_lines_are_refused() {
        assert_eq!(read_line("-p hello"), Err(CopilotArgsError::NotHeadless));
        assert_eq!(read_line("--headless --port 70000"), Err(CopilotArgsError::Port("70000".into())));
        assert_eq!(read_line("--headless --port"), Err(CopilotArgsError::Port(String::new())));
    }
}
