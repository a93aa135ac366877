//! How many files may be open.

use bosun_host::limits::{OpenFiles, raise_open_files};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::io::AsyncReadExt;

use crate::machine::{guardian, sh};

#[tokio::test]
async fn open_file_limit_is_raised_for_this_process_but_not_for_its_programs() {
    // The test runner may have raised it already; each test is a separate process.
    let maximum = getrlimit(Resource::Nofile).maximum;
    setrlimit(Resource::Nofile, Rlimit { current: Some(300), maximum }).unwrap();
    let raised = OpenFiles { current_limit: maximum, max_limit: maximum };
    assert_eq!(raise_open_files().unwrap(), raised);
    assert_eq!(raise_open_files().unwrap(), raised);
    let mut program = guardian().spawn(sh("ulimit -Sn; ulimit -Hn")).await.unwrap();
    let mut told = String::new();
    program.output.read_to_string(&mut told).await.unwrap();
    let hard = maximum.map_or("unlimited".into(), |maximum| maximum.to_string());
    assert_eq!(told, format!("300\n{hard}\n"));
    assert_eq!(OpenFiles::current(), raised);
}
