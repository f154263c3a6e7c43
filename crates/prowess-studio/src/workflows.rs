//! Workflows of users and their executions in the database. An execution is recorded node by node, so that any server
//! resumes it after its own was killed.

use std::collections::HashMap;
use std::path::PathBuf;

use prowess_engine::workflow::{OpenRun, RunJournal, RunRecord, RunStoreError, StoredRunId};
use prowess_server::database::{Database, DatabaseError, Row, Transaction, values};
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::runs::storable;
use crate::timestamp;

/// Number of versions that are kept per workflow.
const MAX_VERSIONS: i64 = 200;
/// How long an execution belongs to a server that does not renew it.
pub(crate) const LEASE_MS: i64 = 30_000;

/// A workflow's record.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct WorkflowRecord {
    pub(crate) id: String,
    pub(crate) owner: String,
    pub(crate) name: String,
    pub(crate) description: String,
    /// The file in the exchange format, with all its members.
    pub(crate) document: Value,
    pub(crate) revision: i64,
    pub(crate) created_at: i64,
    pub(crate) updated_at: i64,
}

/// A saved revision in a list.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct WorkflowVersion {
    pub(crate) revision: i64,
    pub(crate) created_at: String,
    pub(crate) user_id: String,
}

/// An execution's record.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ExecutionRecord {
    pub(crate) id: String,
    pub(crate) owner: String,
    pub(crate) workflow_id: String,
    pub(crate) revision: i64,
    pub(crate) status: String,
    pub(crate) document: String,
    pub(crate) inputs: Map<String, Value>,
    pub(crate) settings: Value,
    pub(crate) output: Option<Value>,
    pub(crate) error: Option<String>,
    pub(crate) run_id: Option<String>,
    pub(crate) started_at: i64,
    pub(crate) ended_at: Option<i64>,
}

/// The workflows of all users.
#[derive(Clone)]
pub(crate) struct Workflows {
    database: Database,
    /// The name of this server among several.
    node: String,
}

/// What became of an attempt to change a workflow.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Changed {
    Saved(Box<WorkflowRecord>),
    /// Somebody else has changed it.
    Conflict(Box<WorkflowRecord>),
    Missing,
}

const COLUMNS: &str = "id, owner, name, description, document, revision, created_at, updated_at";
const EXECUTION_COLUMNS: &str = "id, owner, workflow_id, revision, status, document, inputs, settings, output, \
     error, run_id, started_at, ended_at";

impl Workflows {
    pub(crate) fn new(database: Database, node: String) -> Self {
        Self { database, node }
    }

    /// The workflows that an owner sees; all without one.
    pub(crate) async fn list(
        &self,
        owner: Option<&str>,
    ) -> Result<Vec<WorkflowRecord>, DatabaseError> {
        let owner = owner.unwrap_or_default().to_owned();
        self.database
            .read(move |connection| {
                let sql = format!(
                    "SELECT {COLUMNS} FROM studio_workflows WHERE ?1 = '' OR owner = ?1 \
                     ORDER BY updated_at DESC, id LIMIT 1000"
                );
                connection.query(&sql, &values![owner.clone()])?.iter().map(workflow).collect()
            })
            .await
    }

    pub(crate) async fn get(
        &self,
        owner: Option<&str>,
        id: &str,
    ) -> Result<Option<WorkflowRecord>, DatabaseError> {
        let (owner, id) = (owner.unwrap_or_default().to_owned(), storable(id));
        self.database
            .read(move |connection| {
                let sql = format!(
                    "SELECT {COLUMNS} FROM studio_workflows \
                     WHERE id = ?1 AND (?2 = '' OR owner = ?2)"
                );
                let row = connection.query_optional(&sql, &values![id.clone(), owner.clone()])?;
                row.as_ref().map(workflow).transpose()
            })
            .await
    }

    pub(crate) async fn create(&self, record: WorkflowRecord) -> Result<(), DatabaseError> {
        self.database
            .write(move |transaction| {
                transaction.execute(
                    "INSERT INTO studio_workflows (id, owner, name, description, document, revision, \
                     created_at, updated_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
                    &values![
                        record.id.clone(),
                        record.owner.clone(),
                        record.name.clone(),
                        storable(&record.description),
                        record.document.to_string(),
                        record.revision,
                        record.created_at,
                        record.updated_at
                    ],
                )?;
                keep_version(transaction, &record, &record.owner)
            })
            .await
    }

    /// Saves a workflow, if nobody has changed it since the revision.
    pub(crate) async fn change(
        &self,
        record: WorkflowRecord,
        expected: i64,
        user: &str,
    ) -> Result<Changed, DatabaseError> {
        let user = user.to_owned();
        self.database
            .write(move |transaction| {
                let sql = format!("SELECT {COLUMNS} FROM studio_workflows WHERE id = ?1");
                let row = transaction.query_optional(&sql, &values![record.id.clone()])?;
                let Some(row) = row else { return Ok(Changed::Missing) };
                let current = workflow(&row)?;
                if current.revision != expected {
                    return Ok(Changed::Conflict(Box::new(current)));
                }
                let saved = WorkflowRecord {
                    revision: expected + 1,
                    created_at: current.created_at,
                    owner: current.owner,
                    ..record.clone()
                };
                transaction.execute(
                    "UPDATE studio_workflows SET name = ?1, description = ?2, document = ?3, \
                     revision = ?4, updated_at = ?5 WHERE id = ?6",
                    &values![
                        saved.name.clone(),
                        storable(&saved.description),
                        saved.document.to_string(),
                        saved.revision,
                        saved.updated_at,
                        saved.id.clone()
                    ],
                )?;
                keep_version(transaction, &saved, &user)?;
                Ok(Changed::Saved(Box::new(saved)))
            })
            .await
    }

    pub(crate) async fn delete(&self, id: &str) -> Result<(), DatabaseError> {
        let id = id.to_owned();
        self.database
            .write(move |transaction| {
                for sql in [
                    "DELETE FROM studio_workflows WHERE id = ?1",
                    "DELETE FROM studio_workflow_versions WHERE workflow_id = ?1",
                    "DELETE FROM studio_execution_nodes WHERE execution_id IN \
                     (SELECT id FROM studio_executions WHERE workflow_id = ?1)",
                    "DELETE FROM studio_executions WHERE workflow_id = ?1",
                ] {
                    transaction.execute(sql, &values![id.clone()])?;
                }
                Ok(())
            })
            .await
    }

    pub(crate) async fn versions(&self, id: &str) -> Result<Vec<WorkflowVersion>, DatabaseError> {
        let id = id.to_owned();
        self.database
            .read(move |connection| {
                let sql = "SELECT revision, created_at, user_id FROM studio_workflow_versions \
                           WHERE workflow_id = ?1 ORDER BY revision DESC LIMIT ?2";
                let rows = connection.query(sql, &values![id.clone(), MAX_VERSIONS])?;
                rows.iter()
                    .map(|row| {
                        Ok(WorkflowVersion {
                            revision: row.get("revision")?,
                            created_at: timestamp::of_millis(row.get("created_at")?),
                            user_id: row.get("user_id")?,
                        })
                    })
                    .collect()
            })
            .await
    }

    pub(crate) async fn version(
        &self,
        id: &str,
        revision: i64,
    ) -> Result<Option<Value>, DatabaseError> {
        let id = id.to_owned();
        self.database
            .read(move |connection| {
                let sql = "SELECT document FROM studio_workflow_versions \
                           WHERE workflow_id = ?1 AND revision = ?2";
                let row = connection.query_optional(sql, &values![id.clone(), revision])?;
                row.map(|row| Ok(json(&row.get::<String>("document")?))).transpose()
            })
            .await
    }

    /// Records an execution that begins here.
    pub(crate) async fn begin(
        &self,
        record: ExecutionRecord,
        now: i64,
    ) -> Result<OpenRun, DatabaseError> {
        let open = self.open(&record, HashMap::new());
        let node = self.node.clone();
        self.database
            .write(move |transaction| {
                transaction.execute(
                    "INSERT INTO studio_executions (id, owner, workflow_id, revision, status, document, \
                     inputs, settings, held_by, held_until, started_at) \
                     VALUES (?1, ?2, ?3, ?4, 'running', ?5, ?6, ?7, ?8, ?9, ?10)",
                    &values![
                        record.id.clone(),
                        record.owner.clone(),
                        record.workflow_id.clone(),
                        record.revision,
                        record.document.clone(),
                        Value::Object(record.inputs.clone()).to_string(),
                        record.settings.to_string(),
                        node.clone(),
                        now + LEASE_MS,
                        record.started_at
                    ],
                )?;
                Ok::<_, DatabaseError>(())
            })
            .await?;
        Ok(open)
    }

    /// Takes an execution that has stopped, to resume it here; `None` if it runs somewhere or is complete. What the server
    /// `gone` holds has stopped too.
    pub(crate) async fn take(
        &self,
        record: &ExecutionRecord,
        now: i64,
        gone: Option<&str>,
    ) -> Result<Option<OpenRun>, DatabaseError> {
        let (id, node) = (record.id.clone(), self.node.clone());
        let gone = gone.unwrap_or_default().to_owned();
        let outputs = self
            .database
            .write(move |transaction| {
                let taken = transaction.execute(
                    "UPDATE studio_executions SET status = 'running', held_by = ?1, held_until = ?2, \
                     error = NULL, ended_at = NULL WHERE id = ?3 AND status <> 'success' \
                     AND (held_by IS NULL OR held_until < ?4 OR held_by = ?5)",
                    &values![node.clone(), now + LEASE_MS, id.clone(), now, gone.clone()],
                )?;
                if taken == 0 {
                    return Ok(None);
                }
                outputs(transaction, &id).map(Some)
            })
            .await?;
        Ok(outputs.map(|outputs| self.open(record, outputs)))
    }

    fn open(&self, record: &ExecutionRecord, outputs: HashMap<String, Value>) -> OpenRun {
        let id = StoredRunId::parse(&record.id).expect("ids of executions are made here");
        let settings = record.settings.clone();
        let run =
            RunRecord { text: record.document.clone(), inputs: record.inputs.clone(), settings };
        let journal = DatabaseJournal { database: self.database.clone(), id: record.id.clone() };
        OpenRun::new(id, run, outputs, journal)
    }

    /// Names the run that an execution is followed by, and renews that it belongs to this server.
    pub(crate) async fn hold(&self, id: &str, run: &str, now: i64) -> Result<(), DatabaseError> {
        let (id, run) = (id.to_owned(), run.to_owned());
        self.database
            .write(move |transaction| {
                transaction.execute(
                    "UPDATE studio_executions SET run_id = ?1, held_until = ?2 \
                     WHERE id = ?3 AND held_by IS NOT NULL",
                    &values![run.clone(), now + LEASE_MS, id.clone()],
                )?;
                Ok(())
            })
            .await
    }

    pub(crate) async fn execution(
        &self,
        owner: Option<&str>,
        id: &str,
    ) -> Result<Option<(ExecutionRecord, HashMap<String, Value>)>, DatabaseError> {
        let (owner, id) = (owner.unwrap_or_default().to_owned(), storable(id));
        self.database
            .read(move |connection| {
                let sql = format!(
                    "SELECT {EXECUTION_COLUMNS} FROM studio_executions \
                     WHERE id = ?1 AND (?2 = '' OR owner = ?2)"
                );
                let row = connection.query_optional(&sql, &values![id.clone(), owner.clone()])?;
                let Some(row) = row else { return Ok(None) };
                Ok(Some((execution(&row)?, outputs(connection, &id)?)))
            })
            .await
    }

    /// The execution that a run follows.
    pub(crate) async fn of_run(&self, run: &str) -> Result<Option<ExecutionRecord>, DatabaseError> {
        let run = run.to_owned();
        self.database
            .read(move |connection| {
                let sql =
                    format!("SELECT {EXECUTION_COLUMNS} FROM studio_executions WHERE run_id = ?1");
                let row = connection.query_optional(&sql, &values![run.clone()])?;
                row.as_ref().map(execution).transpose()
            })
            .await
    }

    pub(crate) async fn executions(
        &self,
        workflow: &str,
        limit: i64,
    ) -> Result<Vec<ExecutionRecord>, DatabaseError> {
        let workflow = workflow.to_owned();
        self.database
            .read(move |connection| {
                let sql = format!(
                    "SELECT {EXECUTION_COLUMNS} FROM studio_executions WHERE workflow_id = ?1 \
                     ORDER BY started_at DESC, id DESC LIMIT ?2"
                );
                let rows = connection.query(&sql, &values![workflow.clone(), limit])?;
                rows.iter().map(execution).collect()
            })
            .await
    }

    /// Frees the executions of a process of this name that was killed.
    pub(crate) fn interrupt_blocking(&self) -> Result<u64, DatabaseError> {
        let node = self.node.clone();
        self.database.write_blocking(move |transaction| {
            transaction.execute(
                "UPDATE studio_executions SET status = 'interrupted', held_by = NULL, \
                 error = 'the server was stopped while it ran' WHERE held_by = ?1",
                &values![node.clone()],
            )
        })
    }
}

/// Writes the end of an execution.
pub(crate) fn finish(
    transaction: &mut Transaction<'_>,
    id: &str,
    run: &crate::runs::EndedRun,
) -> Result<(), DatabaseError> {
    transaction.execute(
        "UPDATE studio_executions SET status = ?1, error = ?2, ended_at = ?3, held_by = NULL WHERE id = ?4",
        &values![run.status.as_str(), run.error.as_deref().map(storable), run.ended_at, id],
    )?;
    Ok(())
}

/// Records nodes as they complete. The engine calls it on threads that may block.
struct DatabaseJournal {
    database: Database,
    id: String,
}

impl RunJournal for DatabaseJournal {
    fn complete(&mut self, number: usize, node: &str, output: &Value) -> Result<(), RunStoreError> {
        let (id, node, output) = (self.id.clone(), node.to_owned(), output.to_string());
        let written = self.database.write_blocking(move |transaction| {
            transaction.execute(
                "INSERT INTO studio_execution_nodes (execution_id, number, node_id, output) \
                 VALUES (?1, ?2, ?3, ?4) ON CONFLICT (execution_id, number) DO UPDATE SET \
                 output = excluded.output",
                &values![id.clone(), number, storable(&node), output.clone()],
            )
        });
        written.map(|_| ()).map_err(|error| self.failed(&error))
    }

    fn end(&mut self, output: &Value) -> Result<(), RunStoreError> {
        let (id, output) = (self.id.clone(), output.to_string());
        let written = self.database.write_blocking(move |transaction| {
            let sql = "UPDATE studio_executions SET output = ?1 WHERE id = ?2";
            transaction.execute(sql, &values![output.clone(), id.clone()])
        });
        written.map(|_| ()).map_err(|error| self.failed(&error))
    }
}

impl DatabaseJournal {
    fn failed(&self, error: &DatabaseError) -> RunStoreError {
        RunStoreError::Broken { path: PathBuf::from(&self.id), reason: error.to_string() }
    }
}

fn keep_version(
    transaction: &mut Transaction<'_>,
    record: &WorkflowRecord,
    user: &str,
) -> Result<(), DatabaseError> {
    transaction.execute(
        "INSERT INTO studio_workflow_versions (workflow_id, revision, user_id, created_at, document) \
         VALUES (?1, ?2, ?3, ?4, ?5)",
        &values![
            record.id.clone(),
            record.revision,
            user,
            record.updated_at,
            record.document.to_string()
        ],
    )?;
    let sql = "DELETE FROM studio_workflow_versions WHERE workflow_id = ?1 AND revision <= ?2";
    transaction.execute(sql, &values![record.id.clone(), record.revision - MAX_VERSIONS])?;
    Ok(())
}

fn outputs(
    connection: &mut prowess_server::database::Connection<'_>,
    id: &str,
) -> Result<HashMap<String, Value>, DatabaseError> {
    let sql = "SELECT node_id, output FROM studio_execution_nodes WHERE execution_id = ?1";
    let rows = connection.query(sql, &values![id])?;
    rows.iter().map(|row| Ok((row.get("node_id")?, json(&row.get::<String>("output")?)))).collect()
}

fn workflow(row: &Row) -> Result<WorkflowRecord, DatabaseError> {
    Ok(WorkflowRecord {
        id: row.get("id")?,
        owner: row.get("owner")?,
        name: row.get("name")?,
        description: row.get("description")?,
        document: json(&row.get::<String>("document")?),
        revision: row.get("revision")?,
        created_at: row.get("created_at")?,
        updated_at: row.get("updated_at")?,
    })
}

fn execution(row: &Row) -> Result<ExecutionRecord, DatabaseError> {
    let inputs = match json(&row.get::<String>("inputs")?) {
        Value::Object(inputs) => inputs,
        _ => Map::new(),
    };
    let output: Option<String> = row.get("output")?;
    Ok(ExecutionRecord {
        id: row.get("id")?,
        owner: row.get("owner")?,
        workflow_id: row.get("workflow_id")?,
        revision: row.get("revision")?,
        status: row.get("status")?,
        document: row.get("document")?,
        inputs,
        settings: json(&row.get::<String>("settings")?),
        output: output.map(|output| json(&output)),
        error: row.get("error")?,
        run_id: row.get("run_id")?,
        started_at: row.get("started_at")?,
        ended_at: row.get("ended_at")?,
    })
}

/// JSON that was written here.
fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_default()
}
