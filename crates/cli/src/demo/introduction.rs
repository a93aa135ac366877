//! The introduction of the demo.

use tui::print;

use super::folder::DemoFolder;
use super::runner::DemoRunner;

/// Prints what is going to happen, and where.
pub(super) fn print_introduction(folder: &DemoFolder, runner: &DemoRunner) {
    let (place, end) = match &runner.git_history {
        Ok(_) => ("in a checkout of its own", "\nAt the end all work is merged."),
        Err(reason) => {
            print::note(format_args!(
                "{}\nWithout git, all workers share one folder, and nothing is merged.\n",
                print::sanitize(reason)
            ));
            ("of its own", "")
        }
    };
    print::output(format_args!(
        "The model is a script (no key, no network); everything else is real. A fleet\n\
         repairs three libraries at once, each with a worker {place},\n\
         and writes notes that build on all three. One worker fails and is replaced,\n\
         another reports success too early: the checks decide.{end}\n\
         \nThe folder is kept: {}\n",
        folder.root().display()
    ));
}
