//! Error messages for invalid settings.

use crate::{access, read};

fn refused(text: &str) -> String {
    read(text).expect_err(text)
}

#[test]
fn key_in_a_settings_file_is_refused_and_not_shown() {
    let ways = [
        "[providers.openai]\nkey = 'sk-secret'\n",
        "[providers.openai]\napi-key = 'sk-secret'\n",
        "[providers.openai]\napi_key = 'sk-secret'\n",
        "[providers.openai]\ntoken = 'sk-secret'\n",
        "[providers.openai]\nkey-env = 'sk-secret'\n",
        "[providers.openai]\nkey = sk-secret\n",
        "[providers.openai]\nbase-url = 'https://sk-secret@host/v1'\n",
        "[providers]\nopenai = 'sk-secret'\n",
        "providers = 'sk-\"secret\", expected'\nx = 'sk-secret'\n",
    ];
    for text in ways {
        let message = refused(text);
        assert!(message.starts_with("config.toml: "), "{message}");
        assert!(!message.contains("sk-secret"), "{message}");
    }
    assert_eq!(
        refused(ways[0]),
        "config.toml: providers.openai contains a key; keys do not belong in the file: put it into an environment \
         variable and name that variable with key-env = \"VARIABLE\""
    );
}

#[test]
fn mistakes_are_reported_with_place_and_remedy() {
    let mistakes = [
        ("[providers.mine]\nbase-url = 'https://host/v1'\n", "providers.mine has no kind; write kind = \"anthropic\""),
        ("[providers.mine]\nkind = 'openai'\n", "providers.mine has no base-url"),
        ("[providers.mine]\nkind = 'gemini'\n", "line 2: unknown variant `gemini`"),
        ("[providers.openai]\nbase-url = 'host/v1'\n", "providers.openai.base-url has no scheme"),
        ("[providers.openai]\nbase-url = 'https://host/v1?x=1'\n", "providers.openai.base-url has a query"),
        ("[providers.openai]\nbase-url = 'http://host/v1'\n", "over plain http to another machine; use https, or"),
        ("[providers.anthropic]\nbase-url = 'https://host/v1'\n", "providers.anthropic.base-url ends in /v1"),
        ("[providers.openai.models.x]\ninput = 3\n", "providers.openai.models.\"x\" has an incomplete price"),
        ("[providers.openai.models.x]\ncache-read = 3\n", "has an incomplete price"),
        ("[providers.openai.models.x]\ninput = -1\n", "line 2: `-1` is not an amount of dollars"),
        ("[providers.openai.models.x]\ninput = 0.0000001\n", "has more than 6 decimals"),
        ("[providers.openai.models.x]\ncontext = 0\n", "line 2: "),
        ("[providers.script]\nkind = 'openai'\n", "and not `script` or `replay`"),
        ("[providers.'a/b']\nkind = 'openai'\n", "a provider's name is letters"),
        ("[providers.openai]\nat-once = 0\n", "line 2: "),
        (
            "[providers.openai]\nbase-uri = 'x'\n",
            "line 2: unknown field `base-uri`, expected one of `kind`, `base-url`",
        ),
        ("[budget]\nusd = 0\n", "budget.usd is 0; leave it out for no limit"),
        ("[providers]\nopenai = 'x'\n", "line 2: expected a table, found a string"),
        ("[providers.openai]\ninsecure = 'yes'\n", "line 2: expected a boolean, found a string"),
        ("effort = 'most'\n", "line 1: unknown variant `most`"),
        ("[network]\nidle-timeout = '3 days'\n", "line 2: `3 days` has an unknown unit"),
        ("[network]\nidle-timeout = '0s'\n", "line 2: the time must be more than 0"),
    ];
    for (text, words) in mistakes {
        let message = refused(text);
        assert!(message.starts_with("config.toml: ") && message.contains(words), "{text}: {message}");
    }
}

#[test]
fn a_wrong_address_in_the_environment_is_named_by_its_variable() {
    let wrong = |name, value| access("", &[(name, value)]).map(|_| ()).unwrap_err();
    assert_eq!(wrong("OPENAI_BASE_URL", "host/v1"), "OPENAI_BASE_URL has no scheme; begin it with https://");
    assert!(
        wrong("OPENAI_BASE_URL", "http://host/v1").starts_with("OPENAI_BASE_URL would send the key over plain http")
    );
    assert!(wrong("ANTHROPIC_BASE_URL", "https://host/v1/").starts_with("ANTHROPIC_BASE_URL ends in /v1"));
    assert!(wrong("OLLAMA_HOST", "me:secret@box").starts_with("OLLAMA_HOST contains a user name or password"));
}
