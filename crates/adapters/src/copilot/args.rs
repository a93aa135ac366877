//! The command line that SDKs start the adapter with. Most of it is about things that Bosun has other ways for; what is not
//! known is ignored, since every version brings more.

/// Where clients come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CopilotTransport {
    /// The one that started this process, on standard input and output.
    Stdio,
    /// Those that connect to this port of this machine; 0 for a free one.
    Port(u16),
}

/// Why a command line is none of an SDK's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CopilotArgsError {
    /// It asks for something else than a server.
    #[error(
        "this program serves the Copilot SDKs and nothing else: start it with --headless --stdio or --headless --port"
    )]
    NotHeadless,
    /// Everybody on the machine could come in.
    #[error(
        "a port without a token is open to every user and every page of this machine: set COPILOT_CONNECTION_TOKEN"
    )]
    NoToken,
    /// The port is none.
    #[error("`--port {0}` is not a port")]
    Port(String),
}

/// Reads a command line.
pub(crate) fn read_args(args: &[String]) -> Result<CopilotTransport, CopilotArgsError> {
    let (mut headless, mut stdio, mut port) = (false, false, 0);
    let mut words = args.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--headless" | "--server" => headless = true,
            "--stdio" => stdio = true,
            "--port" => port = number(words.next().map_or("", String::as_str))?,
            other => {
                if let Some(given) = other.strip_prefix("--port=") {
                    port = number(given)?;
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

fn number(text: &str) -> Result<u16, CopilotArgsError> {
    text.parse().map_err(|_| CopilotArgsError::Port(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(line: &str) -> Result<CopilotTransport, CopilotArgsError> {
        read_args(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn the_lines_of_both_sdks_are_understood() {
        let node = "--headless --no-auto-update --log-level debug --stdio --auth-token-env COPILOT_SDK_AUTH_TOKEN";
        assert_eq!(given(node), Ok(CopilotTransport::Stdio));
        assert_eq!(given("--mine --headless --no-auto-update --log-level info --stdio"), Ok(CopilotTransport::Stdio));
        assert_eq!(given("--headless --no-auto-update"), Ok(CopilotTransport::Port(0)));
        assert_eq!(given("--headless --no-auto-update --port 4321 --remote"), Ok(CopilotTransport::Port(4321)));
    }

    #[test]
    fn what_is_no_server_is_refused() {
        assert_eq!(given("-p hello"), Err(CopilotArgsError::NotHeadless));
        assert_eq!(given("--headless --port 70000"), Err(CopilotArgsError::Port("70000".into())));
        assert_eq!(given("--headless --port"), Err(CopilotArgsError::Port(String::new())));
    }
}
