//! Errands over the API: what clients do themselves, as the session keeps it.

use kernel::Input;
use protocol::ErrandId;
use protocol::api::{ErrandChange, ErrandParams, ErrandResult, ErrandUpdate, ErrandsResult};

use crate::supervisor::{Rejected, Supervisor};

/// Every errand that the session keeps.
pub(crate) async fn list(supervisor: &Supervisor) -> Result<ErrandsResult, Rejected> {
    let errands = supervisor.look(|kernel| kernel.errands().cloned().collect()).await?;
    Ok(ErrandsResult { errands })
}

/// Begins an errand, or takes one up again. Calls that change errands come one after the other, so that what is
/// compared is what this one did.
pub(crate) async fn register(supervisor: &Supervisor, params: ErrandParams) -> Result<ErrandResult, Rejected> {
    let id = params.id.clone();
    let before = find(supervisor, &id).await?;
    supervisor.submit(Input::Errand(params)).await?;
    let errand = find(supervisor, &id).await?.ok_or(kernel::Refusal::NoErrand(id))?;
    let change = match before {
        None => ErrandChange::Made,
        Some(before) if before == errand => ErrandChange::Known,
        Some(_) => ErrandChange::Reclaimed,
    };
    Ok(ErrandResult { errand, change })
}

/// Takes what a client says of its errand.
pub(crate) async fn update(supervisor: &Supervisor, update: ErrandUpdate) -> Result<ErrandResult, Rejected> {
    let id = update.id.clone();
    let before = find(supervisor, &id).await?;
    supervisor.submit(Input::TellErrand(update)).await?;
    let errand = find(supervisor, &id).await?.ok_or(kernel::Refusal::NoErrand(id))?;
    let change = if before.as_ref() == Some(&errand) { ErrandChange::Known } else { ErrandChange::Told };
    Ok(ErrandResult { errand, change })
}

async fn find(supervisor: &Supervisor, id: &ErrandId) -> Result<Option<protocol::Errand>, Rejected> {
    let id = id.clone();
    supervisor.look(move |kernel| kernel.errand(&id).cloned()).await
}
