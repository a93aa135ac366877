//! The names of a server's tools: `mcp__SERVER__TOOL`, in characters that every provider accepts.

/// The beginning of every tool name of an MCP server.
pub const MCP_TOOL_PREFIX: &str = "mcp__";

/// The longest tool name that every provider accepts.
const MAX_NAME_LEN: usize = 64;

/// How many characters replace the end of a longer name.
const DIGEST_SUFFIX_LEN: usize = 9;

/// The name by which a model calls a server's tool. Two tools get the same name only if they differ just in characters
/// that providers do not accept.
pub fn mcp_tool_name(server: &str, tool: &str) -> String {
    let name = format!("mcp__{}__{}", normalized(server), normalized(tool));
    if name.len() <= MAX_NAME_LEN {
        return name;
    }
    let tail = format!("_{:08x}", digest(server, tool));
    format!("{}{tail}", &name[..MAX_NAME_LEN - DIGEST_SUFFIX_LEN])
}

/// The names that `mcp__SERVER__TOOL` may have become, as a pattern in which `*` stands for any characters. A user who
/// writes the full name does not know which characters are replaced or where it is cut.
pub fn mcp_name_pattern(name: &str) -> String {
    let plain: String = name.chars().map(|c| if c == '*' { c } else { accepted_char(c) }).collect();
    // A pattern for many names must not end in characters that were cut from a long name.
    let max_len = if plain.ends_with('*') { MAX_NAME_LEN - DIGEST_SUFFIX_LEN } else { MAX_NAME_LEN };
    match plain.len() <= max_len {
        true => plain,
        false => format!("{}*", &plain[..MAX_NAME_LEN - DIGEST_SUFFIX_LEN]),
    }
}

/// FNV-1a digest of both names. It is the same in every version of Bosun, because sessions outlive versions.
fn digest(server: &str, tool: &str) -> u32 {
    let bytes = server.bytes().chain([0]).chain(tool.bytes());
    bytes.fold(0x811c_9dc5, |sum, byte| (sum ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

fn normalized(name: &str) -> String {
    name.chars().map(accepted_char).collect()
}

fn accepted_char(c: char) -> char {
    if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_only_accepted_characters() {
        assert_eq!(mcp_tool_name("calc", "add"), "mcp__calc__add");
        assert_eq!(mcp_tool_name("my server.v2", "größe/x"), "mcp__my_server_v2__gr__e_x");
        assert_eq!(mcp_tool_name("", ""), "mcp____");
    }

    #[test]
    fn long_names_stay_distinct() {
        let (one, other) = (mcp_tool_name("s", &"x".repeat(100)), mcp_tool_name("s", &"x".repeat(101)));
        assert_eq!((one.len(), other.len()), (MAX_NAME_LEN, MAX_NAME_LEN));
        assert_ne!(one, other);
        assert_eq!(one, mcp_tool_name("s", &"x".repeat(100)));
    }

    #[test]
    fn patterns_of_full_names_match_normalized_names() {
        assert_eq!(mcp_name_pattern("mcp__calc__add"), "mcp__calc__add");
        assert_eq!(mcp_name_pattern("mcp__my server.v2__*"), "mcp__my_server_v2__*");
        let (server, tool) = ("a-server-with-a-long-name", "and-a-tool-with-an-even-longer-name-than-that");
        let pattern = mcp_name_pattern(&format!("mcp__{server}__{tool}"));
        assert!(mcp_tool_name(server, tool).starts_with(pattern.strip_suffix('*').unwrap()), "{pattern}");
        let server = "s".repeat(50);
        let pattern = mcp_name_pattern(&format!("mcp__{server}__*"));
        assert!(mcp_tool_name(&server, "a-tool").starts_with(pattern.strip_suffix('*').unwrap()), "{pattern}");
    }
}
