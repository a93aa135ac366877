//! What a worker begins with: the work of everything that its todo depends on.

use git::{Commit, Git, MergeOutcome, MergePart, ResolveOutcome, Signature};

use super::merge_session::MergeSession;

/// Who makes merges.
pub(super) fn signature() -> Signature {
    Signature { name: "Bosun".into(), email: "bosun@bosun.invalid".into() }
}

/// Joins the parts on the base. A conflict goes to an agent once; says in words why there is nothing to begin with.
pub(super) async fn join_parts(
    git: &Git,
    base: &Commit,
    parts: &[MergePart],
    session: &dyn MergeSession,
) -> Result<Commit, String> {
    let by = signature();
    let mut tip = base.clone();
    for part in parts {
        let merged = git::merge(git, &tip, part, &by).await.map_err(|error| error.to_string())?;
        tip = match merged {
            MergeOutcome::Whole(commit) => commit,
            MergeOutcome::Conflict(conflict) => {
                let unfit = |why: String| {
                    format!(
                        "the work of {}, which it depends on, does not fit the rest in {}: {why}",
                        part.name,
                        conflict.files.join(", ")
                    )
                };
                let begun = conflict.begun(git, &by).await.map_err(|error| error.to_string())?;
                let done = session.resolve(&conflict, &begun).await.map_err(unfit)?;
                match conflict.resolve(git, &done, &by).await.map_err(|error| error.to_string())? {
                    ResolveOutcome::Whole(commit) => commit,
                    ResolveOutcome::Marked(files) => return Err(unfit(describe_marks(&files))),
                }
            }
        };
    }
    Ok(tip)
}

/// What is wrong with a resolution that has marks.
pub(super) fn describe_marks(files: &[String]) -> String {
    format!("the agent left marks of the conflict in {}", files.join(", "))
}
