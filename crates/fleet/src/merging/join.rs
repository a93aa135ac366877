//! Joins the work of a todo's dependencies into the commit that its worker starts from.

use git::{Commit, Git, MergeOutcome, MergePart, ResolveOutcome, Signature};

use super::merge_session::MergeSession;

/// The author of merge commits.
pub(super) fn signature() -> Signature {
    Signature { name: "Bosun".into(), email: "bosun@bosun.invalid".into() }
}

/// Merges the parts onto the base. Each conflict goes to an agent once; the error says why the parts cannot be joined.
pub(super) async fn join_parts(
    git: &Git,
    base: &Commit,
    parts: &[MergePart],
    session: &dyn MergeSession,
) -> Result<Commit, String> {
    let author = signature();
    let mut tip = base.clone();
    for part in parts {
        let merged = git::merge(git, &tip, part, &author).await.map_err(|error| error.to_string())?;
        tip = match merged {
            MergeOutcome::Merged(commit) => commit,
            MergeOutcome::Conflict(conflict) => {
                let conflicts = |why: String| {
                    format!(
                        "the work of its dependency {} conflicts with the rest in {}: {why}",
                        part.name,
                        conflict.files.join(", ")
                    )
                };
                let start = conflict.start_commit(git, &author).await.map_err(|error| error.to_string())?;
                let resolution = session.resolve(&conflict, &start).await.map_err(conflicts)?;
                match conflict.resolve(git, &resolution, &author).await.map_err(|error| error.to_string())? {
                    ResolveOutcome::Merged(commit) => commit,
                    ResolveOutcome::MarkersLeft(files) => return Err(conflicts(describe_markers(&files))),
                }
            }
        };
    }
    Ok(tip)
}

/// The problem of a resolution that still has conflict markers.
pub(super) fn describe_markers(files: &[String]) -> String {
    format!("the agent left conflict markers in {}", files.join(", "))
}
