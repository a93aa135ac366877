//! External tasks over the API: work that clients do themselves, as they register and report it.

use kernel::{ExternalTaskClaim, ExternalTaskUpdate, KernelInput};
use protocol::api::{ExternalTaskChange, ExternalTaskResult, RegisterTaskParams, ReportTaskParams};
use protocol::{ExternalReport, ExternalTaskSpec, TaskId};

use crate::session_context::SessionContext;
use crate::spawn::SpawnBuilder;
use crate::supervisor::{InputRejection, Supervisor};

/// Starts an external task, or claims the one that has this name. Calls that change external tasks run one after the
/// other, so the comparison shows the effect of this one.
pub(crate) async fn register(
    context: &SessionContext,
    supervisor: &Supervisor,
    params: RegisterTaskParams,
) -> Result<ExternalTaskResult, InputRejection> {
    let RegisterTaskParams { id, title, description, cancellable, owner, expected } = params;
    let spec = ExternalTaskSpec { id: id.clone(), title, cancellable, owner };
    let known = supervisor.query(move |kernel| kernel.external_task(&id).map(|task| task.id)).await?;
    let Some(task) = known else {
        let spawn = SpawnBuilder::external(spec).describe(&description).prompt(description).build(context);
        let task = spawn.id;
        supervisor.submit(KernelInput::Spawn(spawn)).await?;
        return Ok(ExternalTaskResult { task, change: ExternalTaskChange::Created });
    };
    let before = report_of(supervisor, task).await?;
    supervisor.submit(KernelInput::ClaimExternalTask(ExternalTaskClaim { task, spec, expected })).await?;
    let is_same = report_of(supervisor, task).await? == before;
    let change = if is_same { ExternalTaskChange::Unchanged } else { ExternalTaskChange::Claimed };
    Ok(ExternalTaskResult { task, change })
}

/// Applies a client's report on its external task.
pub(crate) async fn report(
    supervisor: &Supervisor,
    params: ReportTaskParams,
) -> Result<ExternalTaskResult, InputRejection> {
    let ReportTaskParams { task, owner, sequence, progress } = params;
    let before = report_of(supervisor, task).await?;
    let update = ExternalTaskUpdate { task, owner, sequence, progress };
    supervisor.submit(KernelInput::UpdateExternalTask(update)).await?;
    let is_same = report_of(supervisor, task).await? == before;
    let change = if is_same { ExternalTaskChange::Unchanged } else { ExternalTaskChange::Reported };
    Ok(ExternalTaskResult { task, change })
}

async fn report_of(supervisor: &Supervisor, task: TaskId) -> Result<Option<Box<ExternalReport>>, InputRejection> {
    supervisor.query(move |kernel| kernel.task(task).and_then(|task| task.external.clone())).await
}
