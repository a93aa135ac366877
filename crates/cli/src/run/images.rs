//! Pictures that go with a prompt.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use protocol::Image;

use crate::failure::Failure;

/// Reads the pictures.
pub(super) fn read(files: &[PathBuf]) -> Result<Vec<Image>, Failure> {
    if files.len() > Image::MOST {
        let (count, most) = (files.len(), Image::MOST);
        return Err(Failure::usage(format!("{count} pictures are too many; {most} go with a prompt")));
    }
    files.iter().map(|file| picture(file)).collect()
}

fn picture(path: &Path) -> Result<Image, Failure> {
    let shown = path.display();
    let unreadable = |error| Failure::usage(format!("cannot read the picture {shown}: {error}"));
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(Image::LARGEST as u64 + 1).read_to_end(&mut bytes))
        .map_err(unreadable)?;
    if bytes.len() > Image::LARGEST {
        let most = Image::LARGEST;
        return Err(Failure::usage(format!("the picture {shown} is larger than {most} bytes")).hint("make it smaller"));
    }
    let media = Image::media_of(&bytes).ok_or_else(|| {
        Failure::usage(format!("{shown} is not a picture that models take"))
            .hint("convert it to PNG, JPEG, GIF or WebP")
    })?;
    Ok(Image { media: media.into(), data: STANDARD.encode(&bytes) })
}
