//! The uncommitted files that the workers of a fleet do not see, since they have their own checkouts.

use std::path::Path;

use git::{Git, Repository};
use protocol::api::UncommittedFiles;
use protocol::{Event, FleetConfig, Refusal, TaskId};

use crate::session_context::SessionContext;

/// The maximum number of files that are named.
const MAX_NAMED_FILES: usize = 1_000;

/// The uncommitted files that the workers of the latest fleet do not see, without the plan that it was read from.
pub(crate) async fn uncommitted_files(context: &SessionContext, root: TaskId) -> Result<UncommittedFiles, Refusal> {
    let config = latest_config(context, root)?;
    let Some(config) = config.filter(|config| config.isolated && !config.dirty) else {
        return Ok(UncommittedFiles::default());
    };
    let git = Git::new(context.workplace.guardian.clone(), &context.facts.cwd, &context.workplace.env);
    let repository = Repository::find(&git).await.map_err(Refusal::new)?;
    let plan = config.plan.and_then(|plan| Path::new(&plan).canonicalize().ok());
    let is_plan = |name: &String| plan.as_deref() == Some(&repository.top().join(name));
    let mut files = repository.uncommitted().await.map_err(Refusal::new)?;
    files.retain(|name| !is_plan(name));
    let total = files.len() as u64;
    files.truncate(MAX_NAMED_FILES);
    Ok(UncommittedFiles { files, total })
}

fn latest_config(context: &SessionContext, root: TaskId) -> Result<Option<FleetConfig>, Refusal> {
    let began = |event: Event| match event {
        Event::FleetBegan(config) => Some(config),
        _other => None,
    };
    let log = context.log.reader().and_then(|reader| reader.task_events(root)).map_err(Refusal::new)?;
    Ok(log.into_iter().rev().find_map(|envelope| began(envelope.entry.event)))
}
