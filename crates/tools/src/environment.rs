//! The environment of commands that a model has asked for.

use std::ffi::{OsStr, OsString};

/// Variables that say in which letters programs read text.
const LETTERS: [&str; 3] = ["LANG", "LC_ALL", "LC_CTYPE"];

/// A locale that every system has, in which text is what it was judged to be.
const PLAIN: &str = "C.UTF-8";

/// The settings that every git among the commands is given. A folder that only looks like a repository, which a clone
/// can bring and an agent can make, must be named as one before git runs what its settings name.
const SETTINGS: [(&str, &str); 1] = [("safe.bareRepository", "explicit")];

/// The same environment with what keeps a command from meaning something else than was judged.
pub(crate) fn guarded(env: &[(OsString, OsString)]) -> Vec<(OsString, OsString)> {
    let mut guarded: Vec<(OsString, OsString)> = env.to_vec();
    for (name, value) in &mut guarded {
        if LETTERS.iter().any(|letters| name == letters) && !reads_alike(value) {
            *value = PLAIN.into();
        }
    }
    add_settings(&mut guarded);
    guarded
}

/// Whether a locale reads text as it was judged. In others two bytes of a letter may swallow a quote after them.
fn reads_alike(locale: &OsStr) -> bool {
    let Some(locale) = locale.to_str() else { return false };
    let letters = locale.split('@').next().unwrap_or(locale).rsplit_once('.').map(|(_, letters)| letters);
    matches!(locale, "" | "C" | "POSIX")
        || letters.is_some_and(|letters| ["utf-8", "utf8"].contains(&letters.to_ascii_lowercase().as_str()))
}

/// Adds to the settings that the environment gives to git already.
fn add_settings(env: &mut Vec<(OsString, OsString)>) {
    const COUNT: &str = "GIT_CONFIG_COUNT";
    let given = env.iter().find(|(name, _)| name == COUNT).and_then(|(_, value)| value.to_str()?.parse::<usize>().ok());
    let first = given.unwrap_or(0);
    let is_ours = |name: &OsString| {
        let added = |at: usize| [format!("GIT_CONFIG_KEY_{at}"), format!("GIT_CONFIG_VALUE_{at}")];
        name == COUNT || (first..first + SETTINGS.len()).any(|at| added(at).iter().any(|added| name == added.as_str()))
    };
    env.retain(|(name, _)| !is_ours(name));
    for (at, (key, value)) in (first..).zip(SETTINGS) {
        env.push((format!("GIT_CONFIG_KEY_{at}").into(), key.into()));
        env.push((format!("GIT_CONFIG_VALUE_{at}").into(), value.into()));
    }
    env.push((COUNT.into(), (first + SETTINGS.len()).to_string().into()));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(given: &[(&str, &str)]) -> Vec<String> {
        let given: Vec<_> = given.iter().map(|(name, value)| (name.into(), value.into())).collect();
        let mut all: Vec<String> = guarded(&given)
            .iter()
            .map(|(name, value)| format!("{}={}", name.to_string_lossy(), value.to_string_lossy()))
            .collect();
        all.sort();
        all
    }

    #[test]
    fn every_command_gets_the_settings_of_git_behind_those_of_the_user() {
        let added = ["GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.bareRepository", "GIT_CONFIG_VALUE_0=explicit"];
        assert_eq!(of(&[]), added);
        assert_eq!(of(&[("GIT_CONFIG_COUNT", "x")]), added);
        let own = [("GIT_CONFIG_COUNT", "1"), ("GIT_CONFIG_KEY_0", "a.b"), ("GIT_CONFIG_VALUE_0", "c")];
        let expected = [
            "GIT_CONFIG_COUNT=2",
            "GIT_CONFIG_KEY_0=a.b",
            "GIT_CONFIG_KEY_1=safe.bareRepository",
            "GIT_CONFIG_VALUE_0=c",
            "GIT_CONFIG_VALUE_1=explicit",
        ];
        assert_eq!(of(&own), expected);
    }

    #[test]
    fn text_is_read_in_the_letters_it_was_judged_in() {
        for locale in ["zh_CN.GBK", "zh_TW.Big5", "ja_JP.SJIS", "zh_CN", "de_DE@euro", "en_US.ISO-8859-1"] {
            for name in LETTERS {
                assert!(of(&[(name, locale)]).contains(&format!("{name}=C.UTF-8")), "{name}={locale}");
            }
        }
        for locale in ["en_US.UTF-8", "de_DE.utf8@euro", "C", "POSIX", ""] {
            assert!(of(&[("LANG", locale)]).contains(&format!("LANG={locale}")), "{locale}");
        }
    }
}
