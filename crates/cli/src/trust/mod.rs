//! `bosun trust`: whether the files of a project may change what Bosun does. Trust is given to them as they are: when
//! one changes, it is gone.

mod show;

use std::io::{self, BufRead, IsTerminal, Write};

use config::{Entrusted, Project, Standing};
use host::{Clock, SystemClock};
use store::{Trust, TrustRow};

use crate::args::TrustArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::print;
use crate::setup::{Setup, folder, refused};
use show::Shown;

pub(crate) fn perform(args: &TrustArgs) -> Result<Exit, Failure> {
    let setup = Setup::read()?;
    if args.list {
        return show::list(&setup, args.json);
    }
    let folder = folder(args.folder.as_deref());
    let folder = folder.map_err(|failure| failure.hint("name the folder of a project: bosun trust DIR"))?;
    let project = Project::find(&folder);
    if args.revoke { revoke(&setup, &project) } else { consider(&setup, &project, args) }
}

fn revoke(setup: &Setup, project: &Project) -> Result<Exit, Failure> {
    let top = print::plain(&project.top.display().to_string());
    if Trust::open(&setup.home)?.remove(&name(project)?)? {
        print::note(format_args!("{top} is not trusted any more"));
    } else {
        print::note(format_args!("{top} was not trusted"));
    }
    Ok(Exit::Success)
}

/// Shows what a project would do, and trusts it if a person says so.
fn consider(setup: &Setup, project: &Project, args: &TrustArgs) -> Result<Exit, Failure> {
    // The digest comes first: what changes while a person looks is not trusted.
    let entrusted = Entrusted::read(&project.top, setup.home.root()).map_err(refused)?;
    let standing = setup.standing(project);
    let shown = Shown::new(setup, project, &entrusted, standing)?;
    if !args.yes || !args.json {
        shown.print(args.json);
    }
    if args.show || entrusted.files.is_empty() || standing == Standing::Trusted {
        return Ok(Exit::Success);
    }
    if !args.yes && !confirmed()? {
        print::note("nothing is trusted");
        return Ok(Exit::Cancelled);
    }
    let row = TrustRow { top: name(project)?, digest: entrusted.digest, at: SystemClock.now() };
    Trust::open(&setup.home)?.add(&row)?;
    if args.json {
        shown.trusted().print(true);
    } else {
        print::note("trusted, as long as these files stay as they are; `bosun trust --revoke` takes it back");
    }
    Ok(Exit::Success)
}

/// Asks the person at the terminal.
fn confirmed() -> Result<bool, Failure> {
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return Err(Failure::usage("nobody is there to say whether this project is trusted")
            .hint("look at it with `bosun trust --show`, then use `bosun trust --yes`"));
    }
    let mut stderr = io::stderr().lock();
    write!(stderr, "Trust these files as they are? [y/N] ").and_then(|()| stderr.flush())?;
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    Ok(matches!(line.trim(), "y" | "Y" | "yes"))
}

fn name(project: &Project) -> Result<String, Failure> {
    let unnamed = || Failure::usage(format!("the name of {} is not UTF-8 text", project.top.display()));
    project.top.to_str().map(str::to_owned).ok_or_else(unnamed)
}
