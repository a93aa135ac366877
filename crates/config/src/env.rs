//! Every environment variable that Bosun reads, in one place.
//!
//! One more is not read here: `BOSUN_JOB`, which the guardian gives to every program it starts, so that it knows its
//! own again when they have left their process group.

use std::ffi::OsString;
use std::path::PathBuf;

/// Where Bosun keeps its sessions; `~/.bosun` when unset.
const HOME: &str = "BOSUN_HOME";

/// The model to ask, such as `script/FILE`, unless `--model` says otherwise.
const MODEL: &str = "BOSUN_MODEL";

/// How much goes to the log: `error`, `warn`, `info` or `debug`; `warn` when unset.
const LOG: &str = "BOSUN_LOG";

/// For tests of durability: where the process kills itself, such as `before-commit:7`.
pub const FAULT: &str = "BOSUN_FAULT";

/// The environment as it was when the process began.
#[derive(Debug, Clone, Default)]
pub struct Env {
    /// The folder that holds everything; none when neither `BOSUN_HOME` nor `HOME` is set.
    pub home: Option<PathBuf>,
    /// The model to ask.
    pub model: Option<String>,
    /// How much goes to the log.
    pub log: Option<String>,
    /// Where the process kills itself.
    pub fault: Option<String>,
    /// What started programs get: everything but what concerns Bosun alone.
    pub children: Vec<(OsString, OsString)>,
}

impl Env {
    /// Reads the environment.
    pub fn read() -> Env {
        Env::from(std::env::vars_os().collect::<Vec<_>>())
    }
}

impl From<Vec<(OsString, OsString)>> for Env {
    fn from(vars: Vec<(OsString, OsString)>) -> Env {
        let get = |name: &str| {
            vars.iter().find(|(key, value)| key == name && !value.is_empty()).map(|(_, value)| value.clone())
        };
        let text = |name: &str| get(name).map(|value| value.to_string_lossy().into_owned());
        let home = get(HOME).map(PathBuf::from).or_else(|| get("HOME").map(|home| PathBuf::from(home).join(".bosun")));
        let (model, log, fault) = (text(MODEL), text(LOG), text(FAULT));
        let children = vars.into_iter().filter(|(key, _)| key != FAULT).collect();
        Env { home, model, log, fault, children }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env(vars: &[(&str, &str)]) -> Env {
        Env::from(vars.iter().map(|(key, value)| (key.into(), value.into())).collect::<Vec<_>>())
    }

    #[test]
    fn the_home_is_bosun_s_own_or_below_the_user_s() {
        assert_eq!(env(&[("HOME", "/h"), ("BOSUN_HOME", "/b")]).home, Some("/b".into()));
        assert_eq!(env(&[("HOME", "/h"), ("BOSUN_HOME", "")]).home, Some("/h/.bosun".into()));
        assert_eq!(env(&[]).home, None);
    }

    #[test]
    fn started_programs_do_not_inherit_faults() {
        let env = env(&[("PATH", "/bin"), ("BOSUN_FAULT", "before-commit:1")]);
        assert_eq!(env.fault.as_deref(), Some("before-commit:1"));
        assert_eq!(env.children, [("PATH".into(), "/bin".into())]);
    }
}
