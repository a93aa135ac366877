//! All checks, in the order in which a user reads them.

use protocol::api::DoctorResult;
use runtime::Redactor;

use super::programs::ProgramRunner;
use super::{
    DoctorContext, agents, git, home, limits, machine, mcp_servers, models, project, sandbox, session_host, settings,
};
use crate::env::Env;

/// Checks the installation, with the folder of this process. Servers and programs that do not answer cost a few seconds.
pub async fn check_installation(env: &Env) -> DoctorResult {
    let (context, setting_problems) = DoctorContext::read(env);
    let runner = ProgramRunner::new(&context);
    // Wait for servers and programs at the same time.
    let (models, git, sandbox) = tokio::join!(models::checks(&context), git::check(&runner), sandbox::checks(&runner));
    // What a first run needs comes first.
    let mut checks = models;
    checks.push(git);
    checks.extend(setting_problems);
    checks.extend(settings::checks(&context));
    checks.extend(home::checks(&context));
    checks.extend(session_host::checks(&context).await);
    checks.extend(project::checks(&context));
    checks.extend(mcp_servers::checks(&context));
    checks.extend(agents::checks(&context));
    checks.extend(sandbox);
    checks.extend(machine::checks(&context));
    checks.extend(limits::checks());
    let redactor = Redactor::new(&context.config.secrets(&context.env));
    DoctorResult {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        checks: checks.into_iter().map(|check| check.view(&redactor)).collect(),
    }
}
