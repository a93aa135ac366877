//! `bosun service`: the session host as a systemd user unit, which starts with the user's first login.

mod systemctl;
mod unit;

use std::path::PathBuf;
use std::{fs, io};

use host::Home;
use serde_json::json;
use tui::print;

use crate::args::ServiceCommand;
use crate::error::CliError;
use crate::exit::CommandExit;
use crate::setup::Setup;
use systemctl::Systemctl;
use unit::{UNIT_NAME, is_own_unit, unit_text};

/// Runs `bosun service`.
pub(crate) async fn perform(command: ServiceCommand) -> Result<CommandExit, CliError> {
    let setup = Setup::read()?;
    let path = unit_path(&setup)?;
    match command {
        ServiceCommand::Install { no_start } => install(&setup, path, !no_start).await,
        ServiceCommand::Uninstall => uninstall(&setup, path).await,
        ServiceCommand::Status { json } => show(&setup, path, json).await,
    }
}

/// The path of the unit in the user's configuration.
fn unit_path(setup: &Setup) -> Result<PathBuf, CliError> {
    let configured = setup.env.config_folder();
    let folder =
        configured.ok_or_else(|| CliError::usage("HOME is not set").with_hint("set it to your home folder"))?;
    Ok(folder.join("systemd").join("user").join(UNIT_NAME))
}

async fn install(setup: &Setup, path: PathBuf, starts: bool) -> Result<CommandExit, CliError> {
    let systemctl = Systemctl::new(setup);
    if starts {
        systemctl.require().await?;
    }
    if fs::read_to_string(&path).is_ok_and(|text| !is_own_unit(&text)) {
        return Err(CliError::usage(format!("{} exists and was not written by bosun", path.display()))
            .with_hint("move it away, and try again"));
    }
    let program = std::env::current_exe()?;
    write(&path, &unit_text(&program, setup.home.root()))
        .map_err(|error| CliError::failed(format!("cannot write {}: {error}", path.display())))?;
    print::note(format_args!("wrote {}", path.display()));
    if !starts {
        print::note(format_args!(
            "start it with: systemctl --user daemon-reload && systemctl --user enable --now {UNIT_NAME}"
        ));
        return Ok(CommandExit::Success);
    }
    systemctl.run_shown(&["daemon-reload"]).await?;
    systemctl.run_shown(&["enable", "--now", UNIT_NAME]).await?;
    print::note(format_args!("keys that the sessions need go into {}", environment_file(&setup.home).display()));
    Ok(CommandExit::Success)
}

async fn uninstall(setup: &Setup, path: PathBuf) -> Result<CommandExit, CliError> {
    match fs::read_to_string(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            print::note("the service is not installed");
            return Ok(CommandExit::Success);
        }
        Ok(text) if !is_own_unit(&text) => {
            return Err(CliError::usage(format!("{} was not written by bosun", path.display()))
                .with_hint("remove it yourself, if it is no longer used"));
        }
        Ok(_) | Err(_) => {}
    }
    let systemctl = Systemctl::new(setup);
    let has_systemd = systemctl.require().await.is_ok();
    if has_systemd {
        systemctl.run_shown(&["disable", "--now", UNIT_NAME]).await?;
    }
    fs::remove_file(&path).map_err(|error| CliError::failed(format!("cannot remove {}: {error}", path.display())))?;
    print::note(format_args!("removed {}", path.display()));
    if has_systemd {
        systemctl.run_shown(&["daemon-reload"]).await?;
    }
    Ok(CommandExit::Success)
}

async fn show(setup: &Setup, path: PathBuf, json: bool) -> Result<CommandExit, CliError> {
    let is_installed = path.exists();
    let systemctl = Systemctl::new(setup);
    let (enabled, active) = match systemctl.require().await {
        Ok(()) => (systemctl.answer("is-enabled").await, systemctl.answer("is-active").await),
        Err(_absent) => (None, None),
    };
    if json {
        print::json(&json!({ "unit": path, "installed": is_installed, "enabled": enabled, "active": active }));
        return Ok(CommandExit::Success);
    }
    let installed = if is_installed { "installed" } else { "not installed" };
    print::row(format_args!("{} is {installed}", path.display()));
    match (enabled, active) {
        (Some(enabled), Some(active)) => print::row(format_args!("{enabled}, {active}")),
        (_, _) => print::row("systemd does not run services for this user"),
    }
    Ok(CommandExit::Success)
}

/// The file with variables for the service, such as keys.
fn environment_file(home: &Home) -> PathBuf {
    home.root().join(unit::ENVIRONMENT_FILE)
}

fn write(path: &std::path::Path, text: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, text)
}
