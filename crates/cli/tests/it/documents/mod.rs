//! Examples in the documentation work as printed.

mod examples;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use testkit::binary::BinaryFixture;

use crate::fixture;

/// A stand-in for `cargo test` that passes once the source is repaired.
const CARGO: &str = "#!/bin/sh
grep -q 'a + b' src/lib.rs && echo 'test tests::adds ... ok' && exit
echo 'test tests::adds ... FAILED'; exit 101
";

fn read(file: &str) -> String {
    fs::read_to_string(format!("{}/../../{file}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

fn examples(file: &str) -> Vec<String> {
    read(file).split("```yaml\n").skip(1).map(|rest| rest.split("```").next().unwrap().to_owned()).collect()
}

/// A folder with a stand-in for `cargo` and the files of the examples.
fn workshop() -> BinaryFixture {
    let fixture = fixture();
    fs::create_dir_all(fixture.path("src")).unwrap();
    fs::write(fixture.path("src/lib.rs"), "pub fn add(a: u8, b: u8) -> u8 { a - b }\n").unwrap();
    fs::write(fixture.path("a.txt"), "a\n").unwrap();
    fs::write(fixture.path("b.txt"), "b\n").unwrap();
    fs::write(fixture.path("cargo"), CARGO).unwrap();
    fs::set_permissions(fixture.path("cargo"), fs::Permissions::from_mode(0o755)).unwrap();
    fixture
}

/// Runs an example with a turn limit that no example reaches.
fn answer(fixture: &BinaryFixture, prompt: &str, code: i32) -> String {
    let path = format!("{}:/usr/bin:/bin", fixture.folder().display());
    fixture.prompt(prompt).args(["--max-turns", "8"]).env("PATH", path).run().expect(code).stdout
}

#[test]
fn every_example_of_a_script_runs_to_its_end() {
    let fixture = workshop();
    let [first, rules, conditions, steps, failures, references] =
        <[String; 6]>::try_from(examples("docs/script-model.md")).unwrap();
    assert_eq!(answer(fixture.script(&first), "look", 0), "I have seen it.\n");
    assert_eq!(answer(fixture.script(&rules), "fix the sum", 0), "Done after 5 turns.\n");
    assert!(fs::read_to_string(fixture.path("src/lib.rs")).unwrap().contains("a + b"));
    assert_eq!(answer(fixture.script(&conditions), "look around", 0), "I have looked long enough.\n");
    fixture.script(&steps);
    assert_eq!(answer(&fixture, "malformed", 0), "I have tried.\n");
    assert_eq!(answer(&fixture, "twice", 0), "I have tried.\n");
    assert!(answer(&fixture, "slow", 0).ends_with("And these after a pause.\n"));
    assert_eq!(answer(&fixture, "too long", 1), "And so on, and so\n");
    assert_eq!(answer(fixture.script(&failures), "go", 0), "Here I am.\n");
    let wrote = answer(fixture.script(&references), "write 1 kilobytes to big.txt", 0);
    assert!(wrote.starts_with("The tool said: "), "{wrote}");
    assert_eq!(fs::metadata(fixture.path("big.txt")).unwrap().len(), 1024);
}

#[test]
fn the_manual_names_every_model_with_a_price_and_the_day_of_the_list() {
    let manual = read("docs/providers.md");
    assert!(manual.contains(&format!("as of {}", model::prices::AS_OF)));
    let listed = [model::WireFormat::Anthropic, model::WireFormat::Chat].map(model::prices::price_table);
    for name in listed.iter().flat_map(|table| table.keys()) {
        assert!(manual.contains(&format!("`{name}`")), "{name}");
    }
}

#[test]
fn settings_examples_are_valid() {
    for (file, provider) in
        [("docs/providers.md", "gateway"), ("docs/local-models.md", "attic"), ("docs/cli.md", "ollama")]
    {
        let fixture = fixture();
        fs::create_dir(fixture.home()).unwrap();
        let settings = read(file).split("```toml\n").nth(1).unwrap().split("```").next().unwrap().to_owned();
        // Do not probe the machine's own servers.
        let alone = "\n[providers.llama-server]\nbase-url = 'http://10.0.0.1/v1'\n[providers.llamacpp]\nbase-url = 'http://10.0.0.1/v1'\n[providers.lmstudio]\nbase-url = 'http://10.0.0.1/v1'\n";
        fs::write(fixture.home().join("config.toml"), settings + alone).unwrap();
        let list = fixture.bosun(["models", "--json"]).env("OLLAMA_HOST", "http://10.0.0.1").run().expect(0).json();
        let names: Vec<&str> =
            list["providers"].as_array().unwrap().iter().filter_map(|one| one["name"].as_str()).collect();
        assert!(names.contains(&provider), "{file}: {names:?}");
    }
}

#[test]
fn the_glossary_explains_each_word_once() {
    let glossary = read("docs/glossary.md");
    let mut terms: Vec<&str> =
        glossary.lines().filter_map(|line| Some(line.strip_prefix("**")?.split_once("**:")?.0)).collect();
    let all = terms.len();
    terms.sort_unstable();
    terms.dedup();
    assert!(all > 50);
    assert_eq!(terms.len(), all);
}

#[test]
fn plan_example_is_valid() {
    let fixture = fixture();
    let [plan] = <[String; 1]>::try_from(examples("docs/fleets.md")).unwrap();
    fs::write(fixture.path("plan.yaml"), plan).unwrap();
    let output = fixture.bosun(["fleet", "check", "plan.yaml"]).run().expect(0).stdout;
    assert!(output.contains("tokens → lexer → review"), "{output}");
}

#[test]
fn index_lists_every_page_and_links_resolve() {
    let index = read("docs/README.md");
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let names = fs::read_dir(top.join("docs")).unwrap().map(|page| page.unwrap().file_name().into_string().unwrap());
    let names: Vec<String> = names.filter(|name| name.ends_with(".md")).collect();
    for name in names.iter().filter(|name| *name != "README.md") {
        assert!(index.contains(&format!("]({name})")), "{name}");
    }
    for page in names.iter().map(|name| format!("docs/{name}")).chain(["README.md".to_owned()]) {
        let folder = top.join(Path::new(&page).parent().unwrap());
        for link in read(&page).split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let (file, part) = link.split_once('#').unwrap_or((link, ""));
            if file.contains("://") {
                continue;
            }
            let target = if file.is_empty() { top.join(&page) } else { folder.join(file) };
            let text = fs::read_to_string(target).unwrap_or_else(|_gone| panic!("{page}: {link}"));
            assert!(part.is_empty() || text.lines().filter_map(heading).any(|name| name == part), "{page}: {link}");
        }
    }
}

/// The link anchor of a heading.
fn heading(line: &str) -> Option<String> {
    let title = line.strip_prefix('#')?.trim_start_matches('#').trim().to_lowercase();
    Some(title.replace(' ', "-").chars().filter(|c| c.is_alphanumeric() || *c == '-').collect())
}

#[test]
fn architecture_page_is_short_and_its_paths_exist() {
    let page = read("ARCHITECTURE.md");
    assert!(page.lines().count() <= 200);
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for place in page.split('`').skip(1).step_by(2).filter(|place| place.contains("/src/") && !place.contains('*')) {
        assert!(crates.join(place).exists(), "{place}");
    }
}
