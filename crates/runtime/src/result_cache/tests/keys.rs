//! What changes a cache key, and what does not.

use protocol::{ReasoningEffort, Todo};

use super::{means, todo};
use crate::result_cache::Assignment;
use crate::result_cache::cache_key::CacheKeys;

/// The cache key of the last of these todos; the result of each other todo is its id.
fn cache_key(todos: &[Todo], means: &Assignment) -> String {
    let mut cache_keys = CacheKeys::default();
    todos.iter().for_each(|todo| cache_keys.register(todo, means));
    let (last, above) = todos.split_last().unwrap();
    for todo in above {
        let cache_key = cache_keys.key(&todo.id).unwrap();
        cache_keys.set_result(&todo.id, cache_key, &todo.id.0);
    }
    cache_keys.key(&last.id).unwrap().to_string()
}

#[test]
fn a_cache_key_is_everything_that_a_todo_is_done_with() {
    let of = |todo: Todo| cache_key(&[todo], &means());
    let plain = || todo("a", &[], &["x", "y"]);
    let same = [
        Todo { id: "other".into(), ..plain() },
        Todo { files: vec!["y".into(), "x".into(), "y".into()], ..plain() },
        Todo { status: protocol::TodoStatus::Blocked, reason: Some("because".into()), ..plain() },
    ];
    same.into_iter().for_each(|todo| assert_eq!(of(todo.clone()), of(plain()), "{todo:?}"));
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
    let mut all: Vec<String> = others.into_iter().map(of).chain([of(plain())]).collect();
    let others = [
        Assignment { agent: "b".into(), ..means() },
        Assignment { model: "b".into(), ..means() },
        Assignment { effort: Some(ReasoningEffort::High), ..means() },
        Assignment { agent: "am".into(), model: String::new(), ..means() },
    ];
    all.extend(others.map(|means| cache_key(&[plain()], &means)));
    let count = all.len();
    all.sort();
    all.dedup();
    assert_eq!(all.len(), count);
}

#[test]
fn a_cache_key_holds_what_came_before_it_in_any_order() {
    let [a, b] = [todo("a", &[], &[]), todo("b", &[], &[])];
    let last = |above: &[&str]| todo("z", above, &[]);
    let both = cache_key(&[a.clone(), b.clone(), last(&["a", "b"])], &means());
    assert_eq!(cache_key(&[b.clone(), a.clone(), last(&["b", "a", "b"])], &means()), both);
    assert_ne!(cache_key(&[a.clone(), b.clone(), last(&["a"])], &means()), both);
    assert_ne!(cache_key(&[last(&[])], &means()), both);
    let mut cache_keys = CacheKeys::default();
    [&a, &b, &last(&["a", "b"])].iter().for_each(|todo| cache_keys.register(todo, &means()));
    assert_eq!(cache_keys.key(&"z".into()), Err("a".into()));
    for (id, result) in [("a", "a"), ("b", "another")] {
        let cache_key = cache_keys.key(&id.into()).unwrap();
        cache_keys.set_result(&id.into(), cache_key, result);
    }
    assert_ne!(cache_keys.key(&"z".into()).unwrap().to_string(), both);
}

#[test]
fn todos_that_are_the_same_have_cache_keys_of_their_own() {
    let twins = ["a", "b"].map(|id| Todo { id: id.into(), ..todo("x", &[], &[]) });
    let below = ["c", "d"].map(|id| Todo { id: id.into(), ..todo("y", &[if id == "c" { "a" } else { "b" }], &[]) });
    let mut cache_keys = CacheKeys::default();
    twins.iter().chain(&below).for_each(|todo| cache_keys.register(todo, &means()));
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
