//! What the demo says first.

use super::folder::DemoFolder;
use super::runner::DemoRunner;
use crate::print;

/// Tells what is going to happen, and where.
pub(super) fn print_introduction(folder: &DemoFolder, stage: &DemoRunner) {
    let (place, end) = match &stage.history {
        Ok(_) => ("in a checkout of its own", "\nAt the end all work is merged."),
        Err(why) => {
            print::note(format_args!(
                "{}\nWithout git all workers share one folder, and nothing is merged.\n",
                print::sanitize(why)
            ));
            ("of its own", "")
        }
    };
    print::output(format_args!(
        "The model is a script (no key, no network); everything else is real. A fleet\n\
         repairs three libraries at once, each by a worker {place}, and\n\
         writes notes that build on all three. One worker fails and is replaced, one says\n\
         that it is done when it is not: the checks decide.{end}\n\
         \nThe folder stays: {}\n",
        folder.root().display()
    ));
}
