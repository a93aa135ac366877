//! What makes a recipe another, and what does not.

use protocol::{Effort, Todo};

use super::{means, todo};
use crate::recall::Means;
use crate::recall::recipe::Recipes;

/// The recipe of the last of these todos, each of the others having brought its own id.
fn recipe(todos: &[Todo], means: &Means) -> String {
    let mut recipes = Recipes::default();
    todos.iter().for_each(|todo| recipes.learn(todo, means));
    let (last, above) = todos.split_last().unwrap();
    for todo in above {
        let recipe = recipes.recipe(&todo.id).unwrap();
        recipes.bring(&todo.id, recipe, &todo.id.0);
    }
    recipes.recipe(&last.id).unwrap().to_string()
}

#[test]
fn f5_a_recipe_is_everything_that_a_todo_is_done_with() {
    let of = |todo: Todo| recipe(&[todo], &means());
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
        Means { agent: "b".into(), ..means() },
        Means { model: "b".into(), ..means() },
        Means { effort: Some(Effort::High), ..means() },
        Means { agent: "am".into(), model: String::new(), ..means() },
    ];
    all.extend(others.map(|means| recipe(&[plain()], &means)));
    let count = all.len();
    all.sort();
    all.dedup();
    assert_eq!(all.len(), count);
}

#[test]
fn f5_a_recipe_holds_what_came_before_it_in_any_order() {
    let [a, b] = [todo("a", &[], &[]), todo("b", &[], &[])];
    let last = |above: &[&str]| todo("z", above, &[]);
    let both = recipe(&[a.clone(), b.clone(), last(&["a", "b"])], &means());
    assert_eq!(recipe(&[b.clone(), a.clone(), last(&["b", "a", "b"])], &means()), both);
    assert_ne!(recipe(&[a.clone(), b.clone(), last(&["a"])], &means()), both);
    assert_ne!(recipe(&[last(&[])], &means()), both);
    let mut recipes = Recipes::default();
    [&a, &b, &last(&["a", "b"])].iter().for_each(|todo| recipes.learn(todo, &means()));
    assert_eq!(recipes.recipe(&"z".into()), Err("a".into()));
    for (id, result) in [("a", "a"), ("b", "another")] {
        let recipe = recipes.recipe(&id.into()).unwrap();
        recipes.bring(&id.into(), recipe, result);
    }
    assert_ne!(recipes.recipe(&"z".into()).unwrap().to_string(), both);
}

#[test]
fn f5_todos_that_are_the_same_have_recipes_of_their_own() {
    let twins = ["a", "b"].map(|id| Todo { id: id.into(), ..todo("x", &[], &[]) });
    let below = ["c", "d"].map(|id| Todo { id: id.into(), ..todo("y", &[if id == "c" { "a" } else { "b" }], &[]) });
    let mut recipes = Recipes::default();
    twins.iter().chain(&below).for_each(|todo| recipes.learn(todo, &means()));
    let mut all = Vec::new();
    for id in ["a", "b", "c", "d"] {
        let recipe = recipes.recipe(&id.into()).unwrap();
        recipes.bring(&id.into(), recipe, "the same");
        all.push(recipe);
    }
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 4);
}
