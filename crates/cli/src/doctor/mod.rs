//! `bosun doctor`: what works here, and what to do about the rest. It looks and never writes, and whatever is broken is
//! reported instead of ending it.

mod agents;
mod check;
mod git;
mod home;
mod limits;
mod machine;
mod models;
mod programs;
mod project;
mod sandbox;
mod scene;
mod settings;
mod show;

use crate::args::DoctorArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use check::{Check, Report};
pub(crate) use git::is_old as is_old_git;
use programs::Starter;
use scene::Scene;

pub(crate) async fn examine(args: &DoctorArgs) -> Result<Exit, Failure> {
    let (scene, mut checks) = Scene::read();
    checks.extend(settings::checks(&scene));
    checks.extend(home::checks(&scene));
    let starter = Starter::new(&scene);
    // Servers and programs are waited for together.
    let (models, git, sandbox) = tokio::join!(models::checks(&scene), git::check(&starter), sandbox::checks(&starter));
    checks.extend(models);
    checks.extend(project::checks(&scene));
    checks.extend(agents::checks(&scene));
    checks.push(git);
    checks.extend(sandbox);
    checks.extend(machine::checks(&scene));
    checks.extend(limits::checks());
    let report = Report::new(checks);
    if args.json {
        crate::print::json(&report);
    } else {
        show::show(&report);
    }
    Ok(if report.failed() { Exit::Failed } else { Exit::Success })
}
