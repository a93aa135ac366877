//! Questions before the first conversation: the provider, its key and the model.

/// Maximum number of models listed.
const MAX_LISTED_MODELS: usize = 12;

/// A provider that can be chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderOffer {
    /// Its name.
    pub provider: String,
    /// Its description in the list.
    pub description: String,
    /// The variable of its key, if the key is missing.
    pub missing_key_variable: Option<String>,
    /// Its known models.
    pub models: Vec<String>,
    /// The default model.
    pub default: Option<String>,
}

/// A local server that cannot be chosen yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadyServer {
    /// The name of its provider.
    pub provider: String,
    /// What the user has to do first.
    pub remedy: String,
}

/// The questions and the current step.
#[derive(Debug)]
pub struct SetupQuestions {
    offers: Vec<ProviderOffer>,
    unready: Vec<UnreadyServer>,
    step: SetupStep,
}

#[derive(Debug)]
enum SetupStep {
    Provider,
    Key {
        offer: ProviderOffer,
    },
    /// Only the key; the model is already chosen.
    OnlyKey {
        provider: String,
        variable: String,
    },
    Model {
        offer: ProviderOffer,
        key: Option<EnteredApiKey>,
    },
    Save {
        spec: String,
        key: Option<EnteredApiKey>,
    },
}

/// A key entered by the user.
#[derive(Clone, PartialEq, Eq)]
pub struct EnteredApiKey {
    /// The environment variable that it is for.
    pub variable: String,
    /// The key.
    pub key: String,
}

impl std::fmt::Debug for EnteredApiKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Key").field("variable", &self.variable).finish_non_exhaustive()
    }
}

/// The result of an answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum SetupAnswerResult {
    /// The next question.
    Next,
    /// The same question again, and why.
    Unclear(String),
    /// All questions are answered.
    Done(SetupAnswers),
}

/// All answers.
#[derive(Debug, PartialEq, Eq)]
pub enum SetupAnswers {
    /// The demo, which needs no provider.
    Demo,
    /// A key for the chosen model.
    Key(EnteredApiKey),
    /// A model.
    Model {
        /// The provider and the name.
        spec: String,
        /// The key, if it was missing.
        key: Option<EnteredApiKey>,
        /// Whether it becomes the default.
        save: SaveModel,
    },
}

/// Whether to save the model as the default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SaveModel {
    /// From now on.
    AsDefault,
    /// For this session only.
    No,
}

/// Whether input is visible on the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InputEcho {
    Shown,
    Hidden,
}

impl SetupQuestions {
    /// Asks all questions with these offers; the first offer is the default.
    pub fn new(offers: Vec<ProviderOffer>) -> SetupQuestions {
        SetupQuestions { offers, unready: Vec::new(), step: SetupStep::Provider }
    }

    /// Adds the local servers that cannot be chosen yet.
    pub fn with_unready_servers(self, unready: Vec<UnreadyServer>) -> SetupQuestions {
        SetupQuestions { unready, ..self }
    }

    /// Asks only for the key of a provider.
    pub fn only_key(provider: &str, variable: &str) -> SetupQuestions {
        let step = SetupStep::OnlyKey { provider: provider.into(), variable: variable.into() };
        SetupQuestions { offers: Vec::new(), unready: Vec::new(), step }
    }

    /// The text above the current question.
    pub(super) fn question_lines(&self) -> Vec<String> {
        match &self.step {
            SetupStep::Provider => self.provider_lines(),
            SetupStep::Key { offer: ProviderOffer { provider, missing_key_variable: Some(variable), .. } } => {
                key_question_lines(provider, variable)
            }
            SetupStep::OnlyKey { provider, variable } => key_question_lines(provider, variable),
            SetupStep::Model { offer, .. } => {
                let listed =
                    offer.models.iter().take(MAX_LISTED_MODELS).zip(1..).map(|(name, n)| format!("{n:<3} {name}"));
                let more = offer.models.len().saturating_sub(MAX_LISTED_MODELS);
                let rest = (more > 0).then(|| format!("and {more} more; type the name of one"));
                ["Which model?".into()].into_iter().chain(listed).chain(rest).collect()
            }
            SetupStep::Key { .. } | SetupStep::Save { .. } => Vec::new(),
        }
    }

    /// The first question, with everything that can be chosen.
    fn provider_lines(&self) -> Vec<String> {
        let asks_for_key = self.offers.iter().any(|offer| offer.missing_key_variable.is_some());
        let count = if asks_for_key { "up to four" } else { "three" };
        let heading = format!("No model is chosen yet. Answer {count} questions to start; Ctrl-C leaves.");
        let offers = self.offers.iter().map(|offer| (offer.provider.as_str(), offer.description.as_str()));
        let demo = ("demo", "a scripted model repairs a sample project; needs no key");
        let offers = offers.chain([demo]).zip(1..).map(|((name, about), n)| format!("{n:<3} {name:<13} {about}"));
        let unready: Vec<&str> = self.unready.iter().map(|server| server.provider.as_str()).collect();
        let local = (!unready.is_empty())
            .then(|| format!("Models on this machine: {}; type a name to see how to start it.", unready.join(", ")));
        [heading, String::new(), "Which provider?".into()].into_iter().chain(offers).chain(local).collect()
    }

    /// The prompt of the input line.
    pub(super) fn prompt(&self) -> String {
        match &self.step {
            SetupStep::Provider => "provider [1]: ".into(),
            SetupStep::Key { .. } | SetupStep::OnlyKey { .. } => "key: ".into(),
            SetupStep::Model { offer: ProviderOffer { default: Some(default), .. }, .. } => {
                format!("model [{default}]: ")
            }
            SetupStep::Model { .. } => "model: ".into(),
            SetupStep::Save { spec, .. } => format!("save {spec} as your default? [Y/n]: "),
        }
    }

    pub(super) fn echo(&self) -> InputEcho {
        match self.step {
            SetupStep::Key { .. } | SetupStep::OnlyKey { .. } => InputEcho::Hidden,
            SetupStep::Provider | SetupStep::Model { .. } | SetupStep::Save { .. } => InputEcho::Shown,
        }
    }

    /// Takes the answer to the current question.
    pub(super) fn answer(&mut self, line: &str) -> SetupAnswerResult {
        let line = line.trim();
        let (step, result) = match &self.step {
            SetupStep::Provider => match self.provider(line) {
                Ok(Some(offer)) => (step_after_provider(offer), SetupAnswerResult::Next),
                Ok(None) => return SetupAnswerResult::Done(SetupAnswers::Demo),
                Err(problem) => return SetupAnswerResult::Unclear(problem),
            },
            SetupStep::Key { offer } => {
                match parse_api_key(offer.missing_key_variable.as_deref().unwrap_or_default(), line) {
                    Ok(key) => (SetupStep::Model { offer: offer.clone(), key: Some(key) }, SetupAnswerResult::Next),
                    Err(problem) => return SetupAnswerResult::Unclear(problem),
                }
            }
            SetupStep::OnlyKey { variable, .. } => {
                return parse_api_key(variable, line)
                    .map_or_else(SetupAnswerResult::Unclear, |key| SetupAnswerResult::Done(SetupAnswers::Key(key)));
            }
            SetupStep::Model { offer, key } => match parse_model(offer, line) {
                Ok(name) => {
                    let spec = format!("{}/{name}", offer.provider);
                    (SetupStep::Save { spec, key: key.clone() }, SetupAnswerResult::Next)
                }
                Err(problem) => return SetupAnswerResult::Unclear(problem),
            },
            SetupStep::Save { spec, key } => {
                let save = match line.to_lowercase().as_str() {
                    "" | "y" | "yes" => SaveModel::AsDefault,
                    "n" | "no" => SaveModel::No,
                    _other => return SetupAnswerResult::Unclear("type y or n".into()),
                };
                return SetupAnswerResult::Done(SetupAnswers::Model { spec: spec.clone(), key: key.clone(), save });
            }
        };
        self.step = step;
        result
    }

    /// Returns the chosen offer; none for the demo, which is last in the list.
    fn provider(&self, line: &str) -> Result<Option<ProviderOffer>, String> {
        let line = if line.is_empty() { "1" } else { line };
        let last = self.offers.len() + 1;
        let named = self.offers.iter().find(|offer| offer.provider == line);
        if let Some(server) = self.unready.iter().find(|server| server.provider == line) {
            return Err(server.remedy.clone());
        }
        match (line.parse::<usize>(), named) {
            (_, Some(offer)) => Ok(Some(offer.clone())),
            (Ok(number), None) if number == last => Ok(None),
            (Ok(number), None) if (1..last).contains(&number) => Ok(self.offers.get(number - 1).cloned()),
            (Err(_name), None) if line == "demo" => Ok(None),
            (Ok(_) | Err(_), None) => Err(format!("type a number from 1 to {last}, or a name from the list")),
        }
    }
}

fn key_question_lines(provider: &str, variable: &str) -> Vec<String> {
    vec![
        format!("The API key of {provider}. It is not shown, and is used for this session only."),
        format!("To keep it, set {variable} in your shell profile."),
    ]
}

fn step_after_provider(offer: ProviderOffer) -> SetupStep {
    if offer.missing_key_variable.is_some() { SetupStep::Key { offer } } else { SetupStep::Model { offer, key: None } }
}

/// Parses a key: one word of printable characters.
fn parse_api_key(variable: &str, line: &str) -> Result<EnteredApiKey, String> {
    match line {
        "" => Err(format!("type or paste the key, or leave with Ctrl-C and set {variable}")),
        key if key.chars().all(|c| c.is_ascii_graphic()) => {
            Ok(EnteredApiKey { variable: variable.into(), key: key.into() })
        }
        _other => Err("a key is one word of letters, digits and punctuation".into()),
    }
}

/// Parses a model name or number. A provider may have more models than the known ones.
fn parse_model(offer: &ProviderOffer, line: &str) -> Result<String, String> {
    let count = offer.models.len().min(MAX_LISTED_MODELS);
    let input = line.strip_prefix(&format!("{}/", offer.provider)).unwrap_or(line);
    match (input, input.parse::<usize>()) {
        ("", _) => offer.default.clone().ok_or_else(|| "type the name of a model".into()),
        (name, _) if offer.models.iter().any(|known| known == name) => Ok(name.into()),
        (_, Ok(number)) => {
            let listed = number.checked_sub(1).and_then(|index| offer.models.get(index).filter(|_| index < count));
            listed.cloned().ok_or_else(|| format!("no model in the list has the number {number}"))
        }
        (name, Err(_)) if name.contains(char::is_whitespace) => Err("the name of a model is one word".into()),
        (name, Err(_)) => Ok(name.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offer(provider: &str, key: Option<&str>, models: &[&str]) -> ProviderOffer {
        let models: Vec<String> = models.iter().map(|&name| name.into()).collect();
        let default = models.first().cloned();
        ProviderOffer {
            provider: provider.into(),
            description: "about it".into(),
            missing_key_variable: key.map(str::to_owned),
            models,
            default,
        }
    }

    fn questions() -> SetupQuestions {
        let anthropic = offer("anthropic", Some("ANTHROPIC_API_KEY"), &["sonnet", "opus"]);
        SetupQuestions::new(vec![offer("ollama", None, &["qwen3:8b", "gemma"]), anthropic])
    }

    /// Answers the questions in order; every answer but the last must lead to the next question.
    fn answer(questions: &mut SetupQuestions, lines: &[&str]) -> SetupAnswerResult {
        let (last, earlier) = lines.split_last().unwrap();
        earlier.iter().for_each(|line| assert_eq!(questions.answer(line), SetupAnswerResult::Next, "{line}"));
        questions.answer(last)
    }

    fn model(spec: &str, key: Option<&str>, save: SaveModel) -> SetupAnswerResult {
        let key = key.map(|key| EnteredApiKey { variable: "ANTHROPIC_API_KEY".into(), key: key.into() });
        SetupAnswerResult::Done(SetupAnswers::Model { spec: spec.into(), key, save })
    }

    #[test]
    fn enter_accepts_the_defaults_and_a_local_server_needs_no_key() {
        assert_eq!(answer(&mut questions(), &["", "", ""]), model("ollama/qwen3:8b", None, SaveModel::AsDefault));
        assert_eq!(answer(&mut questions(), &["1", "2", "n"]), model("ollama/gemma", None, SaveModel::No));
    }

    #[test]
    fn a_provider_that_needs_a_key_asks_for_it_without_showing_it() {
        let mut setup = questions();
        assert_eq!((setup.echo(), setup.answer("anthropic")), (InputEcho::Shown, SetupAnswerResult::Next));
        assert_eq!((setup.echo(), setup.prompt().as_str()), (InputEcho::Hidden, "key: "));
        assert!(setup.question_lines()[1].contains("ANTHROPIC_API_KEY"));
        assert!(matches!(setup.answer(""), SetupAnswerResult::Unclear(_)));
        assert!(matches!(setup.answer("two words"), SetupAnswerResult::Unclear(_)));
        assert_eq!(setup.answer(" sk-1 "), SetupAnswerResult::Next);
        assert_eq!((setup.echo(), setup.prompt().as_str()), (InputEcho::Shown, "model [sonnet]: "));
        assert!(!format!("{setup:?}").contains("sk-1"));
        let named = answer(&mut setup, &["anthropic/haiku-9", "y"]);
        assert_eq!(named, model("anthropic/haiku-9", Some("sk-1"), SaveModel::AsDefault));
    }

    #[test]
    fn invalid_answers_are_asked_again() {
        let mut setup = questions();
        for invalid in ["0", "4", "mistral", "-1"] {
            assert!(matches!(setup.answer(invalid), SetupAnswerResult::Unclear(_)), "{invalid}");
        }
        assert_eq!(setup.answer("ollama"), SetupAnswerResult::Next);
        for invalid in ["3", "0", "a b"] {
            assert!(matches!(setup.answer(invalid), SetupAnswerResult::Unclear(_)), "{invalid}");
        }
        assert_eq!(setup.answer("gemma"), SetupAnswerResult::Next);
        assert!(matches!(setup.answer("perhaps"), SetupAnswerResult::Unclear(_)));
    }

    #[test]
    fn servers_that_do_not_run_are_named_with_what_to_start() {
        let unready = UnreadyServer { provider: "lmstudio".into(), remedy: "start it: lms server start".into() };
        let mut setup = questions().with_unready_servers(vec![unready]);
        assert!(setup.question_lines().last().unwrap().contains("lmstudio; type a name"));
        assert_eq!(setup.answer("lmstudio"), SetupAnswerResult::Unclear("start it: lms server start".into()));
        assert_eq!(setup.answer("ollama"), SetupAnswerResult::Next);
    }

    #[test]
    fn heading_counts_the_questions() {
        let heading = |offers| SetupQuestions::new(offers).question_lines().remove(0);
        assert!(heading(vec![offer("anthropic", Some("ANTHROPIC_API_KEY"), &["a"])]).contains("up to four questions"));
        assert!(heading(vec![offer("ollama", None, &["qwen3:8b"])]).contains("three questions"));
    }

    #[test]
    fn demo_is_last_in_the_list() {
        assert_eq!(questions().answer("3"), SetupAnswerResult::Done(SetupAnswers::Demo));
        assert_eq!(questions().answer("demo"), SetupAnswerResult::Done(SetupAnswers::Demo));
        assert_eq!(SetupQuestions::new(Vec::new()).answer(""), SetupAnswerResult::Done(SetupAnswers::Demo));
    }

    #[test]
    fn only_the_key_is_asked_if_the_model_is_chosen() {
        let mut setup = SetupQuestions::only_key("openai", "OPENAI_API_KEY");
        assert_eq!(setup.echo(), InputEcho::Hidden);
        let key = EnteredApiKey { variable: "OPENAI_API_KEY".into(), key: "sk-2".into() };
        assert_eq!(setup.answer("sk-2"), SetupAnswerResult::Done(SetupAnswers::Key(key)));
    }

    #[test]
    fn only_the_first_models_are_listed() {
        let names: Vec<String> = (0..20).map(|n| format!("m{n}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut setup = SetupQuestions::new(vec![offer("ollama", None, &names)]);
        setup.answer("1");
        assert_eq!(setup.question_lines().len(), 1 + MAX_LISTED_MODELS + 1);
        assert!(matches!(setup.answer("13"), SetupAnswerResult::Unclear(_)));
        assert_eq!(setup.answer("m15"), SetupAnswerResult::Next);
    }
}
