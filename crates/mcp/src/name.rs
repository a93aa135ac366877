//! The names that a server's tools go by: `mcp__SERVER__TOOL`, in letters that every provider takes.

/// Most letters of a tool's name that every provider takes.
const MAX: usize = 64;

/// How a model calls a tool of a server. Two tools may come to the same name only if their names differ in letters that
/// providers do not take.
pub fn tool_name(server: &str, tool: &str) -> String {
    let name = format!("mcp__{}__{}", plain(server), plain(tool));
    if name.len() <= MAX {
        return name;
    }
    let tail = format!("_{:08x}", digest(server, tool));
    format!("{}{tail}", &name[..MAX - tail.len()])
}

/// A number that stands for both names, the same in every version of the program: sessions outlive them. It is FNV-1a.
fn digest(server: &str, tool: &str) -> u32 {
    let bytes = server.bytes().chain([0]).chain(tool.bytes());
    bytes.fold(0x811c_9dc5, |sum, byte| (sum ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

fn plain(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_only_letters_that_providers_take() {
        assert_eq!(tool_name("calc", "add"), "mcp__calc__add");
        assert_eq!(tool_name("my server.v2", "größe/x"), "mcp__my_server_v2__gr__e_x");
        assert_eq!(tool_name("", ""), "mcp____");
    }

    #[test]
    fn long_names_stay_apart() {
        let (one, other) = (tool_name("s", &"x".repeat(100)), tool_name("s", &"x".repeat(101)));
        assert_eq!((one.len(), other.len()), (MAX, MAX));
        assert_ne!(one, other);
        assert_eq!(one, tool_name("s", &"x".repeat(100)));
    }
}
