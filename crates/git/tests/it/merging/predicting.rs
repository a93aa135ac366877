//! Prediction of conflicts before anything is merged.

use git::{PredictedConflict, predict};

use super::branches::{Branch, Edit, import, write};
use super::head;
use crate::stage::Stage;

#[tokio::test]
async fn conflicts_are_predicted_among_two_hundred_branches() {
    let stage = Stage::new().await;
    let base = head(&stage).await;
    let edits = |n: usize| match n {
        7 | 70 | 170 => vec![write("a.txt", format!("{n}\n"))],
        20 => vec![write("folder", "a file\n")],
        120 => vec![write("folder/inside", "of a folder\n")],
        30 => vec![Edit::Remove("a.txt".into())],
        _ => vec![write(&format!("file-{n}"), "x\n"), write("same", "said by all\n")],
    };
    let branches: Vec<Branch> =
        (0..200).map(|n| Branch { name: n.to_string(), from: base.clone(), edits: edits(n) }).collect();
    let parts = import(&stage, &branches).await;
    let found = predict(&stage.git, &base, &parts).await.unwrap();
    let pairs: Vec<(&str, &str)> =
        found.iter().map(|PredictedConflict { a, b, .. }| (a.as_str(), b.as_str())).collect();
    assert!(pairs.len() <= 7, "{pairs:?}");
    for pair in [("7", "30"), ("7", "70"), ("7", "170"), ("20", "120"), ("30", "70")] {
        assert!(pairs.contains(&pair), "{pair:?} of {pairs:?}");
    }
    assert!(found[0].files.contains(&"a.txt".to_owned()), "{found:?}");
    assert_eq!(predict(&stage.git, &base, &[]).await.unwrap(), []);
    assert_eq!(predict(&stage.git, &base, &parts[..5]).await.unwrap(), []);
}
