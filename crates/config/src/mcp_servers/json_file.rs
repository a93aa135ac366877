//! Files and texts with MCP servers in JSON, as other products have them.

use std::collections::BTreeMap;
use std::fmt;

use protocol::McpServerSpec;
use serde::Deserialize;
use serde::de::{self, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::{Map, Value};

/// The keys of a server that are used.
const KNOWN_KEYS: [&str; 16] = [
    "type",
    "command",
    "args",
    "env",
    "cwd",
    "url",
    "headers",
    "startTimeoutSeconds",
    "callTimeoutSeconds",
    "taskTimeoutSeconds",
    "tools",
    "disabledTools",
    "protocolVersion",
    "sampling",
    "oauth",
    "disabled",
];

/// The servers of a file, and the keys in it that are not used.
#[derive(Debug, Default, PartialEq)]
pub(super) struct ServerFile {
    pub(super) servers: BTreeMap<String, McpServerSpec>,
    pub(super) unused_keys: Vec<String>,
}

impl ServerFile {
    /// Reads a file's text; the error says what is wrong, and where.
    pub(super) fn parse(text: &str) -> Result<ServerFile, String> {
        let TopLevel { servers } = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let Some(servers) = servers else { return Err("it has no `mcpServers`".into()) };
        let mut file = ServerFile::default();
        for (name, JsonServer { spec, unused }) in servers {
            file.unused_keys.extend(unused.into_iter().map(|key| format!("{name}.{key}")));
            file.servers.insert(name, spec);
        }
        Ok(file)
    }
}

/// A whole file. Other products put more into it.
#[derive(Deserialize)]
struct TopLevel {
    #[serde(rename = "mcpServers", alias = "servers")]
    servers: Option<BTreeMap<String, JsonServer>>,
}

/// A server, and its keys that are not used.
struct JsonServer {
    spec: McpServerSpec,
    unused: Vec<String>,
}

impl<'de> Deserialize<'de> for JsonServer {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<JsonServer, D::Error> {
        from.deserialize_map(ServerVisitor)
    }
}

struct ServerVisitor;

impl<'de> Visitor<'de> for ServerVisitor {
    type Value = JsonServer;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a server with `command` or `url`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<JsonServer, A::Error> {
        let (mut fields, mut unused) = (Map::new(), Vec::new());
        while let Some(key) = map.next_key::<String>()? {
            if KNOWN_KEYS.contains(&key.as_str()) {
                fields.insert(key, map.next_value::<Value>()?);
            } else {
                map.next_value::<IgnoredAny>()?;
                unused.push(key);
            }
        }
        let spec = McpServerSpec::deserialize(Value::Object(fields)).map_err(de::Error::custom)?;
        Ok(JsonServer { spec, unused })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use protocol::McpServerKind;

    use super::*;

    #[test]
    fn servers_are_read_as_other_products_write_them() {
        let text = r#"{ "inputs": [], "mcpServers": {
            "db": { "command": "db", "args": ["-v"], "env": { "A": "${B}" }, "alwaysAllow": ["query"] },
            "web": { "type": "http", "url": "https://example.com/mcp", "headers": { "X": "y" }, "tools": ["*"] }
        } }"#;
        let file = ServerFile::parse(text).unwrap();
        assert_eq!(file.unused_keys, ["db.alwaysAllow"]);
        assert_eq!(file.servers["db"].args, ["-v"]);
        assert_eq!(file.servers["web"].kind, Some(McpServerKind::Http));
    }

    #[test]
    fn errors_name_the_place() {
        let error = |text: &str| ServerFile::parse(text).unwrap_err();
        assert!(error("{").contains("line 1"), "{}", error("{"));
        assert_eq!(error("{}"), "it has no `mcpServers`");
        let wrong = error("{ \"mcpServers\": {\n \"a\": { \"command\": 5 } } }");
        assert!(wrong.contains("invalid type: integer `5`, expected a string at line 2"), "{wrong}");
        let wrong = error("{ \"mcpServers\": {\n \"a\": { \"type\": \"ftp\" } } }");
        assert!(wrong.contains("unknown variant `ftp`") && wrong.contains("line 2"), "{wrong}");
        let wrong = error("{ \"mcpServers\": {\n \"a\": 7 } }");
        assert!(wrong.contains("expected a server with `command` or `url` at line 2"), "{wrong}");
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "\\PC*", servers in "[{}\\[\\]\",:a-z0-9 $]*") {
            let _ = ServerFile::parse(&text);
            let _ = ServerFile::parse(&format!("{{\"mcpServers\":{servers}}}"));
            let _ = ServerFile::parse(&format!("{{\"mcpServers\":{{\"a\":{{\"command\":{servers}}}}}}}"));
        }
    }
}
