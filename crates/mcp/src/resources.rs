//! The resources of a server, as text for a model.

use serde_json::{Map, Value};

use crate::content;
use crate::link::ServerRequest;
use crate::{McpError, McpServer};

/// The most resources that are listed.
const MAX_RESOURCES: usize = 500;

/// Maximum bytes of one line of a list.
const MAX_LINE_BYTES: usize = 500;

/// Maximum bytes of a resource's address.
const MAX_URI_BYTES: usize = 4096;

/// JSON-RPC's code for an unknown method.
const METHOD_NOT_FOUND: i64 = -32601;

impl McpServer {
    /// Lists the resources, and the templates of their addresses.
    pub(crate) async fn resource_list(&self) -> Result<String, McpError> {
        let name = self.name();
        if !self.capabilities().has_resources {
            return Ok(format!("the MCP server `{name}` has no resources"));
        }
        let resources = self.entries("resources/list", "resources", MAX_RESOURCES).await?;
        let templates = match self.entries("resources/templates/list", "resourceTemplates", MAX_RESOURCES).await {
            // Servers without templates need not know the method.
            Err(McpError::Refused { code: METHOD_NOT_FOUND, .. }) => Vec::new(),
            templates => templates?,
        };
        let mut text = format!("resources of the MCP server `{name}`:");
        for line in resources.iter().map(|resource| line_of(resource, "uri")) {
            text.push_str(&line);
        }
        if !templates.is_empty() {
            text.push_str("\ntemplates of addresses, in which you replace what is in braces:");
        }
        for line in templates.iter().map(|template| line_of(template, "uriTemplate")) {
            text.push_str(&line);
        }
        Ok(text)
    }

    /// Reads a resource.
    pub(crate) async fn read_resource(&self, uri: &str) -> Result<String, McpError> {
        const METHOD: &str = "resources/read";
        if uri.len() > MAX_URI_BYTES {
            return Err(self.malformed(METHOD, format!("the address has more than {MAX_URI_BYTES} bytes")));
        }
        let params = Map::from_iter([("uri".to_owned(), Value::from(uri))]);
        let result = self.request(ServerRequest::new(METHOD, params, self.options().timeouts.call)).await?;
        let Some(contents) = result.get("contents").and_then(Value::as_array) else {
            return Err(self.malformed(METHOD, "it has no `contents` list"));
        };
        let max = self.options().limits.max_text_bytes;
        let mut text = String::new();
        for part in contents {
            if text.len() > max {
                break;
            }
            text.push_str(&content::resource_text(part));
            text.push('\n');
        }
        Ok(protocol::clip_middle(text.trim_end(), max))
    }
}

/// One line of a list.
fn line_of(entry: &Value, address: &str) -> String {
    let field = |name: &str| entry[name].as_str().unwrap_or_default();
    let kind = if field("mimeType").is_empty() { String::new() } else { format!(" ({})", field("mimeType")) };
    let about = [field("title"), field("name")].into_iter().find(|text| !text.is_empty()).unwrap_or_default();
    let line = format!("{}{kind}  {about}  {}", field(address), field("description"));
    format!("\n{}", protocol::clip_middle(line.replace(['\n', '\r'], " ").trim_end(), MAX_LINE_BYTES))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_resource_is_one_line() {
        let entry =
            json!({ "uri": "docs://a", "name": "a", "mimeType": "text/plain", "description": "First.\nSecond." });
        assert_eq!(line_of(&entry, "uri"), "\ndocs://a (text/plain)  a  First. Second.");
        assert_eq!(line_of(&json!({ "uriTemplate": "docs://{id}" }), "uriTemplate"), "\ndocs://{id}");
        assert!(line_of(&json!({ "uri": "x".repeat(5000) }), "uri").len() < 600);
    }
}
