//! Creates branches with one git command, without a work tree.

use git::{Commit, MergePart};

use crate::stage::Stage;

/// One change of a branch.
#[derive(Debug, Clone)]
pub(crate) enum Edit {
    Write(String, Vec<u8>),
    Program(String, Vec<u8>),
    Link(String, String),
    Submodule(String, String),
    Remove(String),
    Rename(String, String),
}

pub(crate) fn write(path: &str, text: impl AsRef<[u8]>) -> Edit {
    Edit::Write(path.into(), text.as_ref().to_vec())
}

/// A branch of one commit.
#[derive(Debug, Clone)]
pub(crate) struct Branch {
    pub(crate) name: String,
    pub(crate) from: Commit,
    pub(crate) edits: Vec<Edit>,
}

/// Creates the branches and returns their parts.
pub(crate) async fn import(stage: &Stage, branches: &[Branch]) -> Vec<MergePart> {
    let mut stream = Vec::new();
    for (age, branch) in branches.iter().enumerate() {
        let age = 1_700_000_000 + age;
        let head =
            format!("commit refs/bosun/test/work/{}\ncommitter w <w@example.invalid> {age} +0000\n", branch.name);
        stream.extend(head.into_bytes());
        data(&mut stream, branch.name.as_bytes());
        stream.extend(format!("from {}\n", branch.from).into_bytes());
        branch.edits.iter().for_each(|edit| line(&mut stream, edit));
    }
    stage.git.run_checked(&["fast-import", "--quiet", "--force"], &stream).await.unwrap();
    let mut parts = Vec::new();
    for Branch { name, .. } in branches {
        let commit = super::named(&stage.git, &format!("refs/bosun/test/work/{name}")).await;
        parts.push(MergePart { name: name.clone(), title: String::new(), commit });
    }
    parts
}

/// One branch from a commit.
pub(crate) async fn branch(stage: &Stage, from: &Commit, name: &str, edits: Vec<Edit>) -> MergePart {
    import(stage, &[Branch { name: name.into(), from: from.clone(), edits }]).await.remove(0)
}

fn line(stream: &mut Vec<u8>, edit: &Edit) {
    let inline = |stream: &mut Vec<u8>, mode: &str, path: &str, bytes: &[u8]| {
        stream.extend(format!("M {mode} inline {path}\n").into_bytes());
        data(stream, bytes);
    };
    match edit {
        Edit::Write(path, bytes) => inline(stream, "100644", path, bytes),
        Edit::Program(path, bytes) => inline(stream, "100755", path, bytes),
        Edit::Link(path, target) => inline(stream, "120000", path, target.as_bytes()),
        Edit::Submodule(path, commit) => stream.extend(format!("M 160000 {commit} {path}\n").into_bytes()),
        Edit::Remove(path) => stream.extend(format!("D {path}\n").into_bytes()),
        Edit::Rename(from, to) => stream.extend(format!("R {from} {to}\n").into_bytes()),
    }
}

fn data(stream: &mut Vec<u8>, bytes: &[u8]) {
    stream.extend(format!("data {}\n", bytes.len()).into_bytes());
    stream.extend(bytes);
    stream.push(b'\n');
}
