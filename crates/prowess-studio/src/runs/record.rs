//! Records of runs in the database.

use bytes::Bytes;
use prowess_server::database::{
    Connection, Database, DatabaseError, Row, Transaction, Value as Cell, values,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::events::frame;
use crate::timestamp;

/// What ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum RunKind {
    Skill,
    Chat,
    Workflow,
    Test,
}

impl RunKind {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            RunKind::Skill => "skill",
            RunKind::Chat => "chat",
            RunKind::Workflow => "workflow",
            RunKind::Test => "test",
        }
    }
}

/// How it is going, or went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum RunStatus {
    Running,
    Success,
    Error,
    Cancelled,
    Interrupted,
}

impl RunStatus {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            RunStatus::Running => "running",
            RunStatus::Success => "success",
            RunStatus::Error => "error",
            RunStatus::Cancelled => "cancelled",
            RunStatus::Interrupted => "interrupted",
        }
    }
}

/// A run as the API shows it.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct RunRecord {
    pub(crate) id: String,
    pub(crate) kind: String,
    pub(crate) user_id: String,
    /// The skill, or the workflow's id.
    pub(crate) skill: Option<String>,
    pub(crate) version: Option<i64>,
    pub(crate) model: Option<String>,
    pub(crate) status: String,
    pub(crate) started_at: String,
    pub(crate) ended_at: Option<String>,
    pub(crate) duration_ms: Option<i64>,
    pub(crate) first_token_ms: Option<i64>,
    pub(crate) input_tokens: Option<i64>,
    pub(crate) output_tokens: Option<i64>,
    pub(crate) cost: Option<f64>,
    /// Only for one run, not in lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) inputs: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) output: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) sources: Option<Value>,
}

/// Which runs are listed.
#[derive(Clone, Debug, Default)]
pub(crate) struct RunFilter {
    /// `None` for all owners.
    pub(crate) owner: Option<String>,
    pub(crate) kind: Option<RunKind>,
    pub(crate) subject: Option<String>,
    pub(crate) status: Option<RunStatus>,
    /// The id of the last run of the previous page.
    pub(crate) before: Option<String>,
    pub(crate) limit: i64,
}

/// The events of a finished run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoredEvents {
    /// The number of events that are gone.
    pub(crate) gone: i64,
    pub(crate) frames: String,
}

/// What is known when a run starts.
#[derive(Clone, Debug)]
pub(crate) struct StartedRun {
    pub(crate) id: String,
    pub(crate) owner: String,
    pub(crate) kind: RunKind,
    pub(crate) subject: Option<String>,
    pub(crate) version: Option<i64>,
    pub(crate) model: Option<String>,
    pub(crate) inputs: Value,
    /// What another server needs to run it again.
    pub(crate) job: Option<Value>,
    pub(crate) node: String,
    pub(crate) started_at: i64,
}

/// What is known when it has ended.
#[derive(Clone, Debug)]
pub(crate) struct EndedRun {
    pub(crate) id: String,
    pub(crate) owner: String,
    /// The server that it ran on, which must still be its owner.
    pub(crate) node: String,
    pub(crate) status: RunStatus,
    pub(crate) model: Option<String>,
    pub(crate) ended_at: i64,
    pub(crate) first_token_ms: Option<i64>,
    pub(crate) input_tokens: Option<i64>,
    pub(crate) output_tokens: Option<i64>,
    pub(crate) cost: Option<f64>,
    pub(crate) output: String,
    pub(crate) error: Option<String>,
    pub(crate) sources: Option<Value>,
    pub(crate) events: StoredEvents,
}

const COLUMNS: &str = "id, kind, owner, subject, version, model, status, started_at, ended_at, \
     first_token_ms, input_tokens, output_tokens, cost";

/// The records of runs.
#[derive(Clone)]
pub(crate) struct RunStore {
    pub(crate) database: Database,
}

impl RunStore {
    /// Records that a run has started.
    pub(crate) async fn begin(&self, run: StartedRun) -> Result<(), DatabaseError> {
        self.database
            .write(move |transaction| {
                transaction.execute(
                    "INSERT INTO studio_runs (id, owner, kind, subject, version, model, status, node, \
                     started_at, inputs, job) VALUES (?1, ?2, ?3, ?4, ?5, ?6, 'running', ?7, ?8, ?9, ?10)",
                    &values![
                        run.id.clone(),
                        run.owner.clone(),
                        run.kind.as_str(),
                        run.subject.clone(),
                        run.version,
                        run.model.clone(),
                        run.node.clone(),
                        run.started_at,
                        run.inputs.to_string(),
                        run.job.as_ref().map(Value::to_string)
                    ],
                )?;
                Ok(())
            })
            .await
    }

    /// The runs that match, the latest first.
    pub(crate) async fn list(&self, filter: RunFilter) -> Result<Vec<RunRecord>, DatabaseError> {
        self.database.read(move |connection| list(connection, &filter)).await
    }

    /// A run with its inputs and output.
    pub(crate) async fn get(
        &self,
        id: &str,
        owner: Option<&str>,
    ) -> Result<Option<RunRecord>, DatabaseError> {
        let (id, owner) = (id.to_owned(), owner.map(str::to_owned));
        self.database
            .read(move |connection| {
                let sql = format!(
                    "SELECT {COLUMNS}, inputs, output, error, sources FROM studio_runs WHERE id = ?1"
                );
                let Some(row) = connection.query_optional(&sql, &values![id.clone()])? else {
                    return Ok(None);
                };
                let record = record(&row)?;
                if owner.as_ref().is_some_and(|owner| *owner != record.user_id) {
                    return Ok(None);
                }
                let json = |text: Option<String>| {
                    text.and_then(|text| serde_json::from_str::<Value>(&text).ok())
                };
                Ok(Some(RunRecord {
                    inputs: json(Some(row.get::<String>("inputs")?)),
                    output: row.get("output")?,
                    error: row.get("error")?,
                    sources: json(row.get("sources")?),
                    ..record
                }))
            })
            .await
    }

    /// The events of a finished run.
    pub(crate) async fn events(&self, id: &str) -> Result<Option<StoredEvents>, DatabaseError> {
        let id = id.to_owned();
        self.database
            .read(move |connection| {
                let sql = "SELECT gone, frames FROM studio_run_events WHERE run_id = ?1";
                let row = connection.query_optional(sql, &values![id.clone()])?;
                row.map(|row| {
                    Ok(StoredEvents { gone: row.get("gone")?, frames: row.get("frames")? })
                })
                .transpose()
            })
            .await
    }

    /// Deletes a finished run; returns whether it existed.
    pub(crate) async fn delete(&self, id: &str) -> Result<bool, DatabaseError> {
        let id = id.to_owned();
        self.database
            .write(move |transaction| {
                let sql = "DELETE FROM studio_runs WHERE id = ?1 AND status <> 'running'";
                let deleted = transaction.execute(sql, &values![id.clone()])?;
                if deleted > 0 {
                    let sql = "DELETE FROM studio_run_events WHERE run_id = ?1";
                    transaction.execute(sql, &values![id.clone()])?;
                }
                Ok(deleted > 0)
            })
            .await
    }

    /// Marks all runs that were cut off as interrupted, with the events that were written down.
    pub(crate) fn interrupt_all_blocking(&self, now: i64) -> Result<usize, DatabaseError> {
        self.database.write_blocking(move |transaction| {
            let sql = "SELECT id FROM studio_runs WHERE status = 'running'";
            let rows = transaction.query(sql, &[])?;
            for row in &rows {
                if let Some(run) = TakenRun::read(transaction, &row.get::<String>("id")?)? {
                    interrupt(transaction, &run, now)?;
                }
            }
            Ok(rows.len())
        })
    }

    /// Marks a run that can't be continued as interrupted.
    pub(crate) async fn interrupt(&self, run: TakenRun, now: i64) -> Result<(), DatabaseError> {
        self.database.write(move |transaction| interrupt(transaction, &run, now)).await
    }

    /// Writes down events of runs that go on; returns the number of the last event of each that was written.
    pub(crate) async fn note(
        &self,
        news: Vec<(String, u64, u64, String)>,
        node: &str,
    ) -> Result<Vec<(String, u64)>, DatabaseError> {
        if news.is_empty() {
            return Ok(Vec::new());
        }
        let node = node.to_owned();
        self.database
            .write(move |transaction| {
                let mut written = Vec::new();
                for (id, first, last, frames) in &news {
                    // Not of a run that has ended, is not recorded yet, or was taken over.
                    let sql = "INSERT INTO studio_run_frames (run_id, first, last, frames) \
                               SELECT CAST(?1 AS TEXT), CAST(?2 AS BIGINT), CAST(?3 AS BIGINT), CAST(?4 AS TEXT) \
                               WHERE EXISTS (SELECT 1 FROM studio_runs WHERE id = ?1 \
                               AND status = 'running' AND node = ?5)";
                    let cells =
                        values![id.as_str(), *first, *last, frames.as_str(), node.as_str()];
                    if transaction.execute(sql, &cells)? > 0 {
                        written.push((id.clone(), *last));
                    }
                }
                Ok(written)
            })
            .await
    }

    /// The events of a run after a number, as far as they are written down, each with its number.
    pub(crate) async fn noted(&self, id: &str, after: u64) -> Result<Noted, DatabaseError> {
        let id = id.to_owned();
        self.database
            .read(move |connection| {
                let mut frames = noted_frames(connection, &id, after)?;
                let sql = "SELECT gone, frames FROM studio_run_events WHERE run_id = ?1";
                let row = connection.query_optional(sql, &values![id.clone()])?;
                let is_over = row.is_some();
                if let Some(row) = row {
                    let gone: i64 = row.get("gone")?;
                    frames = numbered(gone + 1, &row.get::<String>("frames")?);
                    frames.retain(|(number, _)| *number > after);
                }
                Ok(Noted { frames, is_over })
            })
            .await
    }

    /// Asks the server that a run is on to cancel it.
    pub(crate) async fn want_cancel(&self, id: &str) -> Result<(), DatabaseError> {
        let id = id.to_owned();
        self.database
            .write(move |transaction| {
                let sql =
                    "UPDATE studio_runs SET cancel_wanted = 1 WHERE id = ?1 AND status = 'running'";
                transaction.execute(sql, &values![id.clone()]).map(|_| ())
            })
            .await
    }

    /// The runs of a server that others were asked to cancel.
    pub(crate) async fn cancelled_elsewhere(
        &self,
        node: &str,
    ) -> Result<Vec<String>, DatabaseError> {
        let node = node.to_owned();
        self.database
            .read(move |connection| {
                let sql = "SELECT id FROM studio_runs \
                           WHERE status = 'running' AND node = ?1 AND cancel_wanted = 1";
                connection
                    .query(sql, &values![node.clone()])?
                    .iter()
                    .map(|row| row.get("id"))
                    .collect()
            })
            .await
    }

    /// The tokens that an owner has used on a date.
    pub(crate) async fn tokens_on(&self, owner: &str, date: &str) -> Result<i64, DatabaseError> {
        let (owner, date) = (owner.to_owned(), date.to_owned());
        self.database
            .read(move |connection| {
                let sql = "SELECT input_tokens + output_tokens AS tokens FROM studio_usage \
                           WHERE date = ?1 AND owner = ?2";
                let row = connection.query_optional(sql, &values![date.clone(), owner.clone()])?;
                row.map_or(Ok(0), |row| row.get("tokens"))
            })
            .await
    }
}

/// What is written down of a run that goes on.
pub(crate) struct Noted {
    /// The events with their numbers.
    pub(crate) frames: Vec<(u64, Bytes)>,
    /// Whether there will be no more.
    pub(crate) is_over: bool,
}

/// A run whose server is gone.
#[derive(Clone, Debug)]
pub(crate) struct TakenRun {
    pub(crate) id: String,
    pub(crate) owner: String,
    pub(crate) kind: String,
    pub(crate) version: Option<i64>,
    pub(crate) job: Option<Value>,
    /// The server that it was on.
    pub(crate) node: String,
    /// The events that were written down, with their numbers.
    pub(crate) frames: Vec<(u64, Bytes)>,
}

impl TakenRun {
    pub(crate) fn read(
        connection: &mut Connection<'_>,
        id: &str,
    ) -> Result<Option<Self>, DatabaseError> {
        let sql = "SELECT owner, kind, version, job, node \
                   FROM studio_runs WHERE id = ?1";
        let Some(row) = connection.query_optional(sql, &values![id])? else { return Ok(None) };
        let json = |text: Option<String>| text.and_then(|text| serde_json::from_str(&text).ok());
        Ok(Some(Self {
            id: id.to_owned(),
            owner: row.get("owner")?,
            kind: row.get("kind")?,
            version: row.get("version")?,
            job: json(row.get("job")?),
            node: row.get("node")?,
            frames: noted_frames(connection, id, 0)?,
        }))
    }

    /// The text of the answer so far.
    fn text(&self) -> String {
        let tokens = self.frames.iter().filter_map(|(_, frame)| {
            let data = std::str::from_utf8(frame).ok()?.split_once("\nevent: token\ndata: ")?.1;
            serde_json::from_str::<Value>(data.trim_end()).ok()?["content"]
                .as_str()
                .map(str::to_owned)
        });
        tokens.collect()
    }
}

fn noted_frames(
    connection: &mut Connection<'_>,
    id: &str,
    after: u64,
) -> Result<Vec<(u64, Bytes)>, DatabaseError> {
    let sql = "SELECT first, frames FROM studio_run_frames \
               WHERE run_id = ?1 AND last > ?2 ORDER BY first";
    let rows = connection.query(sql, &values![id, after])?;
    let mut frames = Vec::new();
    for row in &rows {
        frames.extend(numbered(row.get("first")?, &row.get::<String>("frames")?));
    }
    frames.retain(|(number, _)| *number > after);
    Ok(frames)
}

/// Frames with their numbers. A frame has no empty line inside: its data is one line.
fn numbered(first: i64, frames: &str) -> Vec<(u64, Bytes)> {
    let first = u64::try_from(first).unwrap_or(1);
    let frames = frames.split_inclusive("\n\n").filter(|frame| frame.ends_with("\n\n"));
    (first..).zip(frames.map(|frame| Bytes::copy_from_slice(frame.as_bytes()))).collect()
}

/// Ends a run that was cut off. Its text so far is kept.
fn interrupt(
    transaction: &mut Transaction<'_>,
    run: &TakenRun,
    now: i64,
) -> Result<(), DatabaseError> {
    let message = "the server was stopped while it ran";
    let last = run.frames.last().map_or(0, |(number, _)| *number);
    let first = run.frames.first().map_or(1, |(number, _)| *number);
    let mut frames: String =
        run.frames.iter().filter_map(|(_, frame)| std::str::from_utf8(frame).ok()).collect();
    let data = json!({ "message": message });
    for frame in [
        frame(last + 1, "error", &data),
        frame(last + 2, "done", &json!({ "status": "error", "message": message })),
    ] {
        frames.push_str(&String::from_utf8_lossy(&frame));
    }
    let text = storable(&run.text());
    transaction.execute(
        "UPDATE studio_runs SET status = 'interrupted', ended_at = ?1, error = ?2, output = ?3 \
         WHERE id = ?4 AND status = 'running'",
        &values![now, message, text.as_str(), run.id.as_str()],
    )?;
    transaction.execute(
        "INSERT INTO studio_run_events (run_id, gone, frames) VALUES (?1, ?2, ?3) \
         ON CONFLICT (run_id) DO NOTHING",
        &values![run.id.as_str(), first - 1, frames],
    )?;
    let cells = values![run.id.as_str()];
    transaction.execute("DELETE FROM studio_run_frames WHERE run_id = ?1", &cells)?;
    transaction.execute(
        "UPDATE studio_chat_messages SET status = 'interrupted', content = ?1 \
         WHERE run_id = ?2 AND status = 'running'",
        &values![text, run.id.as_str()],
    )?;
    Ok(())
}

/// Records the end of a run, its events and its usage. Nothing is recorded if another server has taken it over.
pub(crate) fn end(transaction: &mut Transaction<'_>, run: &EndedRun) -> Result<(), DatabaseError> {
    let ended = transaction.execute(
        "UPDATE studio_runs SET status = ?1, model = COALESCE(?2, model), ended_at = ?3, \
         first_token_ms = ?4, input_tokens = ?5, output_tokens = ?6, cost = ?7, output = ?8, error = ?9, \
         sources = ?10, job = NULL WHERE id = ?11 AND node = ?12 AND status = 'running'",
        &values![
            run.status.as_str(),
            run.model.clone(),
            run.ended_at,
            run.first_token_ms,
            run.input_tokens,
            run.output_tokens,
            run.cost,
            storable(&run.output),
            run.error.as_deref().map(storable),
            run.sources.as_ref().map(Value::to_string),
            run.id.clone(),
            run.node.clone()
        ],
    )?;
    if ended == 0 {
        return Err(DatabaseError::Busy);
    }
    transaction
        .execute("DELETE FROM studio_run_frames WHERE run_id = ?1", &values![run.id.clone()])?;
    transaction.execute(
        "INSERT INTO studio_run_events (run_id, gone, frames) VALUES (?1, ?2, ?3)",
        &values![run.id.clone(), run.events.gone, run.events.frames.clone()],
    )?;
    transaction.execute(
        "INSERT INTO studio_usage (date, owner, runs, input_tokens, output_tokens, cost) \
         VALUES (?1, ?2, 1, ?3, ?4, ?5) ON CONFLICT (date, owner) DO UPDATE SET \
         runs = studio_usage.runs + 1, \
         input_tokens = studio_usage.input_tokens + excluded.input_tokens, \
         output_tokens = studio_usage.output_tokens + excluded.output_tokens, \
         cost = CASE WHEN excluded.cost IS NULL THEN studio_usage.cost \
         ELSE COALESCE(studio_usage.cost, 0) + excluded.cost END",
        &values![
            timestamp::date_of_millis(run.ended_at),
            run.owner.clone(),
            run.input_tokens.unwrap_or(0),
            run.output_tokens.unwrap_or(0),
            run.cost
        ],
    )?;
    Ok(())
}

/// A text that both databases take: Postgres has no NUL characters.
pub(crate) fn storable(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

fn list(
    connection: &mut Connection<'_>,
    filter: &RunFilter,
) -> Result<Vec<RunRecord>, DatabaseError> {
    let mut conditions = vec!["1 = 1".to_owned()];
    let mut cells: Vec<Cell> = Vec::new();
    let mut add = |condition: &str, cell: Cell| {
        cells.push(cell);
        conditions.push(condition.replace('#', &format!("?{}", cells.len())));
    };
    if let Some(owner) = &filter.owner {
        add("owner = #", owner.clone().into());
    }
    if let Some(kind) = filter.kind {
        add("kind = #", kind.as_str().into());
    }
    if let Some(subject) = &filter.subject {
        add("subject = #", subject.clone().into());
    }
    if let Some(status) = filter.status {
        add("status = #", status.as_str().into());
    }
    if let Some(before) = &filter.before {
        let sql = "SELECT started_at FROM studio_runs WHERE id = ?1";
        // A page after a run that was deleted is empty, and the client begins again.
        let Some(row) = connection.query_optional(sql, &values![before.clone()])? else {
            return Ok(Vec::new());
        };
        let at: i64 = row.get("started_at")?;
        cells.extend([at.into(), before.clone().into()]);
        let (time, id) = (cells.len() - 1, cells.len());
        conditions.push(format!("(started_at < ?{time} OR (started_at = ?{time} AND id < ?{id}))"));
    }
    cells.push(filter.limit.into());
    let sql = format!(
        "SELECT {COLUMNS} FROM studio_runs WHERE {} ORDER BY started_at DESC, id DESC LIMIT ?{}",
        conditions.join(" AND "),
        cells.len()
    );
    connection.query(&sql, &cells)?.iter().map(record).collect()
}

fn record(row: &Row) -> Result<RunRecord, DatabaseError> {
    let started: i64 = row.get("started_at")?;
    let ended: Option<i64> = row.get("ended_at")?;
    Ok(RunRecord {
        id: row.get("id")?,
        kind: row.get("kind")?,
        user_id: row.get("owner")?,
        skill: row.get("subject")?,
        version: row.get("version")?,
        model: row.get("model")?,
        status: row.get("status")?,
        started_at: timestamp::of_millis(started),
        ended_at: ended.map(timestamp::of_millis),
        duration_ms: ended.map(|ended| ended - started),
        first_token_ms: row.get("first_token_ms")?,
        input_tokens: row.get("input_tokens")?,
        output_tokens: row.get("output_tokens")?,
        cost: row.get("cost")?,
        inputs: None,
        output: None,
        error: None,
        sources: None,
    })
}
