//! `bosun serve`: the HTTP door, until somebody ends it.

mod token;

use std::io;
use std::sync::Arc;

use ::doors::http::{Limits, Listener, openapi};
use serde_json::json;

use crate::args::ServeArgs;
use crate::doors::Quarters;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::print;
use crate::run::{Signal, Signals};
use crate::setup::Setup;
use token::{Kept, keep};

/// Serves HTTP until a signal comes. The sessions that run then are left, and can be resumed.
pub(crate) async fn serve(args: ServeArgs) -> Result<Exit, Failure> {
    if args.openapi {
        print::json(openapi());
        return Ok(Exit::Success);
    }
    let setup = Setup::read()?;
    let kept = keep(args.token_file.as_deref())?;
    if let Some(file) = &args.token_file {
        // Whoever reads it could speak to the server for the user.
        config::remember_token_file(setup.home.root(), file)
            .map_err(|error| Failure::failed(format!("cannot keep {} from agents: {error}", file.display())))?;
    }
    let house = Arc::new(Quarters::new(setup));
    let listener = Listener::bind(args.port).await.map_err(|error| unbound(args.port, &error))?;
    let mut signals = Signals::listen()?;
    announce(&listener.url(), &kept, args.json);
    let end = async move {
        match signals.next().await {
            Signal::Interrupt | Signal::End => {}
        }
    };
    let served = listener.serve(house, kept.token, Limits::default(), end).await;
    served.map_err(|error| Failure::failed(format!("cannot serve: {error}")))?;
    Ok(Exit::Success)
}

/// Says where it listens, and the token if it is nowhere else.
fn announce(url: &str, kept: &Kept, json: bool) {
    if json {
        return print::json(&json!({ "url": url, "token": kept.word, "tokenFile": kept.file }));
    }
    let token = match (&kept.word, &kept.file) {
        (Some(word), _) => word.clone(),
        (None, file) => format!("$(cat '{}')", file.as_deref().unwrap_or_default()),
    };
    print::answer(format_args!("listening on {url}"));
    print::answer(format_args!("curl -H \"Authorization: Bearer {token}\" {url}/v1/sessions"));
}

fn unbound(port: u16, error: &io::Error) -> Failure {
    let failure = Failure::usage(format!("cannot listen on port {port}: {error}"));
    failure.hint("choose another with --port, or leave it out to get any that is free")
}
