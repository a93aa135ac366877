//! The names that a server's tools go by: `mcp__SERVER__TOOL`, in letters that every provider takes.

/// Most letters of a tool's name that every provider takes.
const MAX: usize = 64;

/// How many of them stand for the rest of a longer one.
const TAIL: usize = 9;

/// How a model calls a tool of a server. Two tools may come to the same name only if their names differ in letters that
/// providers do not take.
pub fn tool_name(server: &str, tool: &str) -> String {
    let name = format!("mcp__{}__{}", plain(server), plain(tool));
    if name.len() <= MAX {
        return name;
    }
    let tail = format!("_{:08x}", digest(server, tool));
    format!("{}{tail}", &name[..MAX - TAIL])
}

/// The names that `mcp__SERVER__TOOL` may have become, as a pattern in which `*` stands for any letters. Whoever writes
/// it in full knows neither which letters providers take nor how many.
pub fn name_pattern(name: &str) -> String {
    let plain: String = name.chars().map(|c| if c == '*' { c } else { letter(c) }).collect();
    // What stands for many names must not end in letters that a long one of them lacks.
    let most = if plain.ends_with('*') { MAX - TAIL } else { MAX };
    match plain.len() <= most {
        true => plain,
        false => format!("{}*", &plain[..MAX - TAIL]),
    }
}

/// A number that stands for both names, the same in every version of the program: sessions outlive them. It is FNV-1a.
fn digest(server: &str, tool: &str) -> u32 {
    let bytes = server.bytes().chain([0]).chain(tool.bytes());
    bytes.fold(0x811c_9dc5, |sum, byte| (sum ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

fn plain(name: &str) -> String {
    name.chars().map(letter).collect()
}

fn letter(c: char) -> char {
    if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }
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

    #[test]
    fn a_name_in_full_means_what_became_of_it() {
        assert_eq!(name_pattern("mcp__calc__add"), "mcp__calc__add");
        assert_eq!(name_pattern("mcp__my server.v2__*"), "mcp__my_server_v2__*");
        let (server, tool) = ("a-server-with-a-long-name", "and-a-tool-with-an-even-longer-name-than-that");
        let pattern = name_pattern(&format!("mcp__{server}__{tool}"));
        assert!(tool_name(server, tool).starts_with(pattern.strip_suffix('*').unwrap()), "{pattern}");
        let server = "s".repeat(50);
        let pattern = name_pattern(&format!("mcp__{server}__*"));
        assert!(tool_name(&server, "a-tool").starts_with(pattern.strip_suffix('*').unwrap()), "{pattern}");
    }
}
