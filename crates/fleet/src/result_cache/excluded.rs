//! Paths in a workspace that the result cache ignores.

use std::path::{Path, PathBuf};

use host::Home;

/// The paths that do not count as workspace state: Bosun's home, and the plan, whose text is in the cache keys.
pub fn excluded_paths(home: &Home, plan: Option<&Path>) -> Vec<PathBuf> {
    let plan = plan.and_then(|plan| plan.canonicalize().ok());
    let home = home.root();
    [Some(home.canonicalize().unwrap_or_else(|_gone| home.to_owned())), plan].into_iter().flatten().collect()
}
