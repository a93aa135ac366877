//! Which todos of a fleet need not be done again.

use std::collections::{BTreeMap, BTreeSet};

use protocol::{At, Clip, Todo, TodoId};
use store::{ResultRow, StoreError};

use super::census::{Census, CensusError, changed};
use super::means::Means;
use super::patterns::FilePatterns;
use super::recipe::Recipes;
use super::shelf::Shelf;
use super::why::Why;

/// Most bytes of a result that are kept.
const RESULT: usize = 64 * 1024;

/// Whether a todo is done again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recalled {
    /// It is not: this is what it brought.
    Reused {
        /// What its worker said last.
        result: String,
        /// The commit with its work, if that has yet to be merged.
        work: Option<String>,
    },
    /// It is.
    Again(Why),
}

/// Where the work of a run is when it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Landing {
    /// In the workspace.
    InPlace,
    /// In commits beside it, as far as workers had checkouts of their own.
    Apart,
}

/// What one run of a fleet remembers.
#[derive(Debug)]
pub struct Recollection<S> {
    shelf: S,
    recipes: Recipes,
    /// The files as they were when the run began, or why nobody knows.
    census: Result<Census, CensusError>,
    /// States that were asked for: thousands of todos may have the same patterns.
    states: BTreeMap<Vec<String>, Result<String, String>>,
    /// Todos that were asked for and are done again in this run.
    again: BTreeSet<TodoId>,
    /// What was done or used again in this run.
    settled: BTreeMap<TodoId, Settled>,
    /// What was told of before what it depends on, by that.
    waiting: BTreeMap<TodoId, Vec<Told>>,
}

/// What a todo brought, as it was told.
#[derive(Debug)]
struct Told {
    todo: Todo,
    result: String,
    work: Option<String>,
    at: At,
}

#[derive(Debug)]
struct Settled {
    key: String,
    files: Vec<String>,
    /// What it depends on.
    depends_on: Vec<TodoId>,
    /// The commit with its work, if that has yet to be merged.
    work: Option<String>,
}

impl Settled {
    fn new(key: String, todo: &Todo, work: Option<String>) -> Settled {
        Settled { key, files: todo.files.clone(), depends_on: todo.depends_on.clone(), work }
    }
}

impl<S: Shelf> Recollection<S> {
    /// Begins a run with the files as they are now.
    pub fn begin(shelf: S, census: Result<Census, CensusError>) -> Recollection<S> {
        Recollection {
            shelf,
            recipes: Recipes::default(),
            census,
            states: BTreeMap::new(),
            again: BTreeSet::new(),
            settled: BTreeMap::new(),
            waiting: BTreeMap::new(),
        }
    }

    /// Takes a todo as it is written now. All of a plan come before the first is recalled.
    pub fn learn(&mut self, todo: &Todo, means: &Means) {
        self.recipes.learn(todo, means);
    }

    /// Whether a todo is done again, once everything is done that it depends on; `has_work` says whether a commit is
    /// still there. Who asks again for one that was done or used meanwhile, wants it done again.
    pub fn recall(&mut self, todo: &Todo, has_work: impl Fn(&str) -> bool) -> Recalled {
        let why = match self.settled.remove(&todo.id) {
            Some(settled) => {
                self.recipes.take_back(&todo.id);
                warned(self.shelf.remove(&settled.key));
                Why::Reopened
            }
            None => match self.judge(todo, has_work) {
                Ok(row) => {
                    self.settle(todo, &row);
                    return Recalled::Reused { work: row.work, result: row.result };
                }
                Err(why) => why,
            },
        };
        self.again.insert(todo.id.clone());
        Recalled::Again(why)
    }

    fn settle(&mut self, todo: &Todo, row: &ResultRow) {
        if let Ok(recipe) = self.recipes.recipe(&todo.id) {
            self.recipes.bring(&todo.id, recipe, &row.result);
        }
        self.settled.insert(todo.id.clone(), Settled::new(row.key.clone(), todo, row.work.clone()));
    }

    /// What would be recalled if the run began now: what depends on a todo that is done again is taken to be, too.
    pub fn foresee(mut self, todos: &[Todo], has_work: impl Fn(&str) -> bool) -> BTreeMap<TodoId, Recalled> {
        let by_id: BTreeMap<&TodoId, &Todo> = todos.iter().map(|todo| (&todo.id, todo)).collect();
        let mut foreseen = BTreeMap::new();
        for id in self.recipes.order() {
            if let Some(todo) = by_id.get(&id) {
                foreseen.insert(id, self.recall(todo, &has_work));
            }
        }
        foreseen
    }

    /// A todo is done: keeps what it brought, once it is known what those brought that it depends on.
    pub fn keep(&mut self, todo: &Todo, result: &str, work: Option<&str>, at: At) {
        let result = Clip::new(result, RESULT).into_string();
        let mut told = vec![Told { todo: todo.clone(), result, work: work.map(str::to_owned), at }];
        while let Some(next) = told.pop() {
            match self.recipes.recipe(&next.todo.id) {
                Ok(recipe) => {
                    self.recipes.bring(&next.todo.id, recipe, &next.result);
                    told.extend(self.waiting.remove(&next.todo.id).into_iter().flatten());
                    self.put(recipe.to_string(), next);
                }
                Err(above) => self.waiting.entry(above).or_default().push(next),
            }
        }
    }

    fn put(&mut self, key: String, told: Told) {
        let Told { todo, result, work, at } = told;
        self.settled.insert(todo.id.clone(), Settled::new(key.clone(), &todo, work.clone()));
        let Ok(before) = self.state(&todo.files) else { return };
        // A new owner tells of what the last one had done, who saw the files as they were before.
        let is_told_again = !self.again.remove(&todo.id);
        let row = ResultRow { key, todo: todo.id, before, after: None, result, work };
        let known = self.shelf.get(&row.key).ok().flatten();
        let is_same = |known: &ResultRow| known.result == row.result && (row.work.is_none() || known.work == row.work);
        if !(is_told_again && known.as_ref().is_some_and(is_same)) {
            warned(self.shelf.put(&row, at));
        }
    }

    /// The run has ended: what it did and used is in place as the files are now.
    pub fn finish(&mut self, census: Result<Census, CensusError>, landing: Landing, at: At) {
        self.census = census;
        self.states.clear();
        let settled = std::mem::take(&mut self.settled);
        let in_place = settled.into_values().filter(|settled| landing == Landing::InPlace || settled.work.is_none());
        let states: Vec<(String, String)> =
            in_place.filter_map(|settled| Some((settled.key, self.state(&settled.files).ok()?))).collect();
        warned(self.shelf.set_after(&states, at));
    }

    /// The commit without which a todo would be done again.
    pub(super) fn work_of(&mut self, todo: &Todo) -> Option<String> {
        let row = self.row(todo).ok()?;
        let now = self.state(&todo.files).ok()?;
        row.work.filter(|_| row.after.as_ref() != Some(&now))
    }

    /// The commits with the work of what a todo depends on, as far as that has yet to be merged.
    pub(super) fn works_above(&self, todo: &Todo) -> Vec<String> {
        let (mut open, mut seen, mut works) = (todo.depends_on.clone(), BTreeSet::new(), Vec::new());
        while let Some(id) = open.pop() {
            match self.settled.get(&id) {
                Some(Settled { work: Some(work), .. }) => works.push(work.clone()),
                Some(Settled { work: None, depends_on, .. }) if seen.insert(id) => open.extend(depends_on.clone()),
                Some(_) | None => {}
            }
        }
        works
    }

    fn row(&mut self, todo: &Todo) -> Result<ResultRow, Why> {
        let key = self.recipes.recipe(&todo.id).map_err(Why::Upstream)?.to_string();
        let unknown = |error: StoreError| Why::Unknown(error.to_string());
        match self.shelf.get(&key).map_err(unknown)? {
            Some(row) => Ok(row),
            None if self.shelf.knows(&todo.id).map_err(unknown)? => Err(Why::Recipe),
            None => Err(Why::Never),
        }
    }

    /// The result that can be used again, with its work only if that is not in place.
    fn judge(&mut self, todo: &Todo, has_work: impl Fn(&str) -> bool) -> Result<ResultRow, Why> {
        let row = self.row(todo)?;
        let now = self.state(&todo.files).map_err(Why::Unknown)?;
        if row.after.as_ref() == Some(&now) {
            return Ok(ResultRow { work: None, ..row });
        }
        match (&row.work, &row.after) {
            (Some(work), _) if row.before == now => {
                if has_work(work) {
                    Ok(row)
                } else {
                    Err(Why::WorkGone)
                }
            }
            (None, None) => Err(Why::Unended),
            (Some(_), None) => Err(self.moved(todo, &row.before, &now)),
            (_, Some(after)) => Err(self.moved(todo, after, &now)),
        }
    }

    fn moved(&self, todo: &Todo, then: &str, now: &str) -> Why {
        match FilePatterns::read(&todo.files) {
            Ok(patterns) if !patterns.is_empty() => Why::Files(changed(&patterns, then, now)),
            Ok(_) | Err(_) => Why::Workspace,
        }
    }

    /// How the files of these patterns were when the run began.
    fn state(&mut self, files: &[String]) -> Result<String, String> {
        if let Some(known) = self.states.get(files) {
            return known.clone();
        }
        let state = match &self.census {
            Ok(census) => FilePatterns::read(files).map(|patterns| census.state(&patterns)),
            Err(error) => Err(error.to_string()),
        };
        self.states.insert(files.to_vec(), state.clone());
        state
    }
}

/// What cannot be kept costs the work once more, and no fleet fails for it.
fn warned(kept: Result<(), StoreError>) {
    if let Err(error) = kept {
        tracing::warn!(%error, "what a todo brought is not kept");
    }
}
