//! `bosun mcp login` and `bosun mcp logout`.

use std::io::BufRead;
use std::sync::Arc;

use config::{ListedMcpServer, McpServerSet, McpServerState};
use host::{Guardian, SystemClock};
use mcp::{
    LoginCallback, LoginOutcome, LoginPrompter, LoginRequest, LoginStore, McpAddress, McpLogins, McpOAuthSettings,
    McpServers,
};
use serde_json::json;
use tokio::sync::mpsc;
use tools::{BoxFuture, ToolCatalog};

use crate::args::McpSourceArgs;
use crate::error::CliError;
use crate::setup::{Setup, settings_failure, working_folder};
use tui::print;

pub(super) async fn login(setup: &Setup, sources: &McpSourceArgs, name: &str, json: bool) -> Result<(), CliError> {
    let (cwd, access) = (working_folder(None)?, setup.sources().access(&protocol::SessionOptions::default())?);
    let set = setup.sources().mcp_servers(&cwd, sources.sources(), sources.strict_mcp_config)?;
    set.require_ready(name)?;
    let mut config = set.config(&access.program_env, setup.env.network_route(), &cwd, &setup.home);
    config.servers.retain(|server| server.name == name && server.agent.is_none());
    let mut settings = config.servers.iter_mut().filter_map(|server| server.settings.as_mut().ok());
    // The user signs in while the server starts.
    let settings = settings.next().map(|settings| {
        settings.start_timeout += mcp::LOGIN_TIMEOUT;
        &*settings
    });
    let oauth = settings.and_then(|settings| match &settings.address {
        McpAddress::Url { oauth, .. } => Some(oauth),
        McpAddress::Program(_) => None,
    });
    let port = oauth.and_then(|oauth| oauth.callback_port);
    let callback = LoginCallback::listen(port)
        .await
        .map_err(|error| settings_failure(format!("cannot listen for the browser: {error}")))?;
    let prompter = Arc::new(TerminalLogin { callback, json });
    config.logins = McpLogins { prompter: Some(prompter), ..config.logins };
    let guardian = Guardian::new("/proc/self/exe".into());
    let servers = McpServers::new(config);
    let outcome = servers.log_in(name, &guardian).await.ok_or_else(|| McpServerSet::unknown(name))?;
    servers.close().await;
    let outcome = outcome.map_err(|why| settings_failure(format!("the MCP server `{name}`: {why}")))?;
    show(name, outcome, json);
    Ok(())
}

fn show(name: &str, outcome: LoginOutcome, json: bool) {
    match (outcome, json) {
        (LoginOutcome::SignedIn { tools }, true) => {
            print::json(&json!({ "name": name, "state": "signed-in", "tools": tools }));
        }
        (LoginOutcome::NotNeeded, true) => print::json(&json!({ "name": name, "state": "not-needed" })),
        (LoginOutcome::SignedIn { tools }, false) => {
            print::output(format_args!("{name}: signed in; it has {}", print::pluralize(tools, "tool")));
        }
        (LoginOutcome::NotNeeded, false) => print::output(format_args!("{name}: it needs no login")),
    }
}

pub(super) async fn logout(setup: &Setup, sources: &McpSourceArgs, name: &str) -> Result<(), CliError> {
    let set = setup.sources().mcp_servers(&working_folder(None)?, sources.sources(), sources.strict_mcp_config)?;
    let server = set.servers.iter().find(|server| server.name == name).ok_or_else(|| McpServerSet::unknown(name))?;
    let Some((url, oauth)) = address_of(server) else {
        return Err(CliError::usage(format!("the MCP server `{name}` has no login, since it is not used by its URL")));
    };
    let (store, route) = (LoginStore::new(setup.home.clone()), setup.env.network_route());
    let logged_out = mcp::log_out(&store, (name, &url), &oauth, route, &SystemClock).await;
    match logged_out.map_err(settings_failure)? {
        (true, None) => print::note(format_args!("{name}: signed out")),
        (true, Some(error)) => print::note(print::sanitize(&format!(
            "{name}: signed out here, but its authorization server keeps the token until it expires: {error}"
        ))),
        (false, _) => print::note(format_args!("{name}: there was no login")),
    }
    Ok(())
}

/// The address of a server, and how to sign in to it. One that cannot be used may have had a login.
fn address_of(server: &ListedMcpServer) -> Option<(String, McpOAuthSettings)> {
    match &server.state {
        McpServerState::Ready(settings) | McpServerState::Disabled(Ok(settings)) => match &settings.address {
            McpAddress::Url { url, oauth, .. } => Some((url.clone(), (**oauth).clone())),
            McpAddress::Program(_) => None,
        },
        McpServerState::Disabled(Err(_)) | McpServerState::Unusable(_) => {
            server.address.contains("://").then(|| (server.address.clone(), McpOAuthSettings::default()))
        }
    }
}

/// Shows the login page's address, and waits until the browser comes back, or the user pastes where it was sent.
#[derive(Debug)]
struct TerminalLogin {
    callback: LoginCallback,
    json: bool,
}

impl LoginPrompter for TerminalLogin {
    fn redirect_uri(&self) -> String {
        self.callback.uri()
    }

    fn log_in<'a>(&'a self, request: &'a LoginRequest) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(async move {
            match self.json {
                true => print::json(&json!({ "state": "waiting", "url": request.url })),
                false => print::note(print::sanitize(&format!(
                    "open this address in a browser, and sign in:\n\n{}\n\n\
                     if the browser is on another machine, paste the address that it ends at here",
                    request.url
                ))),
            }
            let mut pasted = pasted_addresses();
            tokio::select! {
                answer = self.callback.wait(&request.state) => {
                    answer.map_err(|error| format!("cannot listen for the browser: {error}"))
                }
                Some(address) = pasted.recv() => Ok(address),
            }
        })
    }
}

/// The lines of standard input that may be addresses. The thread that reads them ends with the process.
fn pasted_addresses() -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel(1);
    std::thread::spawn(move || {
        let lines = std::io::stdin().lock().lines().map_while(Result::ok);
        for line in lines.filter(|line| line.trim_start().starts_with("http")) {
            if sender.blocking_send(line).is_err() {
                return;
            }
        }
    });
    receiver
}
