//! A person at a terminal is asked for the model or the key that is missing, instead of being told to come back.

use std::collections::BTreeMap;

use config::ModelAccess;
use model::ProviderKey;

use super::draft::InputDraft;
use super::editor::{EditorAction, LineEditor};
use super::history::InputHistory;
use super::key::KeyPress as Typed;
use super::panel::Panel;
use super::setup_questions::{
    EnteredApiKey, InputEcho, ProviderOffer, SaveModel, SetupAnswerResult, SetupAnswers, SetupQuestions,
};
use super::terminal::{ChatTerminal, TerminalEvent};
use super::text::{LinePrefix, StyledSpan, wrap};
use crate::args::RunArgs;
use crate::error::{CliError, MissingInput};
use crate::models::{ProbeResult, probe_local_servers};
use crate::print;
use crate::setup::{Setup, settings_failure};
use crate::style::TextRole;

/// What the person wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ModelSetupOutcome {
    /// To go on: what was missing is in the setup.
    Model,
    /// The demonstration instead.
    Demo,
}

/// Asks for what is missing; fails as before where nobody can be asked, and where the person leaves.
pub(super) async fn ask_for_model(
    setup: &mut Setup,
    args: &RunArgs,
    failure: CliError,
) -> Result<ModelSetupOutcome, CliError> {
    // A terminal that shows what is typed is not a place for a key.
    if setup.env.has_dumb_terminal() || setup.env.is_ci() {
        return Err(failure);
    }
    let questions = match failure.missing_input() {
        None => return Err(failure),
        Some(MissingInput::Key { provider, variable }) => SetupQuestions::only_key(provider, variable),
        Some(MissingInput::Model) => {
            let access = setup.access(args)?;
            SetupQuestions::new(provider_offers(&access, &probe_local_servers(&access).await))
        }
    };
    let (spec, key, save) = match ask_questions(setup, questions).await? {
        None => return Err(failure),
        Some(SetupAnswers::Demo) => return Ok(ModelSetupOutcome::Demo),
        Some(SetupAnswers::Key(key)) => (None, Some(key), SaveModel::No),
        Some(SetupAnswers::Model { spec, key, save }) => (Some(spec), key, save),
    };
    if let Some(EnteredApiKey { variable, key }) = key {
        setup.env.take_key(&variable, &key);
    }
    if let Some(spec) = spec {
        if save == SaveModel::AsDefault {
            save_default_model(setup, &spec);
        }
        setup.env.model = Some(spec);
    }
    Ok(ModelSetupOutcome::Model)
}

/// What can be chosen: servers that run on this machine first.
fn provider_offers(access: &ModelAccess, found: &BTreeMap<String, ProbeResult>) -> Vec<ProviderOffer> {
    let places = &access.providers.by_name;
    let running = found.iter().filter_map(|(name, found)| match found {
        ProbeResult::Running(models) if !models.is_empty() => {
            let url = places.get(name).map_or("", |place| place.base_url.as_str());
            let count = if models.len() == 1 { "1 model".into() } else { format!("{} models", models.len()) };
            Some(ProviderOffer {
                provider: name.clone(),
                about: format!("runs at {url}, with {count}"),
                key: None,
                models: models.clone(),
                default: models.first().cloned(),
            })
        }
        ProbeResult::Running(_) | ProbeResult::NotRunning | ProbeResult::OtherServer => None,
    });
    let others = access.choosable().into_iter().filter_map(|choosable| {
        let place = places.get(&choosable.provider)?;
        let (about, key) = match &place.key {
            ProviderKey::Missing { variable } => ("needs an API key".into(), Some(variable.clone())),
            ProviderKey::Present(_) | ProviderKey::NotNeeded => (format!("at {}", place.base_url), None),
        };
        let models = place.models.keys().cloned().collect();
        Some(ProviderOffer { provider: choosable.provider, about, key, models, default: choosable.default })
    });
    running.chain(others).collect()
}

/// Asks one question after the other; gives nothing when the person leaves.
async fn ask_questions(setup: &Setup, mut questions: SetupQuestions) -> Result<Option<SetupAnswers>, CliError> {
    let mut person = ChatTerminal::open(setup)?;
    person.editor = LineEditor::new(InputHistory::disabled());
    show_lines(&mut person, &questions.question_lines(), TextRole::Plain);
    loop {
        draw_question(&mut person, &questions);
        match person.next().await {
            TerminalEvent::Key(Typed::Escape) | TerminalEvent::Closed | TerminalEvent::Signal(_) => return Ok(None),
            TerminalEvent::Key(key) => match person.editor.press(key) {
                EditorAction::Submitted(line) => {
                    if let Some(answers) = take_answer(&mut person, &mut questions, &line) {
                        return Ok(Some(answers));
                    }
                }
                EditorAction::Interrupt | EditorAction::Leave => return Ok(None),
                EditorAction::Redraw => person.screen.clear(),
                EditorAction::Edited | EditorAction::Complete | EditorAction::Expand | EditorAction::TooLong => {}
            },
            TerminalEvent::Resized => person.screen.resize(),
            TerminalEvent::Continued => person.screen.take_over(),
        }
        if person.screen.is_closed() {
            return Ok(None);
        }
    }
}

/// Takes an answer, and shows what it leads to.
fn take_answer(person: &mut ChatTerminal, questions: &mut SetupQuestions, line: &str) -> Option<SetupAnswers> {
    let shown = if questions.echo() == InputEcho::Hidden { "" } else { line };
    show_lines(person, &[format!("{}{shown}", questions.prompt())], TextRole::Dim);
    match questions.answer(line) {
        SetupAnswerResult::Next => show_lines(person, &questions.question_lines(), TextRole::Plain),
        SetupAnswerResult::Unclear(why) => show_lines(person, &[why], TextRole::Bad),
        SetupAnswerResult::Done(answers) => return Some(answers),
    }
    None
}

fn show_lines(person: &mut ChatTerminal, lines: &[String], role: TextRole) {
    let columns = person.screen.columns();
    let rows: Vec<_> =
        lines.iter().flat_map(|line| wrap(&[StyledSpan::new(role, line)], columns, &LinePrefix::default())).collect();
    person.screen.show(rows);
}

fn draw_question(person: &mut ChatTerminal, questions: &SetupQuestions) {
    let prompt = questions.prompt();
    let typed = person.editor.draft();
    let masked = InputDraft::new(&"•".repeat(typed.text().chars().count()));
    let draft = if questions.echo() == InputEcho::Hidden { &masked } else { typed };
    let laid = Panel { tail: Vec::new(), notes: Vec::new(), prompt: &prompt, draft }.layout(person.screen.size());
    person.screen.draw(&laid, Some(&prompt));
}

/// Writes the default, and says where it stands. The session goes on with the model if it cannot be written.
fn save_default_model(setup: &Setup, spec: &str) {
    let path = setup.home.root().join("config.toml");
    let saved = setup.home.lock("settings").map_err(CliError::from);
    let saved = saved.and_then(|_lock| config::add_model(&path, spec).map_err(settings_failure));
    print::note(print::sanitize(&match saved {
        Ok(()) => format!("{spec} is the default from now on; it stands in {}", path.display()),
        Err(failure) => format!("warning: {spec} is used for this session only: {failure}"),
    }));
}

#[cfg(test)]
mod tests {
    use super::*;
    use config::{Env, SettingsFile};

    #[test]
    fn servers_that_run_come_first_and_those_without_a_model_are_left_out() {
        let access = SettingsFile::default().resolve().access(&Env::default()).unwrap();
        let found = [
            ("llamacpp", ProbeResult::Running(Vec::new())),
            ("lmstudio", ProbeResult::NotRunning),
            ("ollama", ProbeResult::Running(vec!["qwen3:8b".into()])),
        ];
        let found = found.into_iter().map(|(name, found)| (name.to_owned(), found)).collect();
        let offers = provider_offers(&access, &found);
        let told: Vec<_> = offers.iter().map(|offer| (offer.provider.as_str(), offer.key.as_deref())).collect();
        let (anthropic, openai) = (Some("ANTHROPIC_API_KEY"), Some("OPENAI_API_KEY"));
        assert_eq!(told, [("ollama", None), ("anthropic", anthropic), ("openai", openai)]);
        assert_eq!(offers[0].default.as_deref(), Some("qwen3:8b"));
        let sonnet = offers[1].default.clone().unwrap();
        assert!(offers[1].models.contains(&sonnet), "{sonnet}");
    }
}
