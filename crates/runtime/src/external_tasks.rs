//! External tasks over the API: work that clients do themselves, as the session records it.

use kernel::KernelInput;
use protocol::ExternalTaskId;
use protocol::api::{
    ExternalTaskChange, ExternalTaskResult, ExternalTaskUpdate, ExternalTasksResult, RegisterExternalTaskParams,
};

use crate::supervisor::{InputRejection, Supervisor};

/// All external tasks that the session records.
pub(crate) async fn list(supervisor: &Supervisor) -> Result<ExternalTasksResult, InputRejection> {
    let external_tasks = supervisor.query(|kernel| kernel.external_tasks().cloned().collect()).await?;
    Ok(ExternalTasksResult { external_tasks })
}

/// Registers an external task, or claims an existing one again. Calls that change external tasks run one after the
/// other, so the comparison shows the effect of this one.
pub(crate) async fn register(
    supervisor: &Supervisor,
    params: RegisterExternalTaskParams,
) -> Result<ExternalTaskResult, InputRejection> {
    let id = params.id.clone();
    let before = find(supervisor, &id).await?;
    supervisor.submit(KernelInput::RegisterExternalTask(params)).await?;
    let external_task = find(supervisor, &id).await?.ok_or(kernel::InputRefusal::NoExternalTask(id))?;
    let change = match before {
        None => ExternalTaskChange::Created,
        Some(before) if before == external_task => ExternalTaskChange::Unchanged,
        Some(_) => ExternalTaskChange::Reclaimed,
    };
    Ok(ExternalTaskResult { external_task, change })
}

/// Applies a client's update of its external task.
pub(crate) async fn update(
    supervisor: &Supervisor,
    update: ExternalTaskUpdate,
) -> Result<ExternalTaskResult, InputRejection> {
    let id = update.id.clone();
    let before = find(supervisor, &id).await?;
    supervisor.submit(KernelInput::UpdateExternalTask(update)).await?;
    let external_task = find(supervisor, &id).await?.ok_or(kernel::InputRefusal::NoExternalTask(id))?;
    let change = if before.as_ref() == Some(&external_task) {
        ExternalTaskChange::Unchanged
    } else {
        ExternalTaskChange::Updated
    };
    Ok(ExternalTaskResult { external_task, change })
}

async fn find(supervisor: &Supervisor, id: &ExternalTaskId) -> Result<Option<protocol::ExternalTask>, InputRejection> {
    let id = id.clone();
    supervisor.query(move |kernel| kernel.external_task(&id).cloned()).await
}
