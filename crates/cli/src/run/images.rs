//! Images attached to a prompt.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use protocol::Image;

use crate::error::CliError;

/// Reads the images.
pub(super) fn read_images(files: &[PathBuf]) -> Result<Vec<Image>, CliError> {
    if files.len() > Image::MAX_PER_MESSAGE {
        let (count, max) = (files.len(), Image::MAX_PER_MESSAGE);
        return Err(CliError::usage(format!("{count} images are too many; a prompt takes at most {max}")));
    }
    files.iter().map(|file| read_image(file)).collect()
}

fn read_image(path: &Path) -> Result<Image, CliError> {
    let shown = path.display();
    let unreadable = |error| CliError::usage(format!("cannot read the image {shown}: {error}"));
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(Image::MAX_BYTES as u64 + 1).read_to_end(&mut bytes))
        .map_err(unreadable)?;
    if bytes.len() > Image::MAX_BYTES {
        let max = Image::MAX_BYTES;
        return Err(
            CliError::usage(format!("the image {shown} is larger than {max} bytes")).with_hint("make it smaller")
        );
    }
    let media = Image::detect_media_type(&bytes).ok_or_else(|| {
        CliError::usage(format!("{shown} is not an image format that models accept"))
            .with_hint("convert it to PNG, JPEG, GIF or WebP")
    })?;
    Ok(Image { media: media.into(), data: STANDARD.encode(&bytes) })
}
