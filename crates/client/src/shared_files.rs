//! Files that several independent todos name: their changes to such a file may conflict. The user is warned before work
//! starts.

use std::collections::{BTreeMap, BTreeSet};

use protocol::{Todo, TodoId};
use serde::Serialize;

use crate::glob_index::GlobIndex;

/// Maximum number of files named in one line.
const MAX_NAMED_FILES: usize = 3;

/// Maximum number of todos compared at once, and of todos that share one file: each todo needs one bit per column.
const MAX_COLUMNS: usize = 4_096;

/// The files and dependencies of a todo.
#[derive(Debug, Clone, Copy)]
pub struct TodoFiles<'a> {
    /// Its id.
    pub id: &'a TodoId,
    /// Its files, as paths, folders and patterns.
    pub files: &'a [String],
    /// The todos that it waits for.
    pub depends_on: &'a [TodoId],
}

impl<'a> From<&'a Todo> for TodoFiles<'a> {
    fn from(todo: &'a Todo) -> TodoFiles<'a> {
        TodoFiles { id: &todo.id, files: &todo.files, depends_on: &todo.depends_on }
    }
}

/// Todos that name the same files and may be worked on at the same time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SharedFiles {
    /// The todos. Each of them is independent of at least one other.
    pub todos: Vec<TodoId>,
    /// The files, as the todos name them.
    pub files: Vec<String>,
}

impl SharedFiles {
    /// Finds all todos that share files, grouped by the files that they share.
    pub fn find(todos: &[TodoFiles<'_>]) -> Vec<SharedFiles> {
        let groups: Vec<(String, Vec<usize>)> =
            group_by_file(todos).into_iter().filter(|(_, all)| all.len() > 1).collect();
        if groups.is_empty() {
            return Vec::new();
        }
        let graph = SharedFileGraph::of(todos);
        let mut found: BTreeMap<Vec<usize>, Vec<String>> = BTreeMap::new();
        let (mut chunk, mut members): (Vec<(String, Vec<usize>)>, BTreeSet<usize>) = Default::default();
        for (file, mut all) in groups {
            all.truncate(MAX_COLUMNS);
            if members.len() + all.len() > MAX_COLUMNS {
                graph
                    .dependencies_among(std::mem::take(&mut members))
                    .collect_shared(std::mem::take(&mut chunk), &mut found);
            }
            members.extend(&all);
            chunk.push((file, all));
        }
        graph.dependencies_among(members).collect_shared(chunk, &mut found);
        let shared = |(numbers, files): (Vec<usize>, Vec<String>)| SharedFiles {
            todos: numbers.into_iter().map(|n| todos[n].id.clone()).collect(),
            files,
        };
        found.into_iter().map(shared).collect()
    }

    /// A description for the user.
    pub fn describe(&self) -> String {
        let files = joined_list(&self.files);
        match &self.todos[..] {
            [a, b] => format!("{a} and {b} both name {files}, and neither waits for the other"),
            todos => {
                let names: Vec<String> = todos.iter().map(|id| id.0.clone()).collect();
                format!("{} name {files}, and do not all wait for each other", joined_list(&names))
            }
        }
    }
}

fn joined_list(names: &[String]) -> String {
    let mut first: Vec<String> = names.iter().take(MAX_NAMED_FILES).cloned().collect();
    first.extend(names.len().checked_sub(MAX_NAMED_FILES + 1).map(|more| format!("{} more", more + 1)));
    first.join(", ")
}

/// The todos of each named path, folder and pattern.
fn group_by_file(todos: &[TodoFiles<'_>]) -> BTreeMap<String, Vec<usize>> {
    let mut paths: BTreeMap<String, BTreeSet<usize>> = BTreeMap::new();
    let mut patterns: BTreeMap<String, BTreeSet<usize>> = BTreeMap::new();
    for (n, todo) in todos.iter().enumerate() {
        for written in todo.files {
            let name = written.trim().trim_start_matches("./").trim_end_matches('/').to_owned();
            if name.is_empty() {
                continue;
            }
            let kind = if GlobIndex::is_pattern(&name) { &mut patterns } else { &mut paths };
            kind.entry(name).or_default().insert(n);
        }
    }
    let globs = GlobIndex::new(patterns.keys().map(String::as_str));
    let pattern_todos: Vec<&BTreeSet<usize>> = patterns.values().collect();
    let mut groups: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (path, own) in &paths {
        let mut all = own.clone();
        let folders = path.match_indices('/').filter_map(|(end, _)| paths.get(&path[..end]));
        folders.chain(globs.matching(path).into_iter().filter_map(|n| pattern_todos.get(n).copied())).for_each(
            |more| {
                all.extend(more);
            },
        );
        groups.insert(path.clone(), all.into_iter().collect());
    }
    groups.extend(patterns.into_iter().map(|(pattern, all)| (pattern, all.into_iter().collect())));
    groups
}

/// The dependencies between todos, by number.
struct SharedFileGraph {
    direct: Vec<BTreeSet<usize>>,
    /// Each todo after all that it waits for; those in a cycle are left out.
    order: Vec<usize>,
}

impl SharedFileGraph {
    fn of(todos: &[TodoFiles<'_>]) -> SharedFileGraph {
        let numbers: BTreeMap<&TodoId, usize> = todos.iter().zip(0..).map(|(todo, n)| (todo.id, n)).collect();
        let dependencies =
            |todo: &TodoFiles<'_>| todo.depends_on.iter().filter_map(|id| numbers.get(id).copied()).collect();
        let direct: Vec<BTreeSet<usize>> = todos.iter().map(dependencies).collect();
        let mut dependents: Vec<Vec<usize>> = vec![Vec::new(); todos.len()];
        for (n, direct) in direct.iter().enumerate() {
            direct.iter().for_each(|dependency| dependents[*dependency].push(n));
        }
        let mut open_dependencies: Vec<usize> = direct.iter().map(BTreeSet::len).collect();
        let mut order: Vec<usize> = (0..todos.len()).filter(|n| open_dependencies[*n] == 0).collect();
        let mut position = 0;
        while let Some(n) = order.get(position).copied() {
            position += 1;
            for dependent in &dependents[n] {
                open_dependencies[*dependent] -= 1;
                if open_dependencies[*dependent] == 0 {
                    order.push(*dependent);
                }
            }
        }
        SharedFileGraph { direct, order }
    }

    /// Which of these todos each todo waits for, directly or not.
    fn dependencies_among(&self, columns: BTreeSet<usize>) -> DependencyMatrix {
        let columns: Vec<usize> = columns.into_iter().collect();
        let words = columns.len().div_ceil(64);
        let mut bits = vec![0_u64; words * self.direct.len()];
        for dependent in &self.order {
            for dependency in &self.direct[*dependent] {
                for word in 0..words {
                    bits[dependent * words + word] |= bits[dependency * words + word];
                }
                if let Ok(column) = columns.binary_search(dependency) {
                    bits[dependent * words + column / 64] |= 1 << (column % 64);
                }
            }
        }
        DependencyMatrix { columns, words_per_row: words, bits }
    }
}

/// A bit per todo and column: whether the todo waits for that column's todo.
struct DependencyMatrix {
    columns: Vec<usize>,
    words_per_row: usize,
    bits: Vec<u64>,
}

impl DependencyMatrix {
    /// Adds each file with the todos that may change it at the same time, if there are any.
    fn collect_shared(&self, groups: Vec<(String, Vec<usize>)>, found: &mut BTreeMap<Vec<usize>, Vec<String>>) {
        for (file, all) in groups {
            let independent = self.independent(&all);
            if !independent.is_empty() {
                found.entry(independent).or_default().push(file);
            }
        }
    }

    /// The todos of a group that are independent of at least one other todo in it.
    fn independent(&self, group: &[usize]) -> Vec<usize> {
        let column = |n: &usize| self.columns.binary_search(n).unwrap_or_default();
        let mut mask = vec![0_u64; self.words_per_row];
        group.iter().map(column).for_each(|column| mask[column / 64] |= 1 << (column % 64));
        // For each todo, the number of todos in the group that wait for it or that it waits for.
        let mut linked = vec![0_usize; self.columns.len()];
        for dependent in group {
            for (word, of_group) in mask.iter().enumerate() {
                let mut rest = self.bits[dependent * self.words_per_row + word] & of_group;
                while rest != 0 {
                    linked[word * 64 + rest.trailing_zeros() as usize] += 1;
                    linked[column(dependent)] += 1;
                    rest &= rest - 1;
                }
            }
        }
        group.iter().filter(|n| linked[column(n)] + 1 < group.len()).copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn todo(id: &str, files: &[&str], on: &[&str]) -> Todo {
        let files = files.iter().map(|file| (*file).to_owned()).collect();
        Todo { files, depends_on: on.iter().map(|id| TodoId::from(*id)).collect(), ..Todo::new(id, id) }
    }

    fn warnings(todos: &[Todo]) -> Vec<String> {
        let named: Vec<TodoFiles<'_>> = todos.iter().map(TodoFiles::from).collect();
        SharedFiles::find(&named).iter().map(SharedFiles::describe).collect()
    }

    #[test]
    fn independent_todos_that_name_the_same_file_are_reported() {
        let todos = [todo("a", &["src/x.rs"], &[]), todo("b", &["./src/x.rs", "b.rs"], &[]), todo("c", &["c.rs"], &[])];
        assert_eq!(warnings(&todos), ["a and b both name src/x.rs, and neither waits for the other"]);
    }

    #[test]
    fn indirectly_dependent_todos_are_not_reported() {
        let todos = [todo("a", &["x"], &[]), todo("m", &[], &["a"]), todo("n", &[], &["m"]), todo("b", &["x"], &["n"])];
        assert_eq!(warnings(&todos), [""; 0]);
    }

    #[test]
    fn folders_and_patterns_cover_the_files_in_them() {
        let todos = [todo("a", &["src/"], &[]), todo("b", &["src/deep/x.rs"], &[]), todo("c", &["**/*.rs"], &[])];
        assert_eq!(warnings(&todos), ["a, b, c name src/deep/x.rs, and do not all wait for each other"]);
        let same = [todo("a", &["doc/*.md"], &[]), todo("b", &["doc/*.md"], &[])];
        assert_eq!(warnings(&same), ["a and b both name doc/*.md, and neither waits for the other"]);
    }

    #[test]
    fn only_independent_todos_are_named_and_their_files_are_grouped() {
        let all = ["p", "q", "r", "s", "t"];
        let todos = [todo("first", &all, &[]), todo("b", &all, &["first"]), todo("c", &all, &["first"])];
        assert_eq!(warnings(&todos), ["b and c both name p, q, r, 2 more, and neither waits for the other"]);
    }

    #[test]
    fn cycles_and_invalid_patterns_do_not_fail() {
        let todos = [todo("a", &["x", "[", ""], &["b"]), todo("b", &["x", "[", ""], &["a", "gone"])];
        let _warnings = warnings(&todos);
    }

    #[test]
    fn ten_thousand_todos_are_checked_quickly() {
        let name = |n: usize| format!("t{n}");
        let row = |n: usize| if n == 0 { todo("t0", &["x"], &[]) } else { todo(&name(n), &["x"], &[&name(n - 1)]) };
        let todos: Vec<Todo> = (0..2_000).map(row).collect();
        assert_eq!(warnings(&todos), [""; 0]);
        let pairs: Vec<Todo> = (0..10_000).map(|n| todo(&name(n), &[&format!("f{}", n / 2)], &[])).collect();
        assert_eq!(warnings(&pairs).len(), 5_000);
        let apart: Vec<Todo> = (0..10_000).map(|n| todo(&name(n), &[&format!("f{n}")], &[])).collect();
        assert_eq!(warnings(&apart), [""; 0]);
    }
}
