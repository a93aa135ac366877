//! `bosun sdk`: serves programs that use the SDKs of other agents.

mod install;
mod session_opener;

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::Arc;

use adapters::AdapterExit;
use adapters::copilot::CopilotProviderParams;
use config::CopilotProvider;
use model::ClientProvider;
pub(crate) use session_opener::{LocalSessionOpener, refusal};

use crate::args::{AdapterArgs, SdkCommand, SdkFamily};
use crate::error::CliError;
use crate::exit::CommandExit;
use crate::setup::Setup;

/// The SDK family to serve if this process was started as `bosun-claude` or `bosun-copilot`. `program` is `argv[0]`.
pub(crate) fn family_of_program(program: &OsStr) -> Option<SdkFamily> {
    match Path::new(program).file_name()?.to_str()? {
        "bosun-claude" => Some(SdkFamily::Claude),
        "bosun-copilot" => Some(SdkFamily::Copilot),
        _other => None,
    }
}

/// The `bosun sdk serve` command line that is equivalent to `bosun-claude` or `bosun-copilot` with these arguments.
pub(crate) fn adapter_command_line(
    family: SdkFamily,
    rest: impl Iterator<Item = OsString>,
) -> impl Iterator<Item = OsString> {
    let name = match family {
        SdkFamily::Claude => "claude",
        SdkFamily::Copilot => "copilot",
    };
    ["bosun", "sdk", "serve", name, "--"].into_iter().map(OsString::from).chain(rest)
}

/// Runs `bosun sdk`.
pub(crate) async fn perform(command: SdkCommand) -> Result<CommandExit, CliError> {
    match command {
        SdkCommand::Install { folder, json } => install::install(&folder, json),
        SdkCommand::Serve(args) => serve(args).await,
    }
}

/// Serves the client that started this process.
async fn serve(args: AdapterArgs) -> Result<CommandExit, CliError> {
    let setup = Setup::read()?;
    let token = setup.env.connection_token();
    let provider = match args.family {
        SdkFamily::Claude => None,
        SdkFamily::Copilot => setup.env.copilot_provider().map(environment_provider).transpose()?,
    };
    let opener = Arc::new(LocalSessionOpener::new(setup).with_provider(provider));
    let ended = match args.family {
        SdkFamily::Claude => adapters::claude::serve(opener, args.rest).await,
        SdkFamily::Copilot => adapters::copilot::serve(opener, args.rest, token).await,
    };
    Ok(match ended {
        AdapterExit::Success => CommandExit::Success,
        AdapterExit::Failed => CommandExit::Failed,
        AdapterExit::UsageError => CommandExit::Usage,
    })
}

/// The provider that the environment configures for sessions of the Copilot SDKs.
fn environment_provider(settings: CopilotProvider) -> Result<ClientProvider, CliError> {
    let CopilotProvider { base_url, kind, key, bearer, model } = settings;
    let params = CopilotProviderParams {
        base_url,
        kind,
        api_key: key,
        bearer_token: bearer,
        model_id: model,
        ..CopilotProviderParams::default()
    };
    params.into_provider().map_err(|reason| CliError::usage(format!("COPILOT_PROVIDER_*: {reason}")))
}
