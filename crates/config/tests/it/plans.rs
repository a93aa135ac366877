//! Plan files: their content, and the errors of invalid ones.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::time::Duration;

use config::{FleetPlan, PlanChecker, PreparedFleet, generate_plan_schema, prepare_fleet};
use protocol::api::{BeginFleetParams, FleetParams, PlanDocument};
use protocol::{Hinted as _, Seconds, SessionOptions, Todo, TodoId, Usd};
use serde_json::{Value, json};

const WHOLE: &str = r#"
goal: Make the parser total
limits: { parallel: 8, retries: 2, budget_usd: 2.5, timeout: 30m }
isolation: worktree
merge_check: cargo test -q
validate: true
rounds: 2
defaults: { agent: general-purpose, model: script/a.yaml }
todos:
  - id: tokens
    title: Write the tokens
  - id: lexer
    title: Make the lexer total
    description: |
      Every byte is some token.
    depends_on: [tokens]
    agent: code-review
    files: ["src/lexer/**", Cargo.toml]
    check: cargo test -q lexer
    expects: { type: object, required: [tokens] }
"#;

fn parse(text: &str) -> Result<FleetPlan, Vec<String>> {
    FleetPlan::parse(Path::new("plan.yaml"), text).map_err(|all| all.iter().map(ToString::to_string).collect())
}

/// The problems of a plan with these todos.
fn problems(todos: &str) -> Vec<String> {
    parse(&format!("todos:\n{todos}")).unwrap_err()
}

#[test]
fn plan_defines_todos_agents_and_order() {
    let plan = parse(WHOLE).unwrap();
    assert_eq!(plan.goal.as_deref(), Some("Make the parser total"));
    assert_eq!((plan.limits.parallel, plan.limits.retries), (Some(8), Some(2)));
    assert_eq!(plan.limits.budget_usd, Some(2_500_000));
    assert_eq!(plan.limits.timeout, Some(Duration::from_secs(1_800)));
    let usual = |id, title| Todo {
        agent_type: Some("general-purpose".into()),
        model: Some("script/a.yaml".into()),
        ..Todo::new(id, title)
    };
    let lexer = Todo {
        description: Some("Every byte is some token.".into()),
        depends_on: vec![TodoId::from("tokens")],
        agent_type: Some("code-review".into()),
        files: vec!["src/lexer/**".into(), "Cargo.toml".into()],
        check: Some("cargo test -q lexer".into()),
        expects: Some(r#"{"required":["tokens"],"type":"object"}"#.into()),
        ..usual("lexer", "Make the lexer total")
    };
    assert_eq!(plan.todos, [usual("tokens", "Write the tokens"), lexer]);
    assert_eq!((plan.rounds, plan.isolated, plan.merge_check.as_deref()), (2, Some(true), Some("cargo test -q")));
}

#[test]
fn plan_may_be_json_and_has_defaults() {
    let plan = parse(r#"{ "todos": [ { "id": 7, "title": "Count", "agent_type": "explore" } ] }"#).unwrap();
    assert_eq!(plan.todos, [Todo { agent_type: Some("explore".into()), ..Todo::new("7", "Count") }]);
    assert_eq!((plan.goal, plan.limits.retries, plan.rounds, plan.isolated), (None, None, 0, None));
}

#[test]
fn all_errors_of_a_plan_are_reported_with_their_place() {
    let text = "\
goal: x
limit: { parallel: 8 }
limits: { parallel: 0, budget_usd: lots, timeout: 3 weeks, retires: 1 }
isolation: docker
rounds: many
todos:
  - id: a
    title: A
    depnds_on: [b]
  - id: a
    title: ''
  - id: b c
    title: B
  - title: C
  - id: d
    title: D
    depends_on: [e, dd]
    agent: x
    agent_type: y
    expects: yes please
";
    let expected = [
        "plan.yaml:4:12: `isolation` is `docker`; write `worktree` or `none`",
        "plan.yaml:5:9: `rounds` is a string; write a whole number from 1 to 100",
        "plan.yaml:2:1: unknown key `limit`; did you mean `limits`?",
        "plan.yaml:3:21: limits: `parallel` is 0; write a whole number from 1 to 4096",
        "plan.yaml:3:36: limits: `lots` is not an amount of dollars such as 5 or 0.25; correct `budget_usd`",
        "plan.yaml:3:51: limits: `3 weeks` has an unknown unit; use ms, s, m or h; correct `timeout`",
        "plan.yaml:3:60: limits: unknown key `retires`; did you mean `retries`?",
        "plan.yaml:9:5: todo `a`: unknown key `depnds_on`; did you mean `depends_on`?",
        "plan.yaml:11:12: todo `a`: `title` is empty; write something, or leave it out",
        "plan.yaml:12:9: todo 3: `b c` is not an id; use letters, digits, `-`, `_`, `.`, `/` and `:`",
        "plan.yaml:14:5: todo 4: it has no `id`; add `id`: a short name that is unique in the plan",
        "plan.yaml:19:17: todo `d`: `agent_type` repeats `agent`; remove one",
        "plan.yaml:20:14: todo `d`: `expects` is not a table; write a JSON Schema, such as `{ type: object }`",
        "plan.yaml:10:9: duplicate id `a`, first in line 7; give one another id",
        "plan.yaml:17:18: todo `d`: it depends on `e`, which is missing; name a todo of this plan, or add it",
        "plan.yaml:17:21: todo `d`: it depends on `dd`, which is missing; did you mean `d`?",
    ];
    assert_eq!(parse(text).unwrap_err(), expected);
}

#[test]
fn each_dependency_cycle_is_reported_once() {
    let todo = |id: &str, above: &str| format!("  - {{ id: {id}, title: T, depends_on: [{above}] }}\n");
    let circles = [todo("a", "b"), todo("b", "c"), todo("c", "a"), todo("d", "a"), todo("e", "e")].concat();
    let remedy = "remove one of these dependencies";
    let told = problems(&circles);
    assert_eq!(
        told,
        [
            format!("plan.yaml:2:37: todos wait for each other: a → b → c → a; {remedy}"),
            format!("plan.yaml:6:37: todos wait for each other: e → e; {remedy}"),
        ]
    );
}

#[test]
fn plan_shape_has_layers_and_a_longest_path() {
    let todo = |id: &str, above: &str| format!("  - {{ id: {id}, title: T, depends_on: [{above}] }}\n");
    let todos = [todo("end", "left, right, left"), todo("left", "top"), todo("right", "low"), todo("low", "top")];
    let plan = parse(&format!("todos:\n{}  - {{ id: top, title: T }}\n", todos.concat())).unwrap();
    let shape = plan.shape();
    let names = |ids: &[TodoId]| ids.iter().map(|id| id.0.clone()).collect::<Vec<_>>();
    let layers: Vec<Vec<String>> = shape.layers.iter().map(|layer| names(layer)).collect();
    assert_eq!(layers, [vec!["top"], vec!["left", "low"], vec!["right"], vec!["end"]]);
    assert_eq!(names(&shape.longest), ["top", "low", "right", "end"]);
    assert_eq!(shape.widest(), 2);
    assert_eq!(plan.todos[0].depends_on, [TodoId::from("left"), TodoId::from("right")]);
}

#[test]
fn invalid_plan_is_refused() {
    for (text, expected) in [
        ("", "plan.yaml"),
        ("- a\n", "expected a table, found a list"),
        ("todos: []\n", "`todos` is empty"),
        ("todos: 3\n", "`todos` is a number"),
        ("goal: x\n", "it has no `todos`"),
        ("todos: [ { id: a, title: A, id: b } ]\n", "duplicate key `id`"),
        ("todos:\n\t- id: a\n", "YAML does not allow tabs as indentation"),
        ("todos: [ { id: a, title: 'x\n\n y' } ]\n", "several lines"),
        ("todos: [ 3 ]\n", "todo 1: expected a table, found a number"),
        ("todos: [ { id: a, title: A, files: [[b]] } ]\n", "`files` is a list; write a list of strings"),
        ("todos: [ { id: a, title: A, check: } ]\n", "`check` has no value"),
    ] {
        let told = parse(text).unwrap_err();
        assert!(told.iter().any(|words| words.contains(expected)), "{text}: {told:?}");
    }
    let long = format!("todos: [ {{ id: a, title: {} }} ]", "x".repeat(501));
    assert!(parse(&long).unwrap_err()[0].contains("`title` has 501 bytes; the limit is 500"));
    let bomb = format!("a: &a [x]\n{}", (0..60).map(|n| format!("b{n}: [*a, *a]\n")).collect::<String>());
    assert!(parse(&bomb).is_err());
    let deep = format!("todos: {}{}", "[".repeat(5_000), "]".repeat(5_000));
    assert!(parse(&deep).is_err());
}

#[test]
fn plan_has_at_most_fifty_thousand_todos() {
    let mut text = "todos:\n".to_owned();
    for n in 0..50_000 {
        let above = if n == 0 { String::new() } else { format!("t{}", n - 1) };
        writeln!(text, "  - {{ id: t{n}, title: T, depends_on: [{above}] }}").unwrap();
    }
    let plan = parse(&text).unwrap();
    assert_eq!((plan.todos.len(), plan.shape().longest.len()), (50_000, 50_000));
    let more = format!("todos: [{}]", "1, ".repeat(50_001));
    assert!(parse(&more).unwrap_err()[0].contains("there are 50001 todos; the limit is 50000"));
}

#[test]
fn plan_file_is_read_and_unusable_files_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("plan.yaml");
    let told = |path: &Path| FleetPlan::read(path).unwrap_err()[0].to_string();
    assert!(told(&path).ends_with("it does not exist; name a plan file"));
    fs::write(&path, [0xff, 0xfe]).unwrap();
    assert!(told(&path).contains("not UTF-8 text"));
    assert!(told(folder.path()).contains("not a plain file"));
    fs::write(&path, WHOLE).unwrap();
    assert_eq!(FleetPlan::read(&path).unwrap().todos.len(), 2);
}

#[test]
fn documented_plan_is_valid() {
    let manual = format!("{}/../../docs/fleets.md", env!("CARGO_MANIFEST_DIR"));
    let manual = fs::read_to_string(manual).unwrap();
    let example = manual.split("```yaml\n").find(|block| block.starts_with("# plan.yaml")).unwrap();
    let plan = parse(example.split("```").next().unwrap()).unwrap();
    assert_eq!((plan.todos.len(), plan.shape().longest.len(), plan.isolated), (3, 3, Some(true)));
}

fn begin(plan: PlanDocument) -> BeginFleetParams {
    BeginFleetParams { plan: Some(plan), ..BeginFleetParams::default() }
}

fn with_text(text: &str) -> PlanDocument {
    PlanDocument { text: Some(text.into()), file: Some("plan.yaml".into()), object: None }
}

#[test]
fn a_request_overrides_its_plan() {
    let request = begin(with_text(WHOLE));
    let PreparedFleet { session, fleet } = prepare_fleet(request.clone()).unwrap();
    assert_eq!(
        (session.max_budget_usd, session.timeout_seconds),
        (Some(Usd(2_500_000)), Some(Seconds(Duration::from_secs(1_800))))
    );
    assert_eq!(
        (fleet.prompt.as_deref(), fleet.plan_file.as_deref()),
        (Some("Make the parser total"), Some("plan.yaml"))
    );
    assert_eq!((fleet.parallel, fleet.retries, fleet.rounds, fleet.isolated), (Some(8), Some(2), Some(2), Some(true)));
    assert_eq!((fleet.check.as_deref(), fleet.todos.len()), (Some("cargo test -q"), 2));
    let options = SessionOptions { max_budget_usd: Some(Usd(7)), ..SessionOptions::default() };
    let terms = FleetParams { parallel: Some(1), rounds: Some(0), ..FleetParams::new(Some("bake")) };
    let PreparedFleet { session, fleet } =
        prepare_fleet(BeginFleetParams { session: options, fleet: terms, ..request }).unwrap();
    assert_eq!((session.max_budget_usd, fleet.prompt.as_deref()), (Some(Usd(7)), Some("bake")));
    assert_eq!((fleet.parallel, fleet.retries, fleet.rounds), (Some(1), Some(2), Some(0)));
}

#[test]
fn a_plan_may_be_an_object() {
    let Value::Object(object) = json!({ "todos": [{ "id": "a", "title": "A", "expects": { "type": "object" } }] })
    else {
        unreachable!()
    };
    let document = |object| PlanDocument { object: Some(object), ..PlanDocument::default() };
    let PreparedFleet { fleet, .. } = prepare_fleet(begin(document(object.clone()))).unwrap();
    assert_eq!((fleet.todos.len(), fleet.todos[0].expects.as_deref()), (1, Some(r#"{"type":"object"}"#)));
    assert_eq!((fleet.prompt.as_deref(), fleet.plan_file.as_deref()), (Some("the plan"), Some("")));
    let mut wrong = object;
    wrong.insert("todos".into(), json!([{ "id": "a" }]));
    let refused = prepare_fleet(begin(document(wrong))).unwrap_err().to_string();
    assert!(refused.starts_with("the plan has 1 problem\nthe plan: todo `a`: it has no `title`"), "{refused}");
}

#[test]
fn a_plan_that_cannot_be_used_is_refused_with_file_line_and_reason() {
    let refused = prepare_fleet(begin(with_text("todos:\n  - { id: a, title: A, depends_on: [b] }\n"))).unwrap_err();
    let text = refused.to_string();
    assert!(text.starts_with("plan.yaml has 1 problem\nplan.yaml:2:"), "{text}");
    let both = PlanDocument { object: Some(serde_json::Map::new()), ..with_text(WHOLE) };
    let todos = FleetParams { todos: vec![Todo::new("a", "A").into()], ..FleetParams::default() };
    let shared = FleetParams { merge: true, isolated: Some(false), ..FleetParams::default() };
    for (request, reason) in [
        (begin(both), "a plan is either a `text` or an `object`"),
        (begin(PlanDocument::default()), "a plan is either a `text` or an `object`"),
        (BeginFleetParams { fleet: todos, ..begin(with_text(WHOLE)) }, "there are two plans"),
        (
            BeginFleetParams { fleet: shared, ..begin(with_text(WHOLE)) },
            "`merge` needs workers with their own checkouts",
        ),
        (BeginFleetParams::default(), "the fleet has neither a prompt nor a plan"),
    ] {
        let refused = prepare_fleet(request).unwrap_err();
        assert!(refused.to_string().contains(reason) && refused.hint().is_some(), "{refused}");
    }
}

/// A catalog with one agent and one model, which refuses patterns with brackets and schemas that are not objects.
struct Small;

impl PlanChecker for Small {
    fn check_agent(&self, name: &str) -> Result<(), String> {
        if name == "explore" { Ok(()) } else { Err(format!("there is no agent `{name}`")) }
    }

    fn check_model(&self, spec: &str) -> Result<(), String> {
        if spec == "a/b" { Ok(()) } else { Err(format!("there is no model `{spec}`")) }
    }

    fn check_pattern(&self, glob: &str) -> Result<(), String> {
        if glob.contains('[') { Err("no brackets".into()) } else { Ok(()) }
    }

    fn check_schema(&self, schema: &Value) -> Result<(), String> {
        if schema["type"] == "object" { Ok(()) } else { Err("no object".into()) }
    }
}

#[test]
fn missing_agents_and_models_are_reported_with_their_place() {
    let plan = parse(
        "defaults: { model: no/such }
todos:
  - { id: a, title: A, agent: explore, model: a/b, files: [x, 'y['], expects: { type: object } }
  - { id: b, title: B, agent: explorer, expects: { type: text } }
",
    );
    let told: Vec<String> = plan.unwrap().check(&Small).iter().map(ToString::to_string).collect();
    let expected = [
        "plan.yaml:3:63: todo `a`: no brackets; write a path or a pattern such as `src/**/*.rs`",
        "plan.yaml:4:31: todo `b`: there is no agent `explorer`; name another `agent`; see `bosun catalog list`",
        "plan.yaml:1:20: todo `b`: there is no model `no/such`; name another `model`; see `bosun models`",
        "plan.yaml:4:50: todo `b`: no object; write a self-contained JSON Schema in `expects`",
    ];
    assert_eq!(told, expected);
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the one switch of this test")]
fn the_schema_of_plans_is_the_one_that_is_checked_in() {
    let path = format!("{}/../../schemas/plan.schema.json", env!("CARGO_MANIFEST_DIR"));
    let schema = generate_plan_schema();
    if std::env::var_os("BOSUN_BLESS").is_some() {
        fs::write(&path, format!("{schema:#}\n")).unwrap();
    }
    let checked_in: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(checked_in, schema, "run this test with BOSUN_BLESS=1 to write the schema anew");
}

/// The error message for an unknown key lists the known keys.
fn known(text: &str) -> Vec<String> {
    let told = parse(text).unwrap_err();
    let keys = told.iter().find_map(|words| words.split_once("known keys: ")).unwrap().1;
    let mut keys: Vec<String> = keys.split(", ").map(str::to_owned).collect();
    keys.sort();
    keys
}

#[test]
fn schema_has_exactly_the_keys_that_are_read() {
    let schema = generate_plan_schema();
    let keys = |table: &Value| table["properties"].as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    let part = |name: &str| keys(&schema["$defs"][name]);
    assert_eq!(keys(&schema), known("zzzzzzzz: 1"));
    assert_eq!(part("Limits"), known("limits: { zzzzzzzz: 1 }\ntodos: [{ id: a, title: A }]"));
    assert_eq!(part("Defaults"), known("defaults: { zzzzzzzz: 1 }\ntodos: [{ id: a, title: A }]"));
    assert_eq!(part("Todo"), known("todos: [{ id: a, title: A, zzzzzzzz: 1 }]"));
    assert_eq!(schema["additionalProperties"], json!(false));
    assert_eq!(schema["$defs"]["Todo"]["required"], json!(["id", "title"]));
}
