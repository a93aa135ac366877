//! A person at a terminal is asked for the model or the key that is missing, instead of being told to come back.

use std::collections::BTreeMap;

use config::Access;
use model::Key as ProviderKey;

use super::draft::Draft;
use super::editor::{Editor, Pressed};
use super::history::History;
use super::key::Key as Typed;
use super::panel::Panel;
use super::person::{Deed, Person};
use super::questions::{Answered, Answers, Echo, Key, Offer, Questions, Save};
use super::text::{Lead, Span, wrap};
use crate::args::RunArgs;
use crate::failure::{Failure, Lacks};
use crate::models::{Found, look};
use crate::print;
use crate::setup::{Setup, refused};
use crate::style::Role;

/// What the person wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Decided {
    /// To go on: what was missing is in the setup.
    Model,
    /// The demonstration instead.
    Demo,
}

/// Asks for what is missing; fails as before where nobody can be asked, and where the person leaves.
pub(super) async fn model(setup: &mut Setup, args: &RunArgs, failure: Failure) -> Result<Decided, Failure> {
    // A terminal that shows what is typed is no place for a key.
    if setup.env.has_dumb_terminal() || setup.env.is_ci() {
        return Err(failure);
    }
    let questions = match failure.lacks() {
        None => return Err(failure),
        Some(Lacks::Key { provider, variable }) => Questions::only_key(provider, variable),
        Some(Lacks::Model) => {
            let access = setup.access(args)?;
            Questions::new(offers(&access, &look(&access).await))
        }
    };
    let (spec, key, save) = match ask(setup, questions).await? {
        None => return Err(failure),
        Some(Answers::Demo) => return Ok(Decided::Demo),
        Some(Answers::Key(key)) => (None, Some(key), Save::No),
        Some(Answers::Model { spec, key, save }) => (Some(spec), key, save),
    };
    if let Some(Key { variable, key }) = key {
        setup.env.take_key(&variable, &key);
    }
    if let Some(spec) = spec {
        if save == Save::AsDefault {
            tell_saved(setup, &spec);
        }
        setup.env.model = Some(spec);
    }
    Ok(Decided::Model)
}

/// What can be chosen: servers that run on this machine first.
fn offers(access: &Access, found: &BTreeMap<String, Found>) -> Vec<Offer> {
    let places = &access.providers.places;
    let running = found.iter().filter_map(|(name, found)| match found {
        Found::Running(models) if !models.is_empty() => {
            let url = places.get(name).map_or("", |place| place.base_url.as_str());
            let count = if models.len() == 1 { "1 model".into() } else { format!("{} models", models.len()) };
            Some(Offer {
                provider: name.clone(),
                about: format!("runs at {url}, with {count}"),
                key: None,
                models: models.clone(),
                default: models.first().cloned(),
            })
        }
        Found::Running(_) | Found::Nobody | Found::Stranger => None,
    });
    let others = access.choosable().into_iter().filter_map(|choosable| {
        let place = places.get(&choosable.provider)?;
        let (about, key) = match &place.key {
            ProviderKey::Missing { variable } => ("needs an API key".into(), Some(variable.clone())),
            ProviderKey::Given(_) | ProviderKey::Needless => (format!("at {}", place.base_url), None),
        };
        let models = place.models.keys().cloned().collect();
        Some(Offer { provider: choosable.provider, about, key, models, default: choosable.default })
    });
    running.chain(others).collect()
}

/// Asks one question after the other; gives nothing when the person leaves.
async fn ask(setup: &Setup, mut questions: Questions) -> Result<Option<Answers>, Failure> {
    let mut person = Person::meet(setup)?;
    person.editor = Editor::new(History::none());
    show(&mut person, &questions.words(), Role::Plain);
    loop {
        draw(&mut person, &questions);
        match person.next().await {
            Deed::Key(Typed::Escape) | Deed::Gone | Deed::Signal(_) => return Ok(None),
            Deed::Key(key) => match person.editor.press(key) {
                Pressed::Sent(line) => {
                    if let Some(answers) = answer(&mut person, &mut questions, &line) {
                        return Ok(Some(answers));
                    }
                }
                Pressed::Interrupt | Pressed::Leave => return Ok(None),
                Pressed::Redraw => person.screen.clear(),
                Pressed::Edited | Pressed::Complete | Pressed::Expand | Pressed::TooLong => {}
            },
            Deed::Resized => person.screen.resize(),
            Deed::Continued => person.screen.take(),
        }
        if person.screen.is_gone() {
            return Ok(None);
        }
    }
}

/// Takes an answer, and shows what it leads to.
fn answer(person: &mut Person, questions: &mut Questions, line: &str) -> Option<Answers> {
    let shown = if questions.echo() == Echo::Hidden { "" } else { line };
    show(person, &[format!("{}{shown}", questions.prompt())], Role::Dim);
    match questions.answer(line) {
        Answered::Next => show(person, &questions.words(), Role::Plain),
        Answered::Unclear(why) => show(person, &[why], Role::Bad),
        Answered::Done(answers) => return Some(answers),
    }
    None
}

fn show(person: &mut Person, lines: &[String], role: Role) {
    let columns = person.screen.columns();
    let rows: Vec<_> =
        lines.iter().flat_map(|line| wrap(&[Span::new(role, line)], columns, &Lead::default())).collect();
    person.screen.show(rows);
}

fn draw(person: &mut Person, questions: &Questions) {
    let prompt = questions.prompt();
    let typed = person.editor.draft();
    let masked = Draft::new(&"•".repeat(typed.text().chars().count()));
    let draft = if questions.echo() == Echo::Hidden { &masked } else { typed };
    let laid = Panel { tail: Vec::new(), notes: Vec::new(), prompt: &prompt, draft }.lay(person.screen.size());
    person.screen.draw(&laid, Some(&prompt));
}

/// Writes the default, and says where it stands. The session goes on with the model if it cannot be written.
fn tell_saved(setup: &Setup, spec: &str) {
    let path = setup.home.root().join("config.toml");
    let saved = setup.home.lock("settings").map_err(Failure::from);
    let saved = saved.and_then(|_lock| config::add_model(&path, spec).map_err(refused));
    print::note(print::plain(&match saved {
        Ok(()) => format!("{spec} is the default from now on; it stands in {}", path.display()),
        Err(failure) => format!("warning: {spec} is used for this session only: {failure}"),
    }));
}

#[cfg(test)]
mod tests {
    use super::*;
    use config::{Env, File};

    #[test]
    fn servers_that_run_come_first_and_those_without_a_model_are_left_out() {
        let access = File::default().resolve().access(&Env::default()).unwrap();
        let found = [
            ("llamacpp", Found::Running(Vec::new())),
            ("lmstudio", Found::Nobody),
            ("ollama", Found::Running(vec!["qwen3:8b".into()])),
        ];
        let found = found.into_iter().map(|(name, found)| (name.to_owned(), found)).collect();
        let offers = offers(&access, &found);
        let told: Vec<_> = offers.iter().map(|offer| (offer.provider.as_str(), offer.key.as_deref())).collect();
        let (anthropic, openai) = (Some("ANTHROPIC_API_KEY"), Some("OPENAI_API_KEY"));
        assert_eq!(told, [("ollama", None), ("anthropic", anthropic), ("openai", openai)]);
        assert_eq!(offers[0].default.as_deref(), Some("qwen3:8b"));
        let sonnet = offers[1].default.clone().unwrap();
        assert!(offers[1].models.contains(&sonnet), "{sonnet}");
    }
}
