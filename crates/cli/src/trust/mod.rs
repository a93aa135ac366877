//! `bosun trust`: decides whether the files of a project may control Bosun. Trust applies to their current contents: a
//! change to any of them ends it.

mod show;

use std::io::{self, BufRead, IsTerminal, Write};

use client::TrustRow;
use config::{Project, TrustStatus, TrustedContents};
use host::{Clock, SystemClock};
use protocol::api::{ProjectTrust, TrustState};
use tui::print;

use crate::args::TrustArgs;
use crate::error::CliError;
use crate::exit::CommandExit;
use crate::setup::{Setup, settings_failure, working_folder};

pub(crate) use show::trusted_projects;

pub(crate) fn perform(args: &TrustArgs) -> Result<CommandExit, CliError> {
    let setup = Setup::read()?;
    if args.list {
        return show::list(&setup, args.json);
    }
    let folder = working_folder(args.folder.as_deref());
    let folder = folder.map_err(|failure| failure.with_hint("name the folder of a project: bosun trust DIR"))?;
    let project = Project::find(&folder);
    if args.revoke { revoke(&setup, &project) } else { review_and_trust(&setup, &project, args) }
}

fn revoke(setup: &Setup, project: &Project) -> Result<CommandExit, CliError> {
    let top = print::sanitize(&project.dir.display().to_string());
    if remove(setup, project)? {
        print::note(format_args!("{top} is no longer trusted"));
    } else {
        print::note(format_args!("{top} was not trusted"));
    }
    Ok(CommandExit::Success)
}

/// Stops trusting a project; returns whether it was trusted.
pub(crate) fn remove(setup: &Setup, project: &Project) -> Result<bool, CliError> {
    Ok(client::trust::remove(&setup.home, &project_name(project)?)?)
}

/// What a project's files control, and whether the user trusts them.
pub(crate) fn view(setup: &Setup, project: &Project) -> Result<ProjectTrust, CliError> {
    let contents = TrustedContents::read(&project.dir, setup.home.root()).map_err(settings_failure)?;
    show::project_trust(setup, project, &contents, TrustStatus::look_up(&setup.home, project))
}

/// Trusts a project with the files that the user has reviewed.
pub(crate) fn add(setup: &Setup, project: &Project, digest: String) -> Result<ProjectTrust, CliError> {
    let reviewed = view(setup, project)?;
    if reviewed.digest != digest {
        return Err(CliError::usage("the files of the project are not the ones that were reviewed")
            .with_hint("review them again, and use the new digest"));
    }
    trust_contents(setup, project, digest)?;
    view(setup, project)
}

fn trust_contents(setup: &Setup, project: &Project, digest: String) -> Result<(), CliError> {
    let row = TrustRow { top: project_name(project)?, digest, at: SystemClock.now() };
    Ok(client::trust::add(&setup.home, &row)?)
}

/// Shows what a project's files would do, and trusts them if the user confirms.
fn review_and_trust(setup: &Setup, project: &Project, args: &TrustArgs) -> Result<CommandExit, CliError> {
    // Read the digest first: files that change during the review are not trusted.
    let contents = TrustedContents::read(&project.dir, setup.home.root()).map_err(settings_failure)?;
    let status = TrustStatus::look_up(&setup.home, project);
    let report = show::project_trust(setup, project, &contents, status)?;
    if !args.yes || !args.json {
        show::print_project(&report, args.json);
    }
    if args.show || contents.files.is_empty() || status == TrustStatus::Trusted {
        return Ok(CommandExit::Success);
    }
    if !args.yes && !ask_confirmation()? {
        print::note("the project is not trusted");
        return Ok(CommandExit::Cancelled);
    }
    trust_contents(setup, project, contents.digest)?;
    if args.json {
        show::print_project(&ProjectTrust { trust: TrustState::Trusted, ..report }, true);
    } else {
        print::note("trusted until one of these files changes; `bosun trust --revoke` revokes it");
    }
    Ok(CommandExit::Success)
}

/// Asks the user at the terminal.
fn ask_confirmation() -> Result<bool, CliError> {
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return Err(CliError::usage("cannot ask whether to trust this project: there is no terminal")
            .with_hint("review it with `bosun trust --show`, then use `bosun trust --yes`"));
    }
    let mut stderr = io::stderr().lock();
    write!(stderr, "Trust these files as they are? [y/N] ").and_then(|()| stderr.flush())?;
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    Ok(matches!(line.trim(), "y" | "Y" | "yes"))
}

fn project_name(project: &Project) -> Result<String, CliError> {
    let unnamed = || CliError::usage(format!("the name of {} is not UTF-8 text", project.dir.display()));
    project.dir.to_str().map(str::to_owned).ok_or_else(unnamed)
}
