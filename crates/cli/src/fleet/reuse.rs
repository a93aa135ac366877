//! Which todos of a plan would not be done again.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use config::Plan;
use host::Home;
use protocol::TodoId;
use runtime::{Census, Means, Recalled, Recollection, Staff, apart};
use store::Results;

use crate::failure::Failure;

/// The agent of todos that name none.
const USUAL: &str = "general-purpose";

/// Who would do the plan, in which folder.
pub(super) struct Scene<'a> {
    pub(super) home: &'a Home,
    pub(super) cwd: PathBuf,
    pub(super) staff: Staff<'a>,
}

impl<'a> Scene<'a> {
    pub(super) fn new(home: &'a Home, cwd: &Path, staffing: &'a crate::setup::Staffing, model: &'a str) -> Scene<'a> {
        let crate::setup::Staffing { catalog, models, effort, .. } = staffing;
        let staff = Staff { catalog, models: &**models, model, effort: *effort, usual: USUAL };
        Scene { home, cwd: cwd.to_owned(), staff }
    }

    /// What a run that began now would recall. Commits with work are taken to be there.
    pub(super) async fn foresee(&self, plan: &Plan) -> Result<BTreeMap<TodoId, Recalled>, Failure> {
        let (cwd, apart) = (self.cwd.clone(), apart(self.home, Some(&plan.file)));
        let census = tokio::task::spawn_blocking(move || Census::take(&cwd, apart)).await.map_err(Failure::failed)?;
        let results = Results::open(self.home, self.cwd.to_string_lossy())?;
        let mut recollection = Recollection::begin(results, census);
        plan.todos.iter().for_each(|todo| recollection.learn(todo, &Means::of(todo, self.staff)));
        Ok(recollection.foresee(&plan.todos, |_commit| true))
    }
}
