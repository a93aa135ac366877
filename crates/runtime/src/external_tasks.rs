//! External tasks over the API: what clients do themselves, as the session keeps it.

use kernel::KernelInput;
use protocol::ExternalTaskId;
use protocol::api::{
    ExternalTaskChange, ExternalTaskResult, ExternalTaskUpdate, ExternalTasksResult, RegisterExternalTaskParams,
};

use crate::supervisor::{InputRejection, Supervisor};

/// Every external task that the session keeps.
pub(crate) async fn list(supervisor: &Supervisor) -> Result<ExternalTasksResult, InputRejection> {
    let external_tasks = supervisor.query(|kernel| kernel.external_tasks().cloned().collect()).await?;
    Ok(ExternalTasksResult { external_tasks })
}

/// Begins an external task, or takes one up again. Calls that change external tasks come one after the other, so that what is
/// compared is what this one did.
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

/// Takes what a client says of its external task.
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
