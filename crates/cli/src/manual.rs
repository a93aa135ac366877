//! `bosun man`: the manual page, or one for each command.

use std::fs;
use std::path::Path;

use clap_mangen::Man;

use crate::args::{self, ManArgs};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::print;

pub(crate) fn write(args: &ManArgs) -> Result<Exit, Failure> {
    match &args.dir {
        Some(dir) => write_all(dir),
        None => {
            let mut page = Vec::new();
            Man::new(args::command()).render(&mut page)?;
            print::document(&page);
            Ok(Exit::Success)
        }
    }
}

fn write_all(dir: &Path) -> Result<Exit, Failure> {
    let failed = |error| {
        Failure::failed(format!("cannot write manual pages to {}: {error}", dir.display()))
            .hint("choose a folder of your own with --dir")
    };
    fs::create_dir_all(dir).map_err(failed)?;
    clap_mangen::generate_to(args::command(), dir).map_err(failed)?;
    let page = dir.join("bosun.1");
    print::note(format_args!("written to {}; read one with: man {}", dir.display(), page.display()));
    Ok(Exit::Success)
}
