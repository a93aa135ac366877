//! The command line of the Copilot SDKs. Most flags concern things that Bosun does differently; unknown flags are
//! ignored, because every version adds some.

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
    /// The port is not valid.
    #[error("`--port {0}` is not a port")]
    Port(String),
}

/// Parses a command line.
pub(crate) fn read_args(args: &[String]) -> Result<CopilotTransport, CopilotArgsError> {
    let (mut headless, mut stdio, mut port) = (false, false, 0);
    let mut line = args.iter();
    while let Some(arg) = line.next() {
        match arg.as_str() {
            "--headless" | "--server" => headless = true,
            "--stdio" => stdio = true,
            "--port" => port = parse_port(line.next().map_or("", String::as_str))?,
            other => {
                if let Some(value) = other.strip_prefix("--port=") {
                    port = parse_port(value)?;
                }
            }
        }
    }
    match (headless, stdio) {
        (false, _) => Err(CopilotArgsError::NotHeadless),
        (true, true) => Ok(CopilotTransport::Stdio),
        (true, false) => Ok(CopilotTransport::Port(port)),
    }
}

fn parse_port(text: &str) -> Result<u16, CopilotArgsError> {
    text.parse().map_err(|_| CopilotArgsError::Port(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_line(line: &str) -> Result<CopilotTransport, CopilotArgsError> {
        read_args(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn command_lines_of_both_sdks_are_parsed() {
        let node = "--headless --no-auto-update --log-level debug --stdio --auth-token-env COPILOT_SDK_AUTH_TOKEN";
        assert_eq!(read_line(node), Ok(CopilotTransport::Stdio));
        assert_eq!(
            read_line("--mine --headless --no-auto-update --log-level info --stdio"),
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
    }
}
