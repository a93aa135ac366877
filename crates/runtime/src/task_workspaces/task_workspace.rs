//! The workspace of a task: a folder, the environment of commands there, and the permissions of calls there.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use host::Workspace;
use policy::Policy;

use crate::settings::OutsideFiles;

/// Variables that direct git to another repository than that of its working folder.
const GIT_LOCATION_VARS: [&str; 11] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
    "GIT_DISCOVERY_ACROSS_FILESYSTEM",
    "GIT_CONFIG_PARAMETERS",
    "GIT_CEILING_DIRECTORIES",
];

/// The environment of a command.
pub(crate) type CommandEnv = Vec<(OsString, OsString)>;

/// The workspace of a task.
#[derive(Debug)]
pub(crate) struct TaskWorkspace {
    pub(crate) workspace: Arc<Workspace>,
    /// The environment of commands.
    pub(crate) env: Arc<CommandEnv>,
    /// What happens to file tools' calls outside it.
    outside_files: OutsideFiles,
    /// The top of the checkout, if it is one.
    checkout_top: Option<PathBuf>,
    /// The session's policy that was last adapted, and the adapted one, cached: a search needs it for each file.
    adapted_policy: Mutex<Option<(Arc<Policy>, Arc<Policy>)>>,
}

impl TaskWorkspace {
    /// The folder that the session works in.
    pub(crate) fn shared(workspace: Workspace, env: CommandEnv, outside_files: OutsideFiles) -> TaskWorkspace {
        TaskWorkspace {
            workspace: Arc::new(workspace),
            env: Arc::new(env),
            outside_files,
            checkout_top: None,
            adapted_policy: Mutex::default(),
        }
    }

    /// A checkout, used in this subfolder. Git does not search for repositories above the checkout.
    pub(crate) fn checkout(top: &Path, subfolder: &Path, env: &[(OsString, OsString)]) -> io::Result<TaskWorkspace> {
        let cwd = top.join(subfolder);
        // A folder without files is not part of a commit.
        std::fs::create_dir_all(&cwd)?;
        let mut env: CommandEnv =
            env.iter().filter(|(name, _)| GIT_LOCATION_VARS.iter().all(|variable| name != variable)).cloned().collect();
        let parent = top.parent().unwrap_or(top).as_os_str().to_owned();
        env.push(("GIT_CEILING_DIRECTORIES".into(), parent));
        let workspace = Arc::new(Workspace::new(&cwd, &[])?);
        Ok(TaskWorkspace {
            workspace,
            env: Arc::new(env),
            outside_files: OutsideFiles::Refused,
            checkout_top: Some(top.to_owned()),
            adapted_policy: Mutex::default(),
        })
    }

    /// What happens to file tools' calls outside it.
    pub(crate) fn outside_files(&self) -> OutsideFiles {
        self.outside_files
    }

    /// The folder that commands start in.
    pub(crate) fn cwd(&self) -> &Path {
        self.workspace.cwd()
    }

    /// The top of the checkout, if it is one.
    pub(crate) fn checkout_top(&self) -> Option<&Path> {
        self.checkout_top.as_deref()
    }

    pub(crate) fn is_checkout(&self) -> bool {
        self.checkout_top.is_some()
    }

    /// The policy in this workspace. In a checkout, rules on project files and the protection of control files apply to
    /// the checkout's copies.
    pub(crate) fn policy(&self, policy: Arc<Policy>) -> Arc<Policy> {
        let Some(checkout) = &self.checkout_top else { return policy };
        let mut adapted = self.adapted_policy.lock().unwrap_or_else(PoisonError::into_inner);
        match &*adapted {
            Some((original, result)) if Arc::ptr_eq(original, &policy) => Arc::clone(result),
            Some(_) | None => {
                let result = Arc::new(adapt_policy(&policy, checkout));
                *adapted = Some((policy, Arc::clone(&result)));
                result
            }
        }
    }
}

fn adapt_policy(policy: &Policy, checkout: &Path) -> Policy {
    let copied = policy.control_paths.iter().filter_map(|control| control.strip_prefix(&policy.project_dir).ok());
    let controls = policy.control_paths.iter().cloned().chain(copied.map(|below| checkout.join(below))).collect();
    let (top, exempt) = (checkout.to_owned(), vec![checkout.to_owned()]);
    Policy {
        project_dir: top,
        work_folders: Vec::new(),
        control_paths: controls,
        exempt_folders: exempt,
        ..policy.clone()
    }
}
