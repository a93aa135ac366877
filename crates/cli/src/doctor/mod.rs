//! `bosun doctor`: what works here, and what to do about the rest. It looks and never writes, and whatever is broken is
//! reported instead of ending it.

mod agents;
mod check;
mod context;
mod git;
mod home;
mod limits;
mod machine;
mod models;
mod programs;
mod project;
mod sandbox;
mod settings;
mod show;

use crate::args::DoctorArgs;
use crate::error::CliError;
use crate::exit::CommandExit;
use check::{DoctorCheck, DoctorReport};
use context::DoctorContext;
pub(crate) use git::is_old as is_old_git;
use programs::ProgramRunner;

pub(crate) async fn examine(args: &DoctorArgs) -> Result<CommandExit, CliError> {
    let (scene, mut checks) = DoctorContext::read();
    checks.extend(settings::checks(&scene));
    checks.extend(home::checks(&scene));
    let starter = ProgramRunner::new(&scene);
    // Servers and programs are waited for together.
    let (models, git, sandbox) = tokio::join!(models::checks(&scene), git::check(&starter), sandbox::checks(&starter));
    checks.extend(models);
    checks.extend(project::checks(&scene));
    checks.extend(agents::checks(&scene));
    checks.push(git);
    checks.extend(sandbox);
    checks.extend(machine::checks(&scene));
    checks.extend(limits::checks());
    let report = DoctorReport::new(checks);
    if args.json {
        crate::print::json(&report);
    } else {
        show::print_report(&report);
    }
    Ok(if report.has_failures() { CommandExit::Failed } else { CommandExit::Success })
}
