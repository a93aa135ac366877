//! Patterns for files. They are relative to the project's folder or the user's home folder, or absolute; a pattern
//! without a slash matches at any depth.

use std::path::Path;

use globset::{GlobBuilder, GlobMatcher};

use crate::fold::{fold, fold_path};

/// Maximum number of braces: deeply nested ones could not be compiled.
const MAX_BRACES: usize = 64;

/// The folders that patterns are relative to, also in folded form.
#[derive(Debug)]
pub(crate) struct PatternBase<'a> {
    project_dir: &'a Path,
    user_home: Option<&'a Path>,
    folded_project_dir: String,
    folded_user_home: Option<String>,
}

impl<'a> PatternBase<'a> {
    /// Takes the project's folder and the user's home folder.
    pub(crate) fn new(top: &'a Path, user: Option<&'a Path>) -> PatternBase<'a> {
        PatternBase {
            project_dir: top,
            user_home: user,
            folded_project_dir: fold_path(top),
            folded_user_home: user.map(fold_path),
        }
    }
}

/// A file to decide about.
#[derive(Debug)]
pub(crate) struct FoldedPath<'a> {
    pub(crate) path: &'a Path,
    folded: String,
}

impl<'a> FoldedPath<'a> {
    /// Takes an absolute path without links.
    pub(crate) fn new(path: &'a Path) -> FoldedPath<'a> {
        FoldedPath { path, folded: fold_path(path) }
    }
}

/// A pattern for files.
#[derive(Debug, Clone)]
pub(crate) struct PathPattern {
    anchor: PatternAnchor,
    /// For allow rules: exactly as written.
    exact: GlobMatcher,
    /// For ask and deny rules: folded, and including everything below.
    folded: Vec<GlobMatcher>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PatternAnchor {
    Project,
    UserHome,
    Root,
    /// Anywhere in the project; for ask and deny rules, anywhere at all.
    Anywhere,
}

impl PathPattern {
    pub(crate) fn parse(text: &str) -> Result<PathPattern, String> {
        let (begin, rest) = split_anchor(text)?;
        if rest.split('/').any(|part| part == "..") {
            return Err("`..` leads out of its base folder; write the path from `/` or `~/`".into());
        }
        let parts: Vec<&str> = rest.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
        let mut glob = parts.join("/");
        if begin == PatternAnchor::Anywhere && parts.len() == 1 && glob != "**" {
            glob.insert_str(0, "**/");
        }
        if glob.is_empty() {
            glob = "**".into();
        } else if rest.ends_with('/') {
            glob.push_str("/**");
        }
        let named = fold(glob.strip_suffix("/**").unwrap_or(&glob));
        let folded = vec![compile(&named)?, compile(&format!("{named}/**"))?];
        Ok(PathPattern { anchor: begin, exact: compile(&glob)?, folded })
    }

    /// Whether an allow rule with this pattern covers the file.
    pub(crate) fn permits(&self, file: &FoldedPath<'_>, pattern_base: &PatternBase<'_>) -> bool {
        let base = match self.anchor {
            PatternAnchor::Project | PatternAnchor::Anywhere => Some(pattern_base.project_dir),
            PatternAnchor::UserHome => pattern_base.user_home,
            PatternAnchor::Root => Some(Path::new("/")),
        };
        let below = base.and_then(|base| file.path.strip_prefix(base).ok());
        below.is_some_and(|below| self.exact.is_match(below))
    }

    /// Whether a deny or ask rule with this pattern covers the file, ignoring case and Unicode form, and
    /// including everything below it.
    pub(crate) fn forbids(&self, file: &FoldedPath<'_>, pattern_base: &PatternBase<'_>) -> bool {
        let base = match self.anchor {
            PatternAnchor::Project => Some(pattern_base.folded_project_dir.as_str()),
            PatternAnchor::UserHome => pattern_base.folded_user_home.as_deref(),
            PatternAnchor::Root | PatternAnchor::Anywhere => Some("/"),
        };
        let below = base.and_then(|base| file.folded.strip_prefix(base.trim_end_matches('/')));
        let below = match below {
            Some("") => "",
            Some(below) if below.starts_with('/') => below.trim_start_matches('/'),
            Some(_) | None => return false,
        };
        self.folded.iter().any(|glob| glob.is_match(below))
    }
}

fn split_anchor(text: &str) -> Result<(PatternAnchor, &str), String> {
    if let Some(rest) = text.strip_prefix('~') {
        return match rest.strip_prefix('/') {
            Some(rest) => Ok((PatternAnchor::UserHome, rest)),
            None if rest.is_empty() => Ok((PatternAnchor::UserHome, "")),
            None => Err("only your own `~/` is supported; write the path from `/`".into()),
        };
    }
    if text.starts_with('/') {
        return Ok((PatternAnchor::Root, text));
    }
    let anywhere = text.starts_with("**/") || !text.trim_end_matches('/').contains('/');
    Ok((if anywhere && text != "." { PatternAnchor::Anywhere } else { PatternAnchor::Project }, text))
}

fn compile(glob: &str) -> Result<GlobMatcher, String> {
    if glob.matches('{').count() > MAX_BRACES {
        return Err(format!("it has more than {MAX_BRACES} braces; write several rules"));
    }
    let glob = GlobBuilder::new(glob).literal_separator(true).backslash_escape(true).build();
    glob.map(|glob| glob.compile_matcher()).map_err(|error| format!("its pattern is not valid: {}", error.kind()))
}

/// Escapes a path so that the pattern matches only itself.
pub(crate) fn escape_path(path: &str) -> String {
    let special = |c: char| r"*?[]{}!\()".contains(c);
    path.chars().flat_map(|c| special(c).then_some('\\').into_iter().chain([c])).collect()
}
