//! `bosun mcp`: the MCP servers whose tools agents can use, and Bosun as a server.

mod list;
mod login;
mod serve;
mod test;

use protocol::McpServerSpec;
use protocol::api::{
    AddMcpServerParams, ListMcpServersParams, McpLogResult, McpServerNameParams, McpSettingsFile,
    RemoveMcpServerParams, TestMcpServerParams, UserSettingsScope,
};

use crate::args::{McpAddArgs, McpArgs, McpCommand, McpScope};
use crate::error::CliError;
use crate::exit::CommandExit;
use crate::setup::Setup;
use tui::print;

pub(crate) async fn perform(args: &McpArgs) -> Result<CommandExit, CliError> {
    let setup = Setup::read()?;
    match &args.command {
        McpCommand::List { sources, json } => {
            let (only_these, sources) = (sources.strict_mcp_config, sources.sources());
            let view = setup.sources().list_mcp_servers(ListMcpServersParams { cwd: None, sources, only_these })?;
            list::print(&view, *json);
        }
        McpCommand::Add(options) => add(&setup, options)?,
        McpCommand::Remove { name, scope } => {
            let params = RemoveMcpServerParams { cwd: None, scope: (*scope).into(), name: name.clone() };
            let McpSettingsFile { path } = setup.sources().remove_mcp_server(params)?;
            print::note(format_args!("{name}: removed from {path}"));
        }
        McpCommand::Test { name, sources, json } => {
            let (only_these, sources) = (sources.strict_mcp_config, sources.sources());
            let params = TestMcpServerParams { cwd: None, name: name.clone(), sources, only_these };
            test::print(&setup.sources().test_mcp_server(params).await?, *json);
        }
        McpCommand::Logs { name } => {
            match setup.sources().read_mcp_log(&McpServerNameParams { name: name.clone() })? {
                // The server may write anything, escape sequences included.
                McpLogResult { text: Some(text) } => print::output(print::sanitize(text.trim_end())),
                McpLogResult { text: None } => print::note(format_args!("the server `{name}` has written nothing")),
            }
        }
        McpCommand::Login { name, sources, json } => login::login(&setup, sources, name, *json).await?,
        McpCommand::Logout { name, sources } => login::logout(&setup, sources, name).await?,
        McpCommand::Serve(options) => return serve::serve(&setup, options).await,
    }
    Ok(CommandExit::Success)
}

fn add(setup: &Setup, args: &McpAddArgs) -> Result<(), CliError> {
    let mut words = args.command.iter().cloned();
    let server = McpServerSpec {
        command: words.next(),
        args: words.collect(),
        env: args.env.iter().cloned().collect(),
        url: args.url.clone(),
        headers: args.header.iter().cloned().collect(),
        ..McpServerSpec::default()
    };
    let params = AddMcpServerParams { cwd: None, scope: args.scope.into(), name: args.name.clone(), server };
    let McpSettingsFile { path } = setup.sources().add_mcp_server(params)?;
    print::note(format_args!("{}: written to {path}", args.name));
    print::note(format_args!("`bosun mcp test {}` starts it and lists its tools", print::shell_quote(&args.name)));
    Ok(())
}

impl From<McpScope> for UserSettingsScope {
    fn from(scope: McpScope) -> UserSettingsScope {
        match scope {
            McpScope::User => UserSettingsScope::User,
            McpScope::Local => UserSettingsScope::Local,
        }
    }
}
