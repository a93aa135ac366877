//! `bosun serve`: runs the HTTP adapter until a signal ends it.

mod token;

use std::io;
use std::sync::Arc;

use ::adapters::http::{HttpLimits, HttpListener, openapi};
use serde_json::json;
use server::SessionHost;

use crate::args::ServeArgs;
use crate::error::CliError;
use crate::exit::CommandExit;
use crate::print;
use crate::run::{RunSignal, SignalListener};
use crate::sdk::LocalSessionOpener;
use crate::setup::Setup;
use token::{ServerToken, load_or_create};

/// Serves HTTP until a signal arrives. Sessions that are running then can be resumed.
pub(crate) async fn serve(args: ServeArgs) -> Result<CommandExit, CliError> {
    if args.openapi {
        print::json(openapi());
        return Ok(CommandExit::Success);
    }
    let setup = Setup::read()?;
    let token = load_or_create(args.token_file.as_deref())?;
    if let Some(file) = &args.token_file {
        // A reader of this file could act for the user on the server.
        config::remember_token_file(setup.home.root(), file)
            .map_err(|error| CliError::failed(format!("cannot hide {} from agents: {error}", file.display())))?;
    }
    let limits = HttpLimits::default();
    let sessions = SessionHost::new(Arc::new(LocalSessionOpener::new(setup)), limits.sessions);
    let listener = HttpListener::bind(args.port).await.map_err(|error| bind_failure(args.port, &error))?;
    let mut signals = SignalListener::listen()?;
    announce(&listener.url(), &token, args.json);
    let end = async move {
        match signals.next().await {
            RunSignal::Interrupt | RunSignal::End => {}
        }
    };
    let served = listener.serve(sessions, token.token, limits, end).await;
    served.map_err(|error| CliError::failed(format!("cannot serve: {error}")))?;
    Ok(CommandExit::Success)
}

/// Prints the URL, and the token if it is not in a file.
fn announce(url: &str, server_token: &ServerToken, json: bool) {
    if json {
        return print::json(&json!({ "url": url, "token": server_token.secret, "tokenFile": server_token.file }));
    }
    let token = match (&server_token.secret, &server_token.file) {
        (Some(secret), _) => secret.clone(),
        (None, file) => format!("$(cat '{}')", file.as_deref().unwrap_or_default()),
    };
    print::output(format_args!("listening on {url}"));
    print::output(format_args!("curl -H \"Authorization: Bearer {token}\" {url}/v1/sessions"));
}

fn bind_failure(port: u16, error: &io::Error) -> CliError {
    let failure = CliError::usage(format!("cannot listen on port {port}: {error}"));
    failure.with_hint("choose another with --port, or leave it out for any free port")
}
