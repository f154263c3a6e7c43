//! The log of `--log` and `PROWESS_LOG`: `tracing` spans of our crates, written to standard error or a file.
//!
//! It is off by default. Records of other crates are dropped: they may log headers, and with them keys.

use std::fs::OpenOptions;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::{Mutex, OnceLock};

use prowess_core::RunId;
use prowess_engine::service::new_run_id;
use tracing_subscriber::filter::{LevelFilter, filter_fn};
use tracing_subscriber::fmt::format::FmtSpan;
use tracing_subscriber::layer::{Layer as _, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::error::Error;

/// The variable that is used if `--log` is not given.
pub(crate) const VARIABLE: &str = "PROWESS_LOG";
/// The prefix of the names of our crates.
const OURS: &str = "prowess";

/// The level, and the file if there is one: `LEVEL` or `LEVEL=FILE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LogOption {
    level: LevelFilter,
    file: Option<PathBuf>,
}

impl FromStr for LogOption {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (level, file) = match text.split_once('=') {
            Some((level, file)) => (level, Some(PathBuf::from(file))),
            None => (text, None),
        };
        let level = match level.to_ascii_lowercase().as_str() {
            "off" => LevelFilter::OFF,
            "error" => LevelFilter::ERROR,
            "warn" => LevelFilter::WARN,
            "info" => LevelFilter::INFO,
            "debug" => LevelFilter::DEBUG,
            "trace" => LevelFilter::TRACE,
            _ => {
                return Err(
                    "expected `off`, `error`, `warn`, `info`, `debug` or `trace`".to_owned()
                );
            }
        };
        if file.as_ref().is_some_and(|file| file.as_os_str().is_empty()) {
            return Err("expected a file after `=`".to_owned());
        }
        Ok(Self { level, file })
    }
}

/// Starts logging if the option or the variable is set.
pub(crate) fn start(option: Option<&LogOption>) -> Result<(), Error> {
    let from_variable = match option {
        Some(_) => None,
        None => std::env::var(VARIABLE).ok().filter(|text| !text.is_empty()),
    };
    let parsed = from_variable.map(|text| {
        text.parse::<LogOption>()
            .map_err(|reason| Error::usage(format!("`{VARIABLE}` is invalid: {reason}")))
    });
    let parsed = parsed.transpose()?;
    let Some(LogOption { level, file }) = option.or(parsed.as_ref()) else { return Ok(()) };
    let ours = filter_fn(|metadata| metadata.target().starts_with(OURS));
    let layer = tracing_subscriber::fmt::layer()
        .with_ansi(false)
        .with_span_events(FmtSpan::NEW | FmtSpan::CLOSE);
    let layer = match file {
        Some(path) => {
            let file = OpenOptions::new().append(true).create(true).open(path);
            let file = file.map_err(|source| Error::io("write", path, &source))?;
            layer.with_writer(Mutex::new(file)).boxed()
        }
        None => layer.with_writer(std::io::stderr).boxed(),
    };
    // Fails if there is a subscriber already, which then stays.
    let _ =
        tracing_subscriber::registry().with(layer.with_filter(*level).with_filter(ours)).try_init();
    Ok(())
}

/// The id of this process's run; `None` if the system has no random numbers.
pub(crate) fn run_id() -> Option<RunId> {
    static RUN: OnceLock<Option<RunId>> = OnceLock::new();
    *RUN.get_or_init(|| new_run_id().ok())
}

/// The span of this process's run.
pub(crate) fn run_span() -> tracing::Span {
    match run_id() {
        Some(run) => tracing::info_span!("run", run_id = %run),
        None => tracing::info_span!("run"),
    }
}

#[cfg(test)]
mod tests {
    use super::LogOption;

    #[test]
    fn parses_a_level_with_an_optional_file() {
        let parsed = |text: &str| text.parse::<LogOption>();
        assert!(parsed("debug").is_ok_and(|option| option.file.is_none()));
        assert!(
            parsed("INFO=/tmp/log").is_ok_and(|it| it.file.is_some_and(|it| it.ends_with("log")))
        );
        for wrong in ["", "loud", "debug=", "=file"] {
            assert!(parsed(wrong).is_err(), "{wrong}");
        }
    }
}
