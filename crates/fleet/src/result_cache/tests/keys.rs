//! Tests what changes a cache key and what does not.

use protocol::{ReasoningEffort, Todo};

use super::{default_assignment, todo};
use crate::result_cache::Assignment;
use crate::result_cache::cache_key::CacheKeys;

/// The cache key of the last of these todos; the result of each other todo is its id.
fn cache_key(todos: &[Todo], assignment: &Assignment) -> String {
    let mut cache_keys = CacheKeys::default();
    todos.iter().for_each(|todo| cache_keys.register(todo, assignment));
    let (last, dependencies) = todos.split_last().unwrap();
    for todo in dependencies {
        let cache_key = cache_keys.key(&todo.id).unwrap();
        cache_keys.set_result(&todo.id, cache_key, &todo.id.0);
    }
    cache_keys.key(&last.id).unwrap().to_string()
}

#[test]
fn a_cache_key_covers_everything_that_determines_a_result() {
    let key_of = |todo: Todo| cache_key(&[todo], &default_assignment());
    let plain = || todo("a", &[], &["x", "y"]);
    let same = [
        Todo { id: "other".into(), ..plain() },
        Todo { files: vec!["y".into(), "x".into(), "y".into()], ..plain() },
        Todo { status: protocol::TodoStatus::Blocked, reason: Some("because".into()), ..plain() },
    ];
    same.into_iter().for_each(|todo| assert_eq!(key_of(todo.clone()), key_of(plain()), "{todo:?}"));
    let some = |text: &str| Some(text.to_owned());
    let others = [
        Todo { title: "Do b".into(), ..plain() },
        Todo { description: some(""), ..plain() },
        Todo { description: some("x"), ..plain() },
        Todo { check: some("x"), ..plain() },
        Todo { expects: some("x"), ..plain() },
        Todo { files: vec!["x".into()], ..plain() },
        Todo { files: vec!["xy".into()], ..plain() },
        Todo { files: Vec::new(), ..plain() },
    ];
    let mut all: Vec<String> = others.into_iter().map(key_of).chain([key_of(plain())]).collect();
    let others = [
        Assignment { agent: "b".into(), ..default_assignment() },
        Assignment { model: "b".into(), ..default_assignment() },
        Assignment { effort: Some(ReasoningEffort::High), ..default_assignment() },
        Assignment { agent: "am".into(), model: String::new(), ..default_assignment() },
    ];
    all.extend(others.map(|assignment| cache_key(&[plain()], &assignment)));
    let count = all.len();
    all.sort();
    all.dedup();
    assert_eq!(all.len(), count);
}

#[test]
fn a_cache_key_covers_the_dependencies_in_any_order() {
    let [a, b] = [todo("a", &[], &[]), todo("b", &[], &[])];
    let last = |depends_on: &[&str]| todo("z", depends_on, &[]);
    let both = cache_key(&[a.clone(), b.clone(), last(&["a", "b"])], &default_assignment());
    assert_eq!(cache_key(&[b.clone(), a.clone(), last(&["b", "a", "b"])], &default_assignment()), both);
    assert_ne!(cache_key(&[a.clone(), b.clone(), last(&["a"])], &default_assignment()), both);
    assert_ne!(cache_key(&[last(&[])], &default_assignment()), both);
    let mut cache_keys = CacheKeys::default();
    [&a, &b, &last(&["a", "b"])].iter().for_each(|todo| cache_keys.register(todo, &default_assignment()));
    assert_eq!(cache_keys.key(&"z".into()), Err("a".into()));
    for (id, result) in [("a", "a"), ("b", "another")] {
        let cache_key = cache_keys.key(&id.into()).unwrap();
        cache_keys.set_result(&id.into(), cache_key, result);
    }
    assert_ne!(cache_keys.key(&"z".into()).unwrap().to_string(), both);
}

#[test]
fn identical_todos_have_different_cache_keys() {
    let twins = ["a", "b"].map(|id| Todo { id: id.into(), ..todo("x", &[], &[]) });
    let below = ["c", "d"].map(|id| Todo { id: id.into(), ..todo("y", &[if id == "c" { "a" } else { "b" }], &[]) });
    let mut cache_keys = CacheKeys::default();
    twins.iter().chain(&below).for_each(|todo| cache_keys.register(todo, &default_assignment()));
    let mut all = Vec::new();
    for id in ["a", "b", "c", "d"] {
        let cache_key = cache_keys.key(&id.into()).unwrap();
        cache_keys.set_result(&id.into(), cache_key, "the same");
        all.push(cache_key);
    }
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 4);
}
