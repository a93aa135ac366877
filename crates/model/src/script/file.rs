//! The script file: its format, its limits, and its JSON Schema.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use protocol::Price;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use serde::Deserialize;
use serde_json::Value;

use super::ScriptError;
use super::answer::ScriptAnswer;
use super::given::{given, without_null};
use super::rule::ScriptRule;

/// Maximum bytes of a script.
const MAX_SCRIPT_BYTES: usize = 1 << 20;
/// Maximum rules of a script, turns of the short form included.
const MAX_RULES: usize = 1000;

/// The rules of a file, in order, and the price of its tokens.
#[derive(Debug, Deserialize)]
#[serde(try_from = "FileForm")]
pub(super) struct ScriptRules {
    pub(super) rules: Vec<ScriptRule>,
    pub(super) price: Option<Price>,
}

impl ScriptRules {
    /// Parses the rules in `text`; errors call it `file`.
    pub(super) fn parse(text: &str, file: &str) -> Result<ScriptRules, ScriptError> {
        if text.len() > MAX_SCRIPT_BYTES {
            return Err(ScriptError::TooLarge { file: file.into(), max: MAX_SCRIPT_BYTES });
        }
        serde_saphyr::from_str_with_options(text, yaml_limits()).map_err(|error| ScriptError::invalid(file, &error))
    }
}

/// Reads the text of a script, up to the limit.
pub(super) fn read_text(path: &Path) -> Result<String, ScriptError> {
    let file = || path.display().to_string();
    let failed = |source| ScriptError::Read { file: file(), source };
    let mut bytes = Vec::new();
    File::open(path).and_then(|file| file.take(MAX_SCRIPT_BYTES as u64 + 1).read_to_end(&mut bytes)).map_err(failed)?;
    // Before the bytes are decoded: the last character of a larger file may be cut.
    if bytes.len() > MAX_SCRIPT_BYTES {
        return Err(ScriptError::TooLarge { file: file(), max: MAX_SCRIPT_BYTES });
    }
    String::from_utf8(bytes)
        .map_err(|_| failed(io::Error::new(io::ErrorKind::InvalidData, "stream did not contain valid UTF-8")))
}

/// The JSON Schema of script files.
pub const SCRIPT_SCHEMA: &str = include_str!("../../../../schemas/script.schema.json");

/// Generates the JSON Schema of script files, with which a test compares the file.
pub fn generate_script_schema() -> Value {
    let settings = SchemaSettings::draft2020_12().for_deserialize();
    let settings = settings.with_transform(RecursiveTransform(without_null));
    settings.into_generator().into_root_schema_for::<FileForm>().to_value()
}

fn yaml_limits() -> serde_saphyr::Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: 48,
            max_nodes: 100_000,
            max_events: 200_000,
            max_aliases: 1000,
            max_anchors: 1000,
            max_recorded_anchor_events: 100_000,
            max_recorded_anchor_bytes: 4 * MAX_SCRIPT_BYTES,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: 100_000,
            max_replay_stack_depth: 16,
        },
        strict_booleans: true,
        with_snippet: false,
    }
}

/// A scripted model: rules that match on the conversation and answer it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "Bosun script")]
struct FileForm {
    /// The version of this format: 1.
    #[expect(dead_code, reason = "reading it is the check")]
    version: ScriptVersion,
    /// What the script is for.
    #[serde(default, deserialize_with = "given")]
    #[expect(dead_code, reason = "for readers only")]
    about: Option<String>,
    /// The price of its tokens, in US dollars per million; no price when left out.
    #[serde(default, deserialize_with = "given")]
    price: Option<PriceForm>,
    /// The rules; the first one whose conditions hold answers.
    #[serde(default)]
    rules: Vec<ScriptRule>,
    /// For each agent by name, its answers turn by turn; tried after the rules.
    #[serde(default)]
    agents: BTreeMap<String, AgentAnswers>,
}

/// The version of this format.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(try_from = "u32")]
#[schemars(with = "u32", extend("const" = 1))]
struct ScriptVersion;

impl TryFrom<u32> for ScriptVersion {
    type Error = String;

    fn try_from(version: u32) -> Result<ScriptVersion, String> {
        match version {
            1 => Ok(ScriptVersion),
            other => Err(format!("version {other} of the script format is unknown; this program reads version 1")),
        }
    }
}

/// The price of tokens, in US dollars per million.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct PriceForm {
    /// Input tokens.
    input: f64,
    /// Output tokens.
    output: f64,
}

/// Maximum price of a million tokens, in US dollars.
const MAX_PRICE_USD: f64 = 100_000.0;

impl PriceForm {
    fn price(self) -> Result<Price, String> {
        let micros = |usd: f64| match (0.0..=MAX_PRICE_USD).contains(&usd) {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is in range")]
            true => Ok((usd * 1e6).round() as u64),
            false => Err(format!("a price of {usd} is not between 0 and {MAX_PRICE_USD} dollars")),
        };
        let (input, output) = (micros(self.input)?, micros(self.output)?);
        Ok(Price { input, output, cache_read: input, cache_write: input })
    }
}

/// The answers of one agent, turn by turn.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(try_from = "Vec<ScriptAnswer>")]
#[schemars(with = "Vec<ScriptAnswer>")]
struct AgentAnswers(Vec<ScriptAnswer>);

impl TryFrom<Vec<ScriptAnswer>> for AgentAnswers {
    type Error = &'static str;

    fn try_from(answers: Vec<ScriptAnswer>) -> Result<AgentAnswers, &'static str> {
        if answers.iter().any(|answer| answer.highest_group() > 0) {
            return Err("answers by turn have no capture groups; use a rule with `when`");
        }
        Ok(AgentAnswers(answers))
    }
}

impl TryFrom<FileForm> for ScriptRules {
    type Error = String;

    fn try_from(form: FileForm) -> Result<ScriptRules, String> {
        let mut rules = form.rules;
        for (agent, AgentAnswers(answers)) in form.agents {
            for (turn, answer) in (1..).zip(answers) {
                rules.push(ScriptRule::for_turn(&agent, turn, answer).map_err(|error| error.to_string())?);
            }
        }
        match rules.len() {
            0 => Err("a script needs `rules` or `agents`; add one of them".into()),
            1..=MAX_RULES => Ok(ScriptRules { rules, price: form.price.map(PriceForm::price).transpose()? }),
            _ => Err(format!("a script has at most {MAX_RULES} rules; split it into several scripts")),
        }
    }
}
