//! `bosun demo`.

use crate::args::DemoArgs;
use crate::exit::Exit;
use crate::failure::Failure;

pub(crate) async fn show(_args: &DemoArgs) -> Result<Exit, Failure> {
    Ok(Exit::Success)
}
