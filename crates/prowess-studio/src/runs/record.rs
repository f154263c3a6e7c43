//! Records of runs in the database.

use prowess_server::database::{
    Connection, Database, DatabaseError, Row, Transaction, Value as Cell, values,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

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
    pub(crate) node: String,
    pub(crate) started_at: i64,
}

/// What is known when it has ended.
#[derive(Clone, Debug)]
pub(crate) struct EndedRun {
    pub(crate) id: String,
    pub(crate) owner: String,
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
                     started_at, inputs) VALUES (?1, ?2, ?3, ?4, ?5, ?6, 'running', ?7, ?8, ?9)",
                    &values![
                        run.id.clone(),
                        run.owner.clone(),
                        run.kind.as_str(),
                        run.subject.clone(),
                        run.version,
                        run.model.clone(),
                        run.node.clone(),
                        run.started_at,
                        run.inputs.to_string()
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

    /// Marks the runs of a server that has ended as interrupted.
    pub(crate) fn interrupt_blocking(&self, node: &str, now: i64) -> Result<u64, DatabaseError> {
        let node = node.to_owned();
        self.database.write_blocking(move |transaction| {
            let message = "the server was stopped while it ran";
            transaction.execute(
                "UPDATE studio_runs SET status = 'interrupted', ended_at = ?1, error = ?2 \
                 WHERE status = 'running' AND node = ?3",
                &values![now, message, node.clone()],
            )
        })
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

/// Records the end of a run, its events and its usage.
pub(crate) fn end(transaction: &mut Transaction<'_>, run: &EndedRun) -> Result<(), DatabaseError> {
    transaction.execute(
        "UPDATE studio_runs SET status = ?1, model = COALESCE(?2, model), ended_at = ?3, \
         first_token_ms = ?4, input_tokens = ?5, output_tokens = ?6, cost = ?7, output = ?8, error = ?9, \
         sources = ?10 WHERE id = ?11",
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
            run.id.clone()
        ],
    )?;
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
