//! What lies in a workspace and is not a part of it.

use std::path::{Path, PathBuf};

use host::Home;

/// The places whose files say nothing of a workspace's state: Bosun's home, and the plan, whose words are in cache keys.
pub fn excluded_paths(home: &Home, plan: Option<&Path>) -> Vec<PathBuf> {
    let plan = plan.and_then(|plan| plan.canonicalize().ok());
    let home = home.root();
    [Some(home.canonicalize().unwrap_or_else(|_gone| home.to_owned())), plan].into_iter().flatten().collect()
}
