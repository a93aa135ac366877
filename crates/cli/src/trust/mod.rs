//! `bosun trust`: decides whether the files of a project may control Bosun. Trust applies to their current contents: a
//! change to any of them ends it.

mod show;

use std::io::{self, BufRead, IsTerminal, Write};

use config::Project;
use protocol::api::TrustState;
use tui::print;

use crate::args::TrustArgs;
use crate::error::CliError;
use crate::exit::CommandExit;
use crate::setup::{Setup, working_folder};

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
    if setup.sources().distrust_project(project)? {
        print::note(format_args!("{top} is no longer trusted"));
    } else {
        print::note(format_args!("{top} was not trusted"));
    }
    Ok(CommandExit::Success)
}

/// Shows what a project's files would do, and trusts them if the user confirms.
fn review_and_trust(setup: &Setup, project: &Project, args: &TrustArgs) -> Result<CommandExit, CliError> {
    // Files that change during the review are not trusted: they have another digest.
    let reviewed = setup.sources().project_trust(project)?;
    if !args.yes || !args.json {
        show::print_project(&reviewed, args.json);
    }
    if args.show || reviewed.files.is_empty() || reviewed.trust == TrustState::Trusted {
        return Ok(CommandExit::Success);
    }
    if !args.yes && !ask_confirmation()? {
        print::note("the project is not trusted");
        return Ok(CommandExit::Cancelled);
    }
    let trusted = setup.sources().trust_project(project, &reviewed.digest)?;
    if args.json {
        show::print_project(&trusted, args.json);
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
