//! Joins the work of a todo's dependencies into the commit that its worker starts from.

use git::{Commit, Git, MergeOutcome, MergePart, ResolveOutcome, Signature};

use super::error::{MergeError, Unresolved};
use super::merge_session::MergeSession;

/// The author of merge commits.
pub(super) fn signature() -> Signature {
    Signature { name: "Bosun".into(), email: "bosun@bosun.invalid".into() }
}

/// Merges the parts onto the base. Each conflict goes to an agent once.
pub(super) async fn join_parts(
    git: &Git,
    base: &Commit,
    parts: &[MergePart],
    session: &dyn MergeSession,
) -> Result<Commit, MergeError> {
    let author = signature();
    let mut tip = base.clone();
    for part in parts {
        let merged = git::merge(git, &tip, part, &author).await?;
        tip = match merged {
            MergeOutcome::Merged(commit) => commit,
            MergeOutcome::Conflict(conflict) => {
                let conflicts = |why| {
                    let (dependency, files) = (part.name.clone(), conflict.files.join(", "));
                    MergeError::Conflict { dependency, files, why }
                };
                let start = conflict.start_commit(git, &author).await?;
                let resolution = session.resolve(&conflict, &start).await.map_err(conflicts)?;
                match conflict.resolve(git, &resolution, &author).await? {
                    ResolveOutcome::Merged(commit) => commit,
                    ResolveOutcome::MarkersLeft(files) => return Err(conflicts(Unresolved::MarkersLeft(files))),
                }
            }
        };
    }
    Ok(tip)
}
