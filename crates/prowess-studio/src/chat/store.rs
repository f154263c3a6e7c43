//! Sessions and messages in the database. A message knows the one before it, so that a session is a tree and a branch a way
//! from its root.

use prowess_server::database::{Connection, Database, DatabaseError, Row, Transaction, values};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::runs::{EndedRun, RunStatus, storable};
use crate::timestamp;

/// Number of messages of a session that are returned.
const MAX_MESSAGES: i64 = 10_000;

/// A session in a list.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct SessionSummary {
    pub(crate) id: String,
    pub(crate) title: String,
    pub(crate) created_at: String,
    pub(crate) updated_at: String,
    pub(crate) messages: i64,
    /// The names of the reference implementation.
    pub(crate) session_id: String,
    pub(crate) message_count: i64,
}

/// A session.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct ChatSession {
    pub(crate) id: String,
    pub(crate) title: String,
    pub(crate) created_at: String,
    pub(crate) updated_at: String,
    /// The last message of the selected branch.
    pub(crate) head: Option<String>,
    /// The messages of all branches, in the order of creation.
    pub(crate) messages: Vec<ChatMessage>,
    /// The names of the reference implementation.
    pub(crate) session_id: String,
    pub(crate) message_count: usize,
}

/// A message.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct ChatMessage {
    pub(crate) id: String,
    pub(crate) parent_id: Option<String>,
    /// `user` or `assistant`.
    pub(crate) role: String,
    pub(crate) content: String,
    /// Only of answers: `running`, `success`, `error`, `stopped` or `interrupted`.
    pub(crate) status: Option<String>,
    pub(crate) run_id: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) skills: Vec<String>,
    pub(crate) sources: Value,
    pub(crate) input_tokens: Option<i64>,
    pub(crate) output_tokens: Option<i64>,
    pub(crate) cost: Option<f64>,
    pub(crate) created_at: String,
    /// The same, by the name of the reference implementation.
    pub(crate) timestamp: String,
}

/// A message of the user with the answer that is about to be written.
#[derive(Clone, Debug)]
pub(crate) struct NewExchange {
    pub(crate) owner: String,
    pub(crate) session: String,
    pub(crate) title: String,
    /// The message of the user, unless it exists already.
    pub(crate) message: Option<(String, String)>,
    /// The message before it.
    pub(crate) parent: Option<String>,
    pub(crate) answer: String,
    pub(crate) skills: Vec<String>,
    pub(crate) now: i64,
}

const COLUMNS: &str = "id, parent_id, role, content, status, run_id, model, skills, sources, \
     input_tokens, output_tokens, cost, created_at";

/// The chats of all users.
#[derive(Clone)]
pub(crate) struct ChatStore {
    database: Database,
}

impl ChatStore {
    pub(crate) fn new(database: Database) -> Self {
        Self { database }
    }

    /// A session of an owner.
    pub(crate) async fn session(
        &self,
        owner: &str,
        id: &str,
    ) -> Result<Option<ChatSession>, DatabaseError> {
        let (owner, id) = (owner.to_owned(), id.to_owned());
        self.database.read(move |connection| session(connection, &owner, &id)).await
    }

    /// The sessions of an owner, the latest first.
    pub(crate) async fn sessions(
        &self,
        owner: &str,
        search: &str,
        before: Option<String>,
        limit: i64,
    ) -> Result<Vec<SessionSummary>, DatabaseError> {
        let (owner, search) = (owner.to_owned(), format!("%{}%", like(search)));
        self.database
            .read(move |connection| {
                let before = match &before {
                    None => (i64::MAX, String::new()),
                    Some(id) => {
                        let sql = "SELECT updated_at FROM studio_chat_sessions \
                                   WHERE owner = ?1 AND id = ?2";
                        let row =
                            connection.query_optional(sql, &values![owner.clone(), id.clone()])?;
                        let Some(row) = row else { return Ok(Vec::new()) };
                        (row.get("updated_at")?, id.clone())
                    }
                };
                let sql = "SELECT s.id AS id, s.title AS title, s.created_at AS created_at, \
                           s.updated_at AS updated_at, (SELECT COUNT(*) FROM studio_chat_messages m \
                           WHERE m.owner = s.owner AND m.session_id = s.id) AS messages \
                           FROM studio_chat_sessions s WHERE s.owner = ?1 \
                           AND LOWER(s.title) LIKE LOWER(?2) ESCAPE '!' \
                           AND (s.updated_at < ?3 OR (s.updated_at = ?3 AND s.id < ?4)) \
                           ORDER BY s.updated_at DESC, s.id DESC LIMIT ?5";
                let cells = values![owner.clone(), search.clone(), before.0, before.1, limit];
                let rows = connection.query(sql, &cells)?;
                rows.iter()
                    .map(|row| {
                        Ok(SessionSummary {
                            id: row.get("id")?,
                            title: row.get("title")?,
                            created_at: timestamp::of_millis(row.get("created_at")?),
                            updated_at: timestamp::of_millis(row.get("updated_at")?),
                            messages: row.get("messages")?,
                            session_id: row.get("id")?,
                            message_count: row.get("messages")?,
                        })
                    })
                    .collect()
            })
            .await
    }

    /// Writes a message and its unfinished answer, and makes the answer the head.
    pub(crate) async fn begin(&self, new: NewExchange) -> Result<(), DatabaseError> {
        self.database.write(move |transaction| begin(transaction, &new)).await
    }

    /// Names the run of an answer.
    pub(crate) async fn set_run(&self, answer: &str, run: &str) -> Result<(), DatabaseError> {
        let (answer, run) = (answer.to_owned(), run.to_owned());
        self.database
            .write(move |transaction| {
                let sql = "UPDATE studio_chat_messages SET run_id = ?1 WHERE id = ?2";
                transaction.execute(sql, &values![run.clone(), answer.clone()])?;
                Ok(())
            })
            .await
    }

    /// Marks an answer that could not be started.
    pub(crate) async fn abandon(&self, answer: &str) -> Result<(), DatabaseError> {
        let answer = answer.to_owned();
        self.database
            .write(move |transaction| {
                let sql = "UPDATE studio_chat_messages SET status = 'error' WHERE id = ?1";
                transaction.execute(sql, &values![answer.clone()])?;
                Ok(())
            })
            .await
    }

    /// Changes the title or the selected branch; returns whether the session exists.
    pub(crate) async fn change(
        &self,
        owner: &str,
        id: &str,
        title: Option<String>,
        head: Option<String>,
    ) -> Result<bool, DatabaseError> {
        let (owner, id) = (owner.to_owned(), id.to_owned());
        self.database
            .write(move |transaction| {
                let sql = "UPDATE studio_chat_sessions SET title = COALESCE(?1, title), \
                           head = COALESCE(?2, head) WHERE owner = ?3 AND id = ?4";
                let cells = values![title.clone(), head.clone(), owner.clone(), id.clone()];
                Ok(transaction.execute(sql, &cells)? > 0)
            })
            .await
    }

    /// Deletes a session; returns whether it existed.
    pub(crate) async fn delete(&self, owner: &str, id: &str) -> Result<bool, DatabaseError> {
        let (owner, id) = (owner.to_owned(), id.to_owned());
        self.database
            .write(move |transaction| {
                let cells = values![owner.clone(), id.clone()];
                let sql = "DELETE FROM studio_chat_messages WHERE owner = ?1 AND session_id = ?2";
                transaction.execute(sql, &cells)?;
                let sql = "DELETE FROM studio_chat_sessions WHERE owner = ?1 AND id = ?2";
                Ok(transaction.execute(sql, &cells)? > 0)
            })
            .await
    }

    /// Marks answers that were being written when the server was stopped.
    pub(crate) fn interrupt_blocking(&self) -> Result<u64, DatabaseError> {
        self.database.write_blocking(|transaction| {
            transaction.execute(
                "UPDATE studio_chat_messages SET status = 'interrupted' WHERE status = 'running' \
                 AND NOT EXISTS (SELECT 1 FROM studio_runs r WHERE r.id = run_id AND r.status = 'running')",
                &[],
            )
        })
    }
}

impl ChatSession {
    /// The messages from the root to one, oldest first.
    pub(crate) fn branch(&self, last: Option<&str>) -> Vec<&ChatMessage> {
        let mut branch = Vec::new();
        let mut next = last;
        while let Some(id) = next {
            let Some(message) = self.messages.iter().find(|message| message.id == id) else {
                break;
            };
            // A way to the root is never longer than the tree.
            if branch.len() > self.messages.len() {
                break;
            }
            branch.push(message);
            next = message.parent_id.as_deref();
        }
        branch.reverse();
        branch
    }
}

/// Writes an answer that has ended.
pub(crate) fn finish(
    transaction: &mut Transaction<'_>,
    answer: &str,
    run: &EndedRun,
) -> Result<(), DatabaseError> {
    let status = match run.status {
        RunStatus::Cancelled => "stopped",
        other => other.as_str(),
    };
    transaction.execute(
        "UPDATE studio_chat_messages SET content = ?1, status = ?2, run_id = ?3, model = ?4, \
         sources = ?5, input_tokens = ?6, output_tokens = ?7, cost = ?8 WHERE id = ?9",
        &values![
            storable(&run.output),
            status,
            run.id.clone(),
            run.model.clone(),
            run.sources.as_ref().map(Value::to_string),
            run.input_tokens,
            run.output_tokens,
            run.cost,
            answer
        ],
    )?;
    Ok(())
}

fn begin(transaction: &mut Transaction<'_>, new: &NewExchange) -> Result<(), DatabaseError> {
    let (owner, session) = (new.owner.as_str(), new.session.as_str());
    transaction.execute(
        "INSERT INTO studio_chat_sessions (owner, id, title, head, created_at, updated_at) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?5) ON CONFLICT (owner, id) DO UPDATE SET \
         head = excluded.head, updated_at = excluded.updated_at",
        &values![owner, session, new.title.clone(), new.answer.clone(), new.now],
    )?;
    let sql = "SELECT COALESCE(MAX(position), 0) AS last FROM studio_chat_messages \
               WHERE owner = ?1 AND session_id = ?2";
    let mut position: i64 = transaction.query_one(sql, &values![owner, session])?.get("last")?;
    let mut insert =
        |id: &str, parent: Option<&str>, role: &str, text: &str, status: Option<&str>| {
            position += 1;
            let skills = serde_json::to_string(&new.skills).unwrap_or_default();
            transaction.execute(
            "INSERT INTO studio_chat_messages (id, owner, session_id, position, parent_id, role, \
             content, status, skills, created_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
            &values![
                id, owner, session, position, parent, role, storable(text), status, skills, new.now
            ],
        )
        };
    let mut parent = new.parent.as_deref();
    if let Some((id, text)) = &new.message {
        insert(id, parent, "user", text, None)?;
        parent = Some(id);
    }
    insert(&new.answer, parent, "assistant", "", Some("running"))?;
    Ok(())
}

fn session(
    connection: &mut Connection<'_>,
    owner: &str,
    id: &str,
) -> Result<Option<ChatSession>, DatabaseError> {
    let sql = "SELECT title, head, created_at, updated_at FROM studio_chat_sessions \
               WHERE owner = ?1 AND id = ?2";
    let Some(row) = connection.query_optional(sql, &values![owner, id])? else { return Ok(None) };
    let sql = format!(
        "SELECT {COLUMNS} FROM studio_chat_messages WHERE owner = ?1 AND session_id = ?2 \
         ORDER BY position LIMIT ?3"
    );
    let rows = connection.query(&sql, &values![owner, id, MAX_MESSAGES])?;
    Ok(Some(ChatSession {
        id: id.to_owned(),
        title: row.get("title")?,
        created_at: timestamp::of_millis(row.get("created_at")?),
        updated_at: timestamp::of_millis(row.get("updated_at")?),
        head: row.get("head")?,
        session_id: id.to_owned(),
        message_count: rows.len(),
        messages: rows.iter().map(message).collect::<Result<_, _>>()?,
    }))
}

fn message(row: &Row) -> Result<ChatMessage, DatabaseError> {
    let sources: Option<String> = row.get("sources")?;
    let skills: String = row.get("skills")?;
    Ok(ChatMessage {
        id: row.get("id")?,
        parent_id: row.get("parent_id")?,
        role: row.get("role")?,
        content: row.get("content")?,
        status: row.get("status")?,
        run_id: row.get("run_id")?,
        model: row.get("model")?,
        skills: serde_json::from_str(&skills).unwrap_or_default(),
        sources: sources
            .and_then(|text| serde_json::from_str(&text).ok())
            .unwrap_or_else(|| Value::Array(Vec::new())),
        input_tokens: row.get("input_tokens")?,
        output_tokens: row.get("output_tokens")?,
        cost: row.get("cost")?,
        created_at: timestamp::of_millis(row.get("created_at")?),
        timestamp: timestamp::of_millis(row.get("created_at")?),
    })
}

/// A text for `LIKE … ESCAPE '!'`, in which nothing has a special meaning.
fn like(text: &str) -> String {
    let mut escaped = String::new();
    for character in text.chars().filter(|it| *it != '\0').take(200) {
        if matches!(character, '%' | '_' | '!') {
            escaped.push('!');
        }
        escaped.push(character);
    }
    escaped
}
