//! `bosun mcp serve`: Bosun's agents as the tools of another program.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use adapters::http::{HttpLimits, HttpListener};
use adapters::mcp::{
    AgentProvider, AgentServerSettings, AnswerPolicy, BackgroundSessions, MCP_PATH, McpFuture, serve_http, serve_stdio,
};
use host::Home;
use protocol::SessionOptions;
use protocol::api::{BeginFleetParams, SessionView};
use runtime::SessionStart;
use serde_json::json;
use server::OpenRefusal;
use tui::print;
use tui::signals::SignalListener;

use crate::args::McpServeArgs;
use crate::error::CliError;
use crate::exit::CommandExit;
use crate::run::with_absolute_paths;
use crate::sdk::refusal;
use crate::serve::{HostedWork, ServerToken, begin, bind_failure, connect_or_start, hide_token_file, load_or_create};
use crate::setup::{Setup, working_folder};

pub(super) async fn serve(setup: &Setup, args: &McpServeArgs) -> Result<CommandExit, CliError> {
    let settings = server_settings(setup, args)?;
    // Clients over HTTP are served by another thread, which could not start a session host.
    host::sibling::act_as_user()?;
    let background = Arc::new(HostedSessions { home: setup.home.clone() });
    let provider = Arc::new(AgentProvider::new(settings, background));
    match args.http {
        Some(port) => serve_over_http(setup, args, port, provider).await,
        None => {
            let served = serve_stdio(provider, tokio::io::stdin(), tokio::io::stdout()).await;
            served.map_err(|error| CliError::failed(format!("the client broke the protocol: {error}")))?;
            Ok(CommandExit::Success)
        }
    }
}

/// The folders and the options of all sessions: the host that runs them has another folder and environment.
fn server_settings(setup: &Setup, args: &McpServeArgs) -> Result<AgentServerSettings, CliError> {
    let folder = full_path(&working_folder(args.directory.as_deref())?)?;
    let options = args.session_options();
    let model = options.model.clone().or_else(|| setup.env.model.clone());
    let options = with_absolute_paths(SessionOptions { model, cwd: Some(folder.clone()), ..options })?;
    // A wrong flag or settings file is reported now, and not to the first client.
    setup.sources().layers(&options, None, &folder)?;
    let more_folders = options.add_dirs.iter().map(|folder| full_path(folder)).collect::<Result<_, _>>()?;
    let answers = if args.allow_answers { AnswerPolicy::Allowed } else { AnswerPolicy::Refused };
    Ok(AgentServerSettings { home: setup.home.clone(), folder, more_folders, options, answers })
}

fn full_path(path: &Path) -> Result<PathBuf, CliError> {
    path.canonicalize().map_err(|error| CliError::usage(format!("cannot use {}: {error}", path.display())))
}

async fn serve_over_http(
    setup: &Setup,
    args: &McpServeArgs,
    port: u16,
    provider: Arc<AgentProvider>,
) -> Result<CommandExit, CliError> {
    let mut signals = SignalListener::listen()?;
    let listener = HttpListener::bind(port).await.map_err(|error| bind_failure(port, &error))?;
    let ServerToken { token, secret, file } = load_or_create(args.token_file.as_deref())?;
    hide_token_file(&setup.home, args.token_file.as_deref())?;
    announce(&format!("{}{MCP_PATH}", listener.url()), &secret, file.as_deref(), args.json);
    let end = async move {
        // Sessions continue in the session host, whichever signal ends the server.
        let _signal = signals.next().await;
    };
    let served = serve_http(listener, provider, token, HttpLimits::default(), end).await;
    served.map_err(|error| CliError::failed(format!("cannot serve: {error}")))?;
    Ok(CommandExit::Success)
}

/// Prints the address, and the token if it is not in a file.
fn announce(url: &str, secret: &str, token_file: Option<&str>, json: bool) {
    if json {
        let token = token_file.is_none().then_some(secret);
        let pid = std::process::id();
        return print::json(&json!({ "url": url, "token": token, "tokenFile": token_file, "pid": pid }));
    }
    print::output(format_args!("listening on {url}"));
    match token_file {
        Some(file) => print::output(format_args!("clients send the header Authorization: Bearer $(cat '{file}')")),
        None => print::output(format_args!("clients send the header Authorization: Bearer {secret}")),
    }
}

/// The sessions of clients, in the session host.
struct HostedSessions {
    home: Home,
}

impl BackgroundSessions for HostedSessions {
    fn begin(&self, start: SessionStart, options: SessionOptions) -> McpFuture<'_, Result<SessionView, OpenRefusal>> {
        Box::pin(async move { begin(&self.home, HostedWork::Session(start, &options)).await.map_err(refusal) })
    }

    fn begin_fleet(&self, request: BeginFleetParams) -> McpFuture<'_, Result<SessionView, OpenRefusal>> {
        Box::pin(async move { begin(&self.home, HostedWork::Fleet(&request)).await.map_err(refusal) })
    }

    fn ensure_host(&self) -> McpFuture<'_, Result<(), OpenRefusal>> {
        Box::pin(async move { connect_or_start(&self.home).await.map(drop).map_err(refusal) })
    }
}
