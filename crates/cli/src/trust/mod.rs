//! `bosun trust`: whether the files of a project may change what Bosun does. Trust is given to them as they are: when
//! one changes, it is gone.

mod show;

use std::io::{self, BufRead, IsTerminal, Write};

use config::{Project, TrustStatus, TrustedContents};
use host::{Clock, SystemClock};
use store::{TrustRow, TrustStore};

use crate::args::TrustArgs;
use crate::error::CliError;
use crate::exit::CommandExit;
use crate::print;
use crate::setup::{Setup, folder, settings_failure};
use show::ProjectTrustReport;

pub(crate) fn perform(args: &TrustArgs) -> Result<CommandExit, CliError> {
    let setup = Setup::read()?;
    if args.list {
        return show::list(&setup, args.json);
    }
    let folder = folder(args.folder.as_deref());
    let folder = folder.map_err(|failure| failure.with_hint("name the folder of a project: bosun trust DIR"))?;
    let project = Project::find(&folder);
    if args.revoke { revoke(&setup, &project) } else { review_and_trust(&setup, &project, args) }
}

fn revoke(setup: &Setup, project: &Project) -> Result<CommandExit, CliError> {
    let top = print::sanitize(&project.top.display().to_string());
    if TrustStore::open(&setup.home)?.remove(&project_name(project)?)? {
        print::note(format_args!("{top} is not trusted any more"));
    } else {
        print::note(format_args!("{top} was not trusted"));
    }
    Ok(CommandExit::Success)
}

/// Shows what a project would do, and trusts it if a person says so.
fn review_and_trust(setup: &Setup, project: &Project, args: &TrustArgs) -> Result<CommandExit, CliError> {
    // The digest comes first: what changes while a person looks is not trusted.
    let entrusted = TrustedContents::read(&project.top, setup.home.root()).map_err(settings_failure)?;
    let standing = setup.trust_status(project);
    let shown = ProjectTrustReport::new(setup, project, &entrusted, standing)?;
    if !args.yes || !args.json {
        shown.print(args.json);
    }
    if args.show || entrusted.files.is_empty() || standing == TrustStatus::Trusted {
        return Ok(CommandExit::Success);
    }
    if !args.yes && !ask_confirmation()? {
        print::note("nothing is trusted");
        return Ok(CommandExit::Cancelled);
    }
    let row = TrustRow { top: project_name(project)?, digest: entrusted.digest, at: SystemClock.now() };
    TrustStore::open(&setup.home)?.add(&row)?;
    if args.json {
        shown.into_trusted().print(true);
    } else {
        print::note("trusted, as long as these files stay as they are; `bosun trust --revoke` takes it back");
    }
    Ok(CommandExit::Success)
}

/// Asks the person at the terminal.
fn ask_confirmation() -> Result<bool, CliError> {
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return Err(CliError::usage("nobody is there to say whether this project is trusted")
            .with_hint("look at it with `bosun trust --show`, then use `bosun trust --yes`"));
    }
    let mut stderr = io::stderr().lock();
    write!(stderr, "Trust these files as they are? [y/N] ").and_then(|()| stderr.flush())?;
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    Ok(matches!(line.trim(), "y" | "Y" | "yes"))
}

fn project_name(project: &Project) -> Result<String, CliError> {
    let unnamed = || CliError::usage(format!("the name of {} is not UTF-8 text", project.top.display()));
    project.top.to_str().map(str::to_owned).ok_or_else(unnamed)
}
