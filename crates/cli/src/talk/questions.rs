//! What a person is asked before the first conversation: which provider, its key, and which model.

/// Most models that are listed.
const LISTED: usize = 12;

/// A provider that can be chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Offer {
    pub(super) provider: String,
    /// What is said of it in the list.
    pub(super) about: String,
    /// The variable that its key is missing from.
    pub(super) key: Option<String>,
    /// The models that are known of it.
    pub(super) models: Vec<String>,
    /// The one that is taken without an answer.
    pub(super) default: Option<String>,
}

/// The questions, and how far the person has come.
#[derive(Debug)]
pub(super) struct Questions {
    offers: Vec<Offer>,
    step: Step,
}

#[derive(Debug)]
enum Step {
    Provider,
    Key {
        offer: Offer,
    },
    /// The key alone, since the model is chosen.
    OnlyKey {
        provider: String,
        variable: String,
    },
    Model {
        offer: Offer,
        key: Option<Key>,
    },
    Save {
        spec: String,
        key: Option<Key>,
    },
}

/// A key that was typed.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) variable: String,
    pub(super) key: String,
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Key").field("variable", &self.variable).finish_non_exhaustive()
    }
}

/// What an answer led to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Answered {
    /// The next question.
    Next,
    /// The same question again, and why.
    Unclear(String),
    /// Everything is known.
    Done(Answers),
}

/// What the person wants.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Answers {
    /// The demonstration, which needs no provider.
    Demo,
    /// A key for the model that is chosen.
    Key(Key),
    /// A model.
    Model { spec: String, key: Option<Key>, save: Save },
}

/// Whether the model is asked from now on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Save {
    AsDefault,
    No,
}

/// Whether what is typed can be read on the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Echo {
    Shown,
    Hidden,
}

impl Questions {
    /// All three, with what can be chosen; the first is the default.
    pub(super) fn new(offers: Vec<Offer>) -> Questions {
        Questions { offers, step: Step::Provider }
    }

    /// The key of a provider alone.
    pub(super) fn only_key(provider: &str, variable: &str) -> Questions {
        let step = Step::OnlyKey { provider: provider.into(), variable: variable.into() };
        Questions { offers: Vec::new(), step }
    }

    /// What is shown above the question that is open.
    pub(super) fn words(&self) -> Vec<String> {
        match &self.step {
            Step::Provider => {
                let head = "No model is chosen yet. Answer three questions to begin; Ctrl-C leaves.";
                let offers = self.offers.iter().map(|offer| (offer.provider.as_str(), offer.about.as_str()));
                let demo = ("demo", "a scripted model repairs a sample project; needs no key");
                let lines =
                    offers.chain([demo]).zip(1..).map(|((name, about), n)| format!("{n:>3}  {name:<13} {about}"));
                [head.into(), String::new(), "Which provider?".into()].into_iter().chain(lines).collect()
            }
            Step::Key { offer: Offer { provider, key: Some(variable), .. } } => key_words(provider, variable),
            Step::OnlyKey { provider, variable } => key_words(provider, variable),
            Step::Model { offer, .. } => {
                let listed = offer.models.iter().take(LISTED).zip(1..).map(|(name, n)| format!("{n:>3}  {name}"));
                let more = offer.models.len().saturating_sub(LISTED);
                let rest = (more > 0).then(|| format!("     and {more} more; type the name of one"));
                ["Which model?".into()].into_iter().chain(listed).chain(rest).collect()
            }
            Step::Key { .. } | Step::Save { .. } => Vec::new(),
        }
    }

    /// What the line begins with.
    pub(super) fn prompt(&self) -> String {
        match &self.step {
            Step::Provider => "provider [1]: ".into(),
            Step::Key { .. } | Step::OnlyKey { .. } => "key: ".into(),
            Step::Model { offer: Offer { default: Some(default), .. }, .. } => format!("model [{default}]: "),
            Step::Model { .. } => "model: ".into(),
            Step::Save { spec, .. } => format!("save {spec} as your default? [Y/n]: "),
        }
    }

    pub(super) fn echo(&self) -> Echo {
        match self.step {
            Step::Key { .. } | Step::OnlyKey { .. } => Echo::Hidden,
            Step::Provider | Step::Model { .. } | Step::Save { .. } => Echo::Shown,
        }
    }

    /// Takes the answer to the question that is open.
    pub(super) fn answer(&mut self, line: &str) -> Answered {
        let line = line.trim();
        let (step, answered) = match &self.step {
            Step::Provider => match self.provider(line) {
                Ok(Some(offer)) => (after_provider(offer), Answered::Next),
                Ok(None) => return Answered::Done(Answers::Demo),
                Err(why) => return Answered::Unclear(why),
            },
            Step::Key { offer } => match typed(offer.key.as_deref().unwrap_or_default(), line) {
                Ok(key) => (Step::Model { offer: offer.clone(), key: Some(key) }, Answered::Next),
                Err(why) => return Answered::Unclear(why),
            },
            Step::OnlyKey { variable, .. } => {
                return typed(variable, line).map_or_else(Answered::Unclear, |key| Answered::Done(Answers::Key(key)));
            }
            Step::Model { offer, key } => match model(offer, line) {
                Ok(name) => {
                    let spec = format!("{}/{name}", offer.provider);
                    (Step::Save { spec, key: key.clone() }, Answered::Next)
                }
                Err(why) => return Answered::Unclear(why),
            },
            Step::Save { spec, key } => {
                let save = match line.to_lowercase().as_str() {
                    "" | "y" | "yes" => Save::AsDefault,
                    "n" | "no" => Save::No,
                    _other => return Answered::Unclear("type y or n".into()),
                };
                return Answered::Done(Answers::Model { spec: spec.clone(), key: key.clone(), save });
            }
        };
        self.step = step;
        answered
    }

    /// The offer that was meant; none for the demonstration, which is the last of the list.
    fn provider(&self, line: &str) -> Result<Option<Offer>, String> {
        let line = if line.is_empty() { "1" } else { line };
        let last = self.offers.len() + 1;
        let named = self.offers.iter().find(|offer| offer.provider == line);
        match (line.parse::<usize>(), named) {
            (_, Some(offer)) => Ok(Some(offer.clone())),
            (Ok(number), None) if number == last => Ok(None),
            (Ok(number), None) if (1..last).contains(&number) => Ok(self.offers.get(number - 1).cloned()),
            (Err(_name), None) if line == "demo" => Ok(None),
            (Ok(_) | Err(_), None) => Err(format!("type a number from 1 to {last}, or a name of the list")),
        }
    }
}

fn key_words(provider: &str, variable: &str) -> Vec<String> {
    vec![
        format!("The API key of {provider}. It is not shown, and is used for this session only."),
        format!("To keep it, set {variable} in the profile of your shell."),
    ]
}

fn after_provider(offer: Offer) -> Step {
    if offer.key.is_some() { Step::Key { offer } } else { Step::Model { offer, key: None } }
}

/// A key as it can be sent: one word of printable characters.
fn typed(variable: &str, line: &str) -> Result<Key, String> {
    match line {
        "" => Err(format!("type or paste the key, or leave with Ctrl-C and set {variable}")),
        key if key.chars().all(|c| c.is_ascii_graphic()) => Ok(Key { variable: variable.into(), key: key.into() }),
        _other => Err("a key is one word of letters, digits and punctuation".into()),
    }
}

/// The model that was meant. A provider may have more than those that are known.
fn model(offer: &Offer, line: &str) -> Result<String, String> {
    let count = offer.models.len().min(LISTED);
    let own = line.strip_prefix(&format!("{}/", offer.provider)).unwrap_or(line);
    match (own, own.parse::<usize>()) {
        ("", _) => offer.default.clone().ok_or_else(|| "type the name of a model".into()),
        (name, _) if offer.models.iter().any(|known| known == name) => Ok(name.into()),
        (_, Ok(number)) => {
            let listed = number.checked_sub(1).and_then(|at| offer.models.get(at).filter(|_| at < count));
            listed.cloned().ok_or_else(|| format!("no model in the list has the number {number}"))
        }
        (name, Err(_)) if name.contains(char::is_whitespace) => Err("the name of a model is one word".into()),
        (name, Err(_)) => Ok(name.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offer(provider: &str, key: Option<&str>, models: &[&str]) -> Offer {
        let models: Vec<String> = models.iter().map(|&name| name.into()).collect();
        let default = models.first().cloned();
        Offer { provider: provider.into(), about: "about it".into(), key: key.map(str::to_owned), models, default }
    }

    fn questions() -> Questions {
        let anthropic = offer("anthropic", Some("ANTHROPIC_API_KEY"), &["sonnet", "opus"]);
        Questions::new(vec![offer("ollama", None, &["qwen3:8b", "gemma"]), anthropic])
    }

    /// Answers one question after the other; all but the last lead to the next.
    fn answer(questions: &mut Questions, lines: &[&str]) -> Answered {
        let (last, before) = lines.split_last().unwrap();
        before.iter().for_each(|line| assert_eq!(questions.answer(line), Answered::Next, "{line}"));
        questions.answer(last)
    }

    fn model(spec: &str, key: Option<&str>, save: Save) -> Answered {
        let key = key.map(|key| Key { variable: "ANTHROPIC_API_KEY".into(), key: key.into() });
        Answered::Done(Answers::Model { spec: spec.into(), key, save })
    }

    #[test]
    fn enter_alone_takes_what_is_offered_and_a_local_server_needs_no_key() {
        assert_eq!(answer(&mut questions(), &["", "", ""]), model("ollama/qwen3:8b", None, Save::AsDefault));
        assert_eq!(answer(&mut questions(), &["1", "2", "n"]), model("ollama/gemma", None, Save::No));
    }

    #[test]
    fn a_provider_that_needs_a_key_asks_for_it_without_showing_it() {
        let mut asked = questions();
        assert_eq!((asked.echo(), asked.answer("anthropic")), (Echo::Shown, Answered::Next));
        assert_eq!((asked.echo(), asked.prompt().as_str()), (Echo::Hidden, "key: "));
        assert!(asked.words()[1].contains("ANTHROPIC_API_KEY"));
        assert!(matches!(asked.answer(""), Answered::Unclear(_)));
        assert!(matches!(asked.answer("two words"), Answered::Unclear(_)));
        assert_eq!(asked.answer(" sk-1 "), Answered::Next);
        assert_eq!((asked.echo(), asked.prompt().as_str()), (Echo::Shown, "model [sonnet]: "));
        assert!(!format!("{asked:?}").contains("sk-1"));
        let named = answer(&mut asked, &["anthropic/haiku-9", "y"]);
        assert_eq!(named, model("anthropic/haiku-9", Some("sk-1"), Save::AsDefault));
    }

    #[test]
    fn what_is_not_understood_is_asked_again() {
        let mut asked = questions();
        for odd in ["0", "4", "mistral", "-1"] {
            assert!(matches!(asked.answer(odd), Answered::Unclear(_)), "{odd}");
        }
        assert_eq!(asked.answer("ollama"), Answered::Next);
        for odd in ["3", "0", "a b"] {
            assert!(matches!(asked.answer(odd), Answered::Unclear(_)), "{odd}");
        }
        assert_eq!(asked.answer("gemma"), Answered::Next);
        assert!(matches!(asked.answer("perhaps"), Answered::Unclear(_)));
    }

    #[test]
    fn the_demonstration_is_the_last_of_the_list() {
        assert_eq!(questions().answer("3"), Answered::Done(Answers::Demo));
        assert_eq!(questions().answer("demo"), Answered::Done(Answers::Demo));
        assert_eq!(Questions::new(Vec::new()).answer(""), Answered::Done(Answers::Demo));
    }

    #[test]
    fn the_key_alone_is_asked_for_where_the_model_is_chosen() {
        let mut asked = Questions::only_key("openai", "OPENAI_API_KEY");
        assert_eq!(asked.echo(), Echo::Hidden);
        let key = Key { variable: "OPENAI_API_KEY".into(), key: "sk-2".into() };
        assert_eq!(asked.answer("sk-2"), Answered::Done(Answers::Key(key)));
    }

    #[test]
    fn of_many_models_only_the_first_are_listed() {
        let names: Vec<String> = (0..20).map(|n| format!("m{n}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut asked = Questions::new(vec![offer("ollama", None, &names)]);
        asked.answer("1");
        assert_eq!(asked.words().len(), 1 + LISTED + 1);
        assert!(matches!(asked.answer("13"), Answered::Unclear(_)));
        assert_eq!(asked.answer("m15"), Answered::Next);
    }
}
