//! Finds the task that a person or a model refers to: by id, id prefix, name or path.

use std::collections::BTreeSet;

use crate::TaskId;

/// The minimum length of an id prefix.
const MIN_PREFIX: usize = 6;

/// A task with everything that can identify it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedTask<T> {
    /// Its id.
    pub id: TaskId,
    /// The task that started it.
    pub parent: Option<TaskId>,
    /// Its name.
    pub name: T,
    /// Its path, such as `/root/tests`.
    pub path: T,
}

/// Why no task was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskLookupError {
    /// No task matches.
    NotFound,
    /// Several tasks match, with these paths.
    Ambiguous(Vec<String>),
}

/// One way to match a task.
type TaskMatcher<'a, T> = &'a dyn Fn(&NamedTask<T>) -> bool;

/// Finds the one task among `known` that `given` refers to, as seen from the task `from`, whose own children come
/// first.
pub fn find_task<T: AsRef<str>>(
    known: &[NamedTask<T>],
    from: &NamedTask<T>,
    given: &str,
) -> Result<TaskId, TaskLookupError> {
    let given = given.trim();
    let full_path = if given.starts_with('/') { given.to_owned() } else { format!("{}/{given}", from.path.as_ref()) };
    let hex = given.strip_prefix("task-").unwrap_or(given);
    // The most specific match comes first.
    let matchers: [TaskMatcher<'_, T>; 4] = [
        &|task| task.id.to_string() == given || task.path.as_ref() == full_path,
        &|task| task.parent == Some(from.id) && task.name.as_ref() == given,
        &|task| task.name.as_ref() == given,
        &|task| hex.len() >= MIN_PREFIX && task.id.uuid().as_simple().to_string().starts_with(hex),
    ];
    for matches in matchers {
        let matching: BTreeSet<TaskId> = known.iter().filter(|task| matches(task)).map(|task| task.id).collect();
        match (matching.len(), matching.first()) {
            (1, Some(id)) => return Ok(*id),
            (0, _) | (_, None) => {}
            (_several, Some(_)) => {
                let paths = known.iter().filter(|task| matching.contains(&task.id));
                return Err(TaskLookupError::Ambiguous(paths.map(|task| task.path.as_ref().to_owned()).collect()));
            }
        }
    }
    Err(TaskLookupError::NotFound)
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn task(n: u128, parent: u128, path: &'static str) -> NamedTask<&'static str> {
        let id = |n: u128| TaskId::new(Uuid::from_u128(n << 96));
        let name = path.rsplit('/').next().unwrap();
        NamedTask { id: id(n), parent: (n > 1).then(|| id(parent)), name, path }
    }

    fn tree() -> Vec<NamedTask<&'static str>> {
        vec![
            task(1, 0, "/root"),
            task(0xabc_0001, 1, "/root/tests"),
            task(0xabc_0002, 1, "/root/docs"),
            task(3, 0xabc_0001, "/root/tests/unit"),
            task(4, 0xabc_0002, "/root/docs/unit"),
            task(5, 0xabc_0002, "/root/docs/tests"),
        ]
    }

    fn find_path(given: &str) -> Result<&'static str, TaskLookupError> {
        let tree = tree();
        let id = find_task(&tree, &tree[0], given)?;
        Ok(tree.iter().find(|task| task.id == id).unwrap().path)
    }

    #[test]
    fn a_task_is_found_by_id_id_prefix_name_and_path() {
        let whole = tree()[3].id.to_string();
        assert_eq!(find_path(&whole), Ok("/root/tests/unit"));
        assert_eq!(find_path(" /root/docs/unit "), Ok("/root/docs/unit"));
        assert_eq!(find_path("docs/unit"), Ok("/root/docs/unit"));
        assert_eq!(find_path("tests"), Ok("/root/tests"), "the nearest of two");
        assert_eq!(find_path("root"), Ok("/root"));
        assert_eq!(find_path("0abc0002"), Ok("/root/docs"));
        assert_eq!(find_path("task-0abc0001"), Ok("/root/tests"));
    }

    #[test]
    fn ambiguous_and_unknown_names_are_errors() {
        assert_eq!(
            find_path("unit"),
            Err(TaskLookupError::Ambiguous(vec!["/root/tests/unit".into(), "/root/docs/unit".into()]))
        );
        assert_eq!(
            find_path("0abc000"),
            Err(TaskLookupError::Ambiguous(vec!["/root/tests".into(), "/root/docs".into()]))
        );
        for unknown in ["0abc", "levitate", "", "/"] {
            assert_eq!(find_path(unknown), Err(TaskLookupError::NotFound), "{unknown}");
        }
    }
}
