//! The test kit's model server as a process, for benches and for tests in other languages.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "prints its address, or why it has none")]

use std::path::Path;
use std::process::ExitCode;

use bosun_testkit::server::{Hint, PlanError, RequestRetention, ServerSetup, span};
use model::ScriptModel;

const USAGE: &str = "\
usage: model-server --script FILE [FLAG VALUE]...

  --script FILE       the YAML script that answers
  --port PORT         the port on 127.0.0.1; any free one when it is 0 or absent
  --rate N            answers N requests per second, the others with 429 and Retry-After
  --rate-silent N     the same without Retry-After
  --latency TIME      waits this long before each answer: 50ms, 2s
  --context TOKENS    refuses conversations with more tokens
  --key KEY           refuses any other key
  --bodies FOLDER     writes the body of each request to a file in this folder
  --models A,B        the models to list
  --wire-faults PLAN  faults by request number: 1=FAULT,2..4=FAULT,%5=FAULT,*=FAULT

faults: hang close html too-long empty bad-sse bad-json endless endless-line status:CODE status:CODE:TIME quota:TIME
        model:NAME drip:byte:TIME drip:event:TIME, and cut: or end: before bytes:N events:N call";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match setup(&arguments) {
        Ok(setup) => {
            let server = setup.start();
            println!("listening on {}", server.url());
            server.serve();
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("model-server: {error}\n\n{USAGE}");
            ExitCode::from(2)
        }
    }
}

fn setup(arguments: &[String]) -> Result<ServerSetup, String> {
    let (pairs, rest) = arguments.as_chunks::<2>();
    if let [flag] = rest {
        return Err(format!("{flag} needs a value"));
    }
    let script = pairs.iter().find(|[flag, _]| flag == "--script").ok_or("--script is missing")?;
    let script = ScriptModel::load(Path::new(&script[1])).map_err(|error| error.to_string())?;
    // A process that serves benches for hours must not keep every request.
    pairs.iter().try_fold(ServerSetup::new(script).keep(RequestRetention::Totals), |setup, [flag, value]| {
        apply(setup, flag, value)?.ok_or_else(|| format!("{flag} cannot be `{value}`"))
    })
}

/// Applies one flag; returns `None` if its value is not valid.
fn apply(setup: ServerSetup, flag: &str, value: &str) -> Result<Option<ServerSetup>, String> {
    Ok(match flag {
        "--script" => Some(setup),
        "--port" => value.parse().ok().map(|port| setup.port(port)),
        "--rate" => value.parse().ok().map(|rate| setup.allow(rate, Hint::RetryAfter)),
        "--rate-silent" => value.parse().ok().map(|rate| setup.allow(rate, Hint::Silent)),
        "--latency" => span(value).map(|latency| setup.latency(latency)),
        "--context" => value.parse().ok().map(|tokens| setup.context(tokens)),
        "--key" => Some(setup.key(value)),
        "--bodies" => Some(setup.bodies(Path::new(value))),
        "--models" => Some(setup.models(&value.split(',').collect::<Vec<_>>())),
        "--wire-faults" => {
            let faults = value.parse().map_err(|error: PlanError| error.to_string())?;
            Some(setup.faults(faults))
        }
        other => return Err(format!("unknown flag {other}")),
    })
}
