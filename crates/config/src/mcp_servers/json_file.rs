//! Files and texts with MCP servers in JSON, as other products have them.

use std::collections::BTreeMap;
use std::fmt;

use protocol::{ForeignMcpServer, McpServerSpec};
use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, Visitor};
use serde_json::{Map, Value};

const NO_SERVERS: &str = "it has no `mcpServers`";

/// The servers of a file, and the keys in it that are not used.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct ServerFile {
    pub(crate) servers: BTreeMap<String, McpServerSpec>,
    pub(crate) unused_keys: Vec<String>,
}

impl ServerFile {
    /// Reads a file's text; the error says what is wrong, and where.
    pub(crate) fn parse(text: &str) -> Result<ServerFile, String> {
        let TopLevel { servers } = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let Some(servers) = servers else { return Err(NO_SERVERS.into()) };
        let mut file = ServerFile::default();
        for (name, JsonServer(ForeignMcpServer { server, unused_keys })) in servers {
            file.unused_keys.extend(unused_keys.into_iter().map(|key| format!("{name}.{key}")));
            file.servers.insert(name, server);
        }
        Ok(file)
    }

    /// Reads a file of a plugin, which may have its servers by name at the top.
    pub(crate) fn parse_plugin(text: &str) -> Result<ServerFile, String> {
        match ServerFile::parse(text) {
            Err(why) if why == NO_SERVERS => ServerFile::parse(&format!("{{\"mcpServers\":{text}}}")),
            parsed => parsed,
        }
    }
}

/// A whole file. Other products put more into it.
#[derive(Deserialize)]
struct TopLevel {
    #[serde(rename = "mcpServers", alias = "servers")]
    servers: Option<BTreeMap<String, JsonServer>>,
}

/// A server, with the position of what is wrong with it.
struct JsonServer(ForeignMcpServer);

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
        let mut fields = Map::new();
        while let Some((key, value)) = map.next_entry::<String, Value>()? {
            fields.insert(key, value);
        }
        ForeignMcpServer::read(fields).map(JsonServer).map_err(de::Error::custom)
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
