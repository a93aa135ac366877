//! Arguments for MCP servers.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Subcommand, ValueEnum};

use super::catalog::{AgentLimitArgs, DefinitionArgs};
use super::permission::PermissionArgs;
use super::run::EffortArg;

/// `bosun mcp`.
#[derive(Debug, clap::Args)]
pub(crate) struct McpArgs {
    #[command(subcommand)]
    pub(crate) command: McpCommand,
}

/// `bosun mcp` subcommands.
#[derive(Debug, Subcommand)]
pub(crate) enum McpCommand {
    /// Lists the servers that sessions in this folder may use, and why they may not use others
    List {
        #[command(flatten)]
        sources: McpSourceArgs,
        /// Prints JSON
        #[arg(long)]
        json: bool,
    },
    /// Adds a server to your settings
    Add(McpAddArgs),
    /// Removes a server from your settings
    Remove {
        /// The server
        name: String,
        /// Which of your settings files has it: for all projects, or for this one
        #[arg(long = "in", value_enum, default_value_t = McpScope::User, value_name = "WHERE")]
        scope: McpScope,
    },
    /// Starts a server and lists its tools
    Test {
        /// The server
        name: String,
        #[command(flatten)]
        sources: McpSourceArgs,
        /// Prints JSON
        #[arg(long)]
        json: bool,
    },
    /// Is a server itself: other programs start, message and read agents and fleets as tools
    Serve(Box<McpServeArgs>),
    /// Signs in to a server with a URL: shows the address of its login page, and waits for the browser
    Login {
        /// The server
        name: String,
        #[command(flatten)]
        sources: McpSourceArgs,
        /// Prints JSON: a line with the address, then one with the result
        #[arg(long)]
        json: bool,
    },
    /// Signs out of a server
    Logout {
        /// The server
        name: String,
        #[command(flatten)]
        sources: McpSourceArgs,
    },
    /// Prints what a server wrote to its error output
    Logs {
        /// The server
        name: String,
    },
}

/// The servers of a run, in addition to those of files.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct McpSourceArgs {
    /// Uses the MCP servers of this file, or of this JSON text, as in .mcp.json (may be repeated)
    #[arg(long, value_name = "FILE|JSON")]
    pub(crate) mcp_config: Vec<String>,
    /// Uses only the MCP servers of --mcp-config
    #[arg(long)]
    pub(crate) strict_mcp_config: bool,
}

/// `bosun mcp add`.
#[derive(Debug, clap::Args)]
#[command(group(clap::ArgGroup::new("server").required(true).args(["url", "command"])))]
pub(crate) struct McpAddArgs {
    /// The server's name, which becomes a part of its tools' names
    pub(crate) name: String,
    /// The address of a server that runs elsewhere
    #[arg(long)]
    pub(crate) url: Option<String>,
    /// A header of every request, such as 'Authorization: Bearer ${TOKEN}' (may be repeated)
    #[arg(long, value_name = "NAME: VALUE", requires = "url", value_parser = parse_header)]
    pub(crate) header: Vec<(String, String)>,
    /// A variable for the program, such as 'KEY=${KEY}' (may be repeated)
    #[arg(long, short, value_name = "NAME=VALUE", requires = "command", value_parser = parse_variable)]
    pub(crate) env: Vec<(String, String)>,
    /// Which of your settings files to add it to: for all projects, or for this one
    #[arg(long = "in", value_enum, default_value_t = McpScope::User, value_name = "WHERE")]
    pub(crate) scope: McpScope,
    /// The program and its arguments; options of this command come before it
    #[arg(trailing_var_arg = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

/// `bosun mcp serve`.
#[derive(Debug, clap::Args)]
pub(crate) struct McpServeArgs {
    /// Serves HTTP on this loopback port instead of standard input and output (any free port without a value)
    #[arg(long, value_name = "PORT", num_args = 0..=1, default_missing_value = "0", value_parser = parse_loopback_port)]
    pub(crate) http: Option<u16>,
    /// Keeps the token in this file, which is created if needed and readable only by you; without it, each start prints
    /// a new token
    #[arg(long, value_name = "FILE", requires = "http")]
    pub(crate) token_file: Option<PathBuf>,
    /// Lets clients decide on calls and answer questions of agents in your place, unless the client is an agent of Bosun
    #[arg(long)]
    pub(crate) allow_answers: bool,
    /// Agents work in this folder, or below it
    #[arg(short = 'C', value_name = "DIR")]
    pub(crate) directory: Option<PathBuf>,
    /// The model of agents for which clients choose none, as for `bosun`
    #[arg(long, value_name = "PROVIDER/NAME")]
    pub(crate) model: Option<String>,
    /// Reasoning effort of the model, if its provider supports it
    #[arg(long, value_enum, value_name = "EFFORT")]
    pub(crate) effort: Option<EffortArg>,
    /// The agent definition for agents for which clients choose none
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// Maximum turns of each run
    #[arg(long, value_name = "N", value_parser = super::values::parse_count::<1, { u32::MAX }>)]
    pub(crate) max_turns: Option<u32>,
    /// Maximum cost of each session in US dollars; needs a model with a price
    #[arg(long, value_name = "USD", value_parser = super::values::parse_dollars)]
    pub(crate) max_budget_usd: Option<u64>,
    /// Maximum tokens of each session
    #[arg(long, value_name = "N", value_parser = super::values::parse_tokens)]
    pub(crate) max_tokens_total: Option<u64>,
    /// Ends each run after this time, with one last answer
    #[arg(long, value_name = "TIME", value_parser = super::values::parse_nonzero)]
    pub(crate) timeout: Option<Duration>,
    /// Never lets agents ask you a question
    #[arg(long)]
    pub(crate) no_ask_user: bool,
    /// How long a call waits for a decision before it is denied (default: for ever)
    #[arg(long, value_name = "TIME", value_parser = config::parse_time)]
    pub(crate) ask_wait: Option<Duration>,
    #[command(flatten)]
    pub(crate) permissions: PermissionArgs,
    #[command(flatten)]
    pub(crate) definitions: DefinitionArgs,
    #[command(flatten)]
    pub(crate) limits: AgentLimitArgs,
    #[command(flatten)]
    pub(crate) mcp: McpSourceArgs,
    /// Prints the address and the token as JSON
    #[arg(long, requires = "http")]
    pub(crate) json: bool,
}

/// A settings file of the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum McpScope {
    /// For all projects.
    User,
    /// For this project.
    Local,
}

impl McpSourceArgs {
    /// The sources as options of a session. Files are named by full paths: the session may work in another folder.
    pub(crate) fn sources(&self) -> Vec<String> {
        let full = |source: &String| match source.trim_start().starts_with('{') {
            true => source.clone(),
            false => std::path::absolute(PathBuf::from(source))
                .map_or_else(|_unknown| source.clone(), |path| path.display().to_string()),
        };
        self.mcp_config.iter().map(full).collect()
    }
}

/// Reads a port, or an address on loopback.
fn parse_loopback_port(text: &str) -> Result<u16, String> {
    let port = match text.rsplit_once(':') {
        None => text,
        Some(("127.0.0.1" | "localhost", port)) => port,
        Some((host, _port)) => return Err(format!("`{host}` is not on loopback; write PORT or 127.0.0.1:PORT")),
    };
    port.parse().map_err(|_not_a_port| format!("`{port}` is not a port"))
}

fn parse_header(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once(':').ok_or("write NAME: VALUE")?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

fn parse_variable(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').filter(|(name, _)| !name.is_empty()).ok_or("write NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::args::{CliArgs, CliCommand, Deferred};

    fn parse_add(line: &[&str]) -> Result<McpAddArgs, clap::Error> {
        let args = CliArgs::try_parse_from([&["bosun", "mcp", "add"], line].concat())?;
        match args.command {
            Some(CliCommand::Mcp(Deferred(McpArgs { command: McpCommand::Add(added) }))) => Ok(added),
            other => panic!("another command: {other:?}"),
        }
    }

    #[test]
    fn program_may_follow_a_separator_or_the_name() {
        let program = ["python3", "dice.py", "--fast"];
        let options = ["dice", "--in", "local"];
        for line in [[&options[..], &["--"], &program].concat(), [&options[..], &program].concat()] {
            let added = parse_add(&line).unwrap();
            assert_eq!((added.name.as_str(), added.scope), ("dice", McpScope::Local));
            assert_eq!(added.command, program);
        }
    }

    #[test]
    fn a_server_is_either_a_program_or_an_address() {
        let refused = |line: &[&str]| parse_add(line).unwrap_err().to_string();
        let missing = refused(&["dice"]);
        assert!(missing.contains("--url <URL>") && missing.contains("COMMAND"), "{missing}");
        assert!(refused(&["dice", "--url", "http://127.0.0.1/mcp", "python3"]).contains("cannot be used with"));
        assert!(refused(&["dice", "--nosuch", "python3"]).contains("--nosuch"));
    }

    #[test]
    fn limits_of_a_server_are_refused_in_the_same_words_as_those_of_a_run() {
        let refusal = |command: &[&str], option: &str, value: &str| {
            let parsed = CliArgs::try_parse_from([&["bosun"], command, &[option, value]].concat());
            parsed.unwrap_err().to_string().lines().next().unwrap_or_default().to_owned()
        };
        for (option, value) in [("--max-turns", "0"), ("--max-turns", "x"), ("--max-tokens-total", "0")] {
            assert_eq!(refusal(&["mcp", "serve"], option, value), refusal(&[], option, value));
        }
    }

    #[test]
    fn servers_listen_on_loopback_only() {
        assert_eq!(parse_loopback_port("8080"), Ok(8080));
        assert_eq!(parse_loopback_port("127.0.0.1:0"), Ok(0));
        assert_eq!(parse_loopback_port("localhost:99"), Ok(99));
        for wrong in ["0.0.0.0:80", "[::]:80", "example.com:80", "x", "70000", ""] {
            assert!(parse_loopback_port(wrong).is_err(), "{wrong}");
        }
    }
}
