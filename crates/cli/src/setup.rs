//! Wiring: from flags, environment and files to the settings of a session.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use config::{Access, Config, Env, File};
use host::{Home, SystemClock, TimeIds};
use model::{Model, Recorder};
use policy::Policy;
use protocol::api::SessionView;
use protocol::{Budget, PermissionMode};
use runtime::Settings;

use crate::args::RunArgs;
use crate::failure::Failure;
use crate::{fault, log};

/// What every command needs.
pub(crate) struct Setup {
    pub(crate) env: Env,
    pub(crate) home: Home,
    pub(crate) config: Config,
}

impl Setup {
    /// Reads the environment and the user's file, and opens Bosun's home.
    pub(crate) fn read() -> Result<Setup, Failure> {
        let env = Env::read();
        let root = env.home.clone().ok_or_else(|| {
            Failure::usage("neither BOSUN_HOME nor HOME is set").hint("set BOSUN_HOME to a folder of your own")
        })?;
        Setup::at(env, root)
    }

    /// The same with another home.
    pub(crate) fn at(env: Env, root: PathBuf) -> Result<Setup, Failure> {
        let home = Home::open(root)?;
        log::start(&home, env.log.as_deref())?;
        let config = File::read(&home.root().join("config.toml")).map_err(Failure::usage)?.resolve();
        Ok(Setup { env, home, config })
    }

    /// The settings of a run; one that goes on with a session takes over what the flags do not say.
    pub(crate) fn settings(&self, args: &RunArgs, before: Option<&SessionView>) -> Result<Settings, Failure> {
        let cwd = folder(args.directory.as_deref().or(before.map(|before| Path::new(&before.cwd))))?;
        let access = self.config.access(&self.env).map_err(Failure::usage)?;
        let (model, model_spec) = self.model(args, before, &cwd, &access)?;
        let budget = self.budget(args, before);
        affordable(&*model, &model_spec, budget, self.way_out(args, before))?;
        let mode = match before.map(|before| before.permission) {
            _ if args.allow_all => PermissionMode::AllowAll,
            Some(mode) => mode,
            None => PermissionMode::Default,
        };
        let policy = Policy { mode, top: cwd.clone(), ..Policy::default() };
        let effort = args.effort.map(Into::into);
        Ok(Settings {
            home: self.home.clone(),
            cwd,
            roots: args.add_dir.clone(),
            model,
            model_spec,
            policy,
            rules: Vec::new(),
            ask_user: true,
            ask_wait: Some(Duration::ZERO),
            limits: self.config.limits,
            max_turns: args.max_turns.or(before.and_then(|before| before.max_turns)).or(self.config.max_turns),
            budget,
            timeout: args.timeout,
            effort: effort.or(before.and_then(|before| before.effort)).or(self.config.effort),
            secrets: access.secrets.into(),
            route: self.env.route(),
            tools: tools::Limits::default(),
            spool: self.config.command_bytes,
            // Not the file's path: that may hold another version by the time the guardian starts.
            guardian: PathBuf::from("/proc/self/exe"),
            env: access.programs,
            clock: Arc::new(SystemClock),
            ids: Arc::new(TimeIds),
            probe: fault::probe(self.env.fault.as_deref())?,
        })
    }

    /// What the session may spend in all: a flag says it, or the session itself, or the file for one that begins.
    fn budget(&self, args: &RunArgs, before: Option<&SessionView>) -> Budget {
        let usual = before.map_or(self.config.budget, |before| before.budget);
        Budget { tokens: args.max_tokens_total.or(usual.tokens), micros: args.max_budget_usd.or(usual.micros) }
    }

    /// How a run gets rid of its budget of money, which no flag takes back.
    fn way_out(&self, args: &RunArgs, before: Option<&SessionView>) -> &'static str {
        match (args.max_budget_usd, before) {
            (Some(_), _) => "limit it with --max-tokens-total instead",
            (None, Some(_)) => "go on with a model that has a price",
            (None, None) => "take `usd` out of [budget] in config.toml",
        }
    }

    /// The model, and its name in full.
    fn model(
        &self,
        args: &RunArgs,
        before: Option<&SessionView>,
        cwd: &Path,
        access: &Access,
    ) -> Result<(Arc<dyn Model>, String), Failure> {
        let before = before.map(|before| &before.model);
        let named = args.model.as_ref().or(before).or(self.env.model.as_ref()).or(self.config.model.as_ref());
        let spec = named.ok_or_else(|| {
            Failure::usage("no model is chosen").hint(
                "give one with --model PROVIDER/NAME, BOSUN_MODEL, or `model` in config.toml; `bosun models` lists what \
                 there is, and `bosun demo` needs none",
            )
        })?;
        let model = model::open(spec, cwd, &access.providers)?;
        let spec = in_full(spec, cwd);
        match &args.record {
            Some(file) => Ok((Arc::new(Recorder::open(model, file).map_err(Failure::usage)?), spec)),
            None => Ok((model, spec)),
        }
    }
}

/// Fails when a budget of money is to be held for a model whose price nobody knows.
fn affordable(model: &dyn Model, spec: &str, budget: Budget, way_out: &str) -> Result<(), Failure> {
    if budget.micros.is_none() || model.facts().price.is_some() {
        return Ok(());
    }
    let refusal = Failure::usage(format!("the price of {spec} is not known, so no budget in dollars can be held"));
    Err(match spec.split_once('/') {
        Some((provider, name)) if !is_file(provider) => refusal.hint(format!(
            "{way_out}, or give its price in config.toml: [providers.{provider}.models.\"{name}\"] \
             with input and output, in dollars for a million tokens"
        )),
        Some(_) | None => refusal.hint(way_out),
    })
}

/// A model's name that means the same in any folder.
fn in_full(spec: &str, cwd: &Path) -> String {
    match spec.split_once('/') {
        Some((provider, file)) if is_file(provider) => format!("{provider}/{}", cwd.join(file).display()),
        Some(_) | None => spec.to_owned(),
    }
}

/// Whether what follows the provider is the name of a file.
pub(crate) fn is_file(provider: &str) -> bool {
    matches!(provider, "script" | "replay")
}

/// The folder to work in, as an absolute path.
pub(crate) fn folder(given: Option<&Path>) -> Result<PathBuf, Failure> {
    let folder = given.unwrap_or(Path::new("."));
    let is_folder = |path: PathBuf| {
        if path.is_dir() { Ok(path) } else { Err(io::Error::from(io::ErrorKind::NotADirectory)) }
    };
    folder.canonicalize().and_then(is_folder).map_err(|error| {
        let shown = given.unwrap_or(Path::new("the working directory")).display();
        Failure::usage(format!("cannot work in {shown}: {error}")).hint("choose another folder with -C")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_are_named_from_a_folder() {
        let full = |spec| in_full(spec, Path::new("/work"));
        assert_eq!(full("script/fix.yaml"), "script//work/fix.yaml");
        assert_eq!(full("replay//tmp/run.jsonl"), "replay//tmp/run.jsonl");
        assert_eq!(full("anthropic/claude-opus-5"), "anthropic/claude-opus-5");
        assert_eq!(full("openrouter/meta/llama"), "openrouter/meta/llama");
    }
}
