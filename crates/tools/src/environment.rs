//! The environment of commands that a model requested.

use std::ffi::{OsStr, OsString};

/// Variables that select the character encoding of programs.
const LOCALE_VARIABLES: [&str; 3] = ["LANG", "LC_ALL", "LC_CTYPE"];

/// A locale that every system has, in which commands are read the way the policy parsed them.
const UTF8_LOCALE: &str = "C.UTF-8";

/// Settings for every git started by a command. A folder that only looks like a bare repository, which a clone can
/// contain and an agent can create, must be named explicitly before git runs programs from its settings.
const GIT_SETTINGS: [(&str, &str); 1] = [("safe.bareRepository", "explicit")];

/// Returns the environment with changes that make a command mean what the policy parsed.
pub(crate) fn guarded_env(env: &[(OsString, OsString)]) -> Vec<(OsString, OsString)> {
    let mut guarded: Vec<(OsString, OsString)> = env.to_vec();
    for (name, value) in &mut guarded {
        if LOCALE_VARIABLES.iter().any(|variable| name == variable) && !is_utf8_locale(value) {
            *value = UTF8_LOCALE.into();
        }
    }
    add_git_settings(&mut guarded);
    guarded
}

/// Whether a locale uses the encoding that the policy parsed. In others, a multi-byte character may swallow the quote
/// after it.
fn is_utf8_locale(locale: &OsStr) -> bool {
    let Some(locale) = locale.to_str() else { return false };
    let encoding = locale.split('@').next().unwrap_or(locale).rsplit_once('.').map(|(_, encoding)| encoding);
    matches!(locale, "" | "C" | "POSIX")
        || encoding.is_some_and(|encoding| ["utf-8", "utf8"].contains(&encoding.to_ascii_lowercase().as_str()))
}

/// Appends our settings to those that the environment already gives to git.
fn add_git_settings(env: &mut Vec<(OsString, OsString)>) {
    const COUNT: &str = "GIT_CONFIG_COUNT";
    let count = env.iter().find(|(name, _)| name == COUNT).and_then(|(_, value)| value.to_str()?.parse::<usize>().ok());
    let first = count.unwrap_or(0);
    let is_ours = |name: &OsString| {
        let added = |at: usize| [format!("GIT_CONFIG_KEY_{at}"), format!("GIT_CONFIG_VALUE_{at}")];
        name == COUNT
            || (first..first + GIT_SETTINGS.len()).any(|at| added(at).iter().any(|added| name == added.as_str()))
    };
    env.retain(|(name, _)| !is_ours(name));
    for (at, (key, value)) in (first..).zip(GIT_SETTINGS) {
        env.push((format!("GIT_CONFIG_KEY_{at}").into(), key.into()));
        env.push((format!("GIT_CONFIG_VALUE_{at}").into(), value.into()));
    }
    env.push((COUNT.into(), (first + GIT_SETTINGS.len()).to_string().into()));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guarded_lines(given: &[(&str, &str)]) -> Vec<String> {
        let given: Vec<_> = given.iter().map(|(name, value)| (name.into(), value.into())).collect();
        let mut all: Vec<String> = guarded_env(&given)
            .iter()
            .map(|(name, value)| format!("{}={}", name.to_string_lossy(), value.to_string_lossy()))
            .collect();
        all.sort();
        all
    }

    #[test]
    fn git_settings_are_added_after_those_of_the_user() {
        let added = ["GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.bareRepository", "GIT_CONFIG_VALUE_0=explicit"];
        assert_eq!(guarded_lines(&[]), added);
        assert_eq!(guarded_lines(&[("GIT_CONFIG_COUNT", "x")]), added);
        let own = [("GIT_CONFIG_COUNT", "1"), ("GIT_CONFIG_KEY_0", "a.b"), ("GIT_CONFIG_VALUE_0", "c")];
        let expected = [
            "GIT_CONFIG_COUNT=2",
            "GIT_CONFIG_KEY_0=a.b",
            "GIT_CONFIG_KEY_1=safe.bareRepository",
            "GIT_CONFIG_VALUE_0=c",
            "GIT_CONFIG_VALUE_1=explicit",
        ];
        assert_eq!(guarded_lines(&own), expected);
    }

    #[test]
    fn other_encodings_are_replaced_with_utf8() {
        for locale in ["zh_CN.GBK", "zh_TW.Big5", "ja_JP.SJIS", "zh_CN", "de_DE@euro", "en_US.ISO-8859-1"] {
            for name in LOCALE_VARIABLES {
                assert!(guarded_lines(&[(name, locale)]).contains(&format!("{name}=C.UTF-8")), "{name}={locale}");
            }
        }
        for locale in ["en_US.UTF-8", "de_DE.utf8@euro", "C", "POSIX", ""] {
            assert!(guarded_lines(&[("LANG", locale)]).contains(&format!("LANG={locale}")), "{locale}");
        }
    }
}
