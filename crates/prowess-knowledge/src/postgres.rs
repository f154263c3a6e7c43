//! Knowledge bases in Postgres with pgvector, for users who already have such a database.
//!
//! Chunks, words and fusion are the same as on disk; only the storage differs. Words are ranked by
//! BM25 in SQL, because the ranking of Postgres has no inverse document frequency. Every search is exact.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use postgres::{Client, Config, NoTls, Transaction};
use prowess_core::{BoxFuture, Passage, Query, RetrieveError, Retriever};
use serde_json::Value;

use crate::analyze;
use crate::blocking;
use crate::document::KnowledgeDocument;
use crate::embed::{Embedder, EmbedderIdentity};
use crate::error::BaseError;
use crate::fusion::fuse;
use crate::language::Language;
use crate::name::BaseName;
use crate::schema::field_term;
use crate::search::{FUSED, MOST_PASSAGES};
use crate::settings::BaseSettings;
use crate::split::split;
use crate::writer::{AddOutcome, titled};

const TABLES: &str = "
create extension if not exists vector;
create table if not exists prowess_bases (
    name text primary key, language text not null, embedder text not null, dimension int not null);
create table if not exists prowess_documents (
    base text not null references prowess_bases on delete cascade,
    doc text not null, digest text not null, primary key (base, doc));
create table if not exists prowess_chunks (
    id bigserial primary key, base text not null, doc text not null, chunk bigint not null,
    first bigint not null, past bigint not null, page bigint, last_page bigint, address bytea not null,
    words bigint not null, fields text[] not null, text text not null, embedding vector not null,
    foreign key (base, doc) references prowess_documents on delete cascade);
alter table prowess_chunks add column if not exists last_page bigint;
create index if not exists prowess_chunks_of_base on prowess_chunks (base, doc);
create table if not exists prowess_words (
    base text not null, word text not null,
    chunk bigint not null references prowess_chunks on delete cascade,
    times bigint not null, primary key (base, word, chunk));
create index if not exists prowess_words_of_chunk on prowess_words (chunk);
";

/// The search by words, with the parameters of the index on disk: k1 = 1.2, b = 0.75.
const BY_WORDS: &str = "
with asked as (select word, count(*)::float8 as asked from unnest($2::text[]) as word group by word),
    chunks as (
        select count(*)::float8 as count, greatest(coalesce(avg(words), 1), 1)::float8 as mean
        from prowess_chunks where base = $1),
    known as (
        select word, count(*)::float8 as chunks
        from prowess_words join asked using (word) where base = $1 group by word)
select c.id from prowess_words w
    join asked using (word) join known using (word)
    join prowess_chunks c on c.id = w.chunk cross join chunks
where w.base = $1 and c.fields @> $3
group by c.id
order by sum(asked * ln(1 + (chunks.count - known.chunks + 0.5) / (known.chunks + 0.5))
        * w.times * 2.2 / (w.times + 1.2 * (0.25 + 0.75 * c.words / chunks.mean))) desc,
    c.address, c.id
limit $4";

const BY_VECTORS: &str = "
select id from prowess_chunks
where base = $1 and fields @> $2 and embedding <=> $3::text::vector < 1
order by embedding <=> $3::text::vector, address, id
limit $4";

/// Knowledge bases in a database. Clones share a connection.
#[derive(Clone)]
pub struct PostgresBases {
    shared: Arc<Shared>,
}

struct Shared {
    config: Config,
    embedder: Arc<dyn Embedder>,
    client: Mutex<Option<Client>>,
}

impl PostgresBases {
    /// Connects to a database and creates missing tables. `address` is a `libpq` connection string, such as
    /// `host=/run/postgresql dbname=prowess`. The connection is not encrypted: use a socket or a tunnel.
    pub fn connect(address: &str, embedder: Arc<dyn Embedder>) -> Result<Self, BaseError> {
        let config: Config = address.parse().map_err(|error| database(&error))?;
        let client = Mutex::new(None);
        let bases = Self { shared: Arc::new(Shared { config, embedder, client }) };
        bases.with(|client| client.batch_execute(TABLES).map_err(|error| database(&error)))?;
        Ok(bases)
    }

    /// Creates an empty knowledge base.
    pub fn create(&self, name: &BaseName, language: Language) -> Result<(), BaseError> {
        let stamp = self.shared.embedder.stamp();
        let (id, dimension) = (stamp.source.id(), dimension(stamp));
        self.with(|client| {
            let made = client
                .execute(
                    "insert into prowess_bases values ($1, $2, $3, $4) on conflict do nothing",
                    &[&name.as_str(), &language.code(), &id, &dimension],
                )
                .map_err(|error| database(&error))?;
            if made == 0 {
                return Err(BaseError::Exists { name: name.to_string() });
            }
            Ok(())
        })
    }

    /// Adds a document, or replaces the one with the same name if it differs.
    pub fn add(
        &self,
        name: &BaseName,
        document: &KnowledgeDocument,
    ) -> Result<AddOutcome, BaseError> {
        let chunks = split(&document.text);
        if chunks.is_empty() {
            return Err(BaseError::TooMuch(format!("`{}` contains no text", document.id)));
        }
        let texts: Vec<&str> =
            chunks.iter().map(|chunk| &document.text[chunk.range.clone()]).collect();
        let found: Vec<_> = texts.iter().map(|text| titled(&document.title, text)).collect();
        let mut fields: Vec<String> =
            vec![field_term("doc", &document.id), field_term("format", document.format.as_str())];
        fields.extend(document.fields.iter().map(|(name, value)| field_term(name, value)));
        self.with(|client| {
            let mut transaction = client.transaction().map_err(|error| database(&error))?;
            let settings = self.settings(&mut transaction, name.as_str(), Use::Write)?;
            let before = transaction
                .query_opt(
                    "select digest from prowess_documents where base = $1 and doc = $2",
                    &[&name.as_str(), &document.id],
                )
                .map_err(|error| database(&error))?;
            let before: Option<String> = before.map(|row| row.get(0));
            if before.as_ref() == Some(&document.digest) {
                return Ok(AddOutcome::Same);
            }
            let borrowed: Vec<&str> = found.iter().map(AsRef::as_ref).collect();
            let vectors = self.shared.embedder.embed(&borrowed)?;
            let write = |transaction: &mut Transaction<'_>| -> Result<(), postgres::Error> {
                transaction.execute(
                    "delete from prowess_documents where base = $1 and doc = $2",
                    &[&name.as_str(), &document.id],
                )?;
                transaction.execute(
                    "insert into prowess_documents values ($1, $2, $3)",
                    &[&name.as_str(), &document.id, &document.digest],
                )?;
                for (index, chunk) in chunks.iter().enumerate() {
                    let mut counts: HashMap<String, i64> = HashMap::new();
                    let words = analyze::words(settings.language, &found[index]);
                    let length = signed(words.len());
                    for word in words {
                        *counts.entry(word).or_default() += 1;
                    }
                    let page = |at| document.page_at(at).map(i64::from);
                    let first_page = page(chunk.range.start);
                    let last_page = page(chunk.range.end.saturating_sub(1));
                    let row = transaction.query_one(
                        "insert into prowess_chunks (base, doc, chunk, first, past, page, last_page, address, words, \
                         fields, text, embedding) \
                         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12::text::vector) \
                         returning id",
                        &[
                            &name.as_str(),
                            &document.id,
                            &signed(index),
                            &signed(chunk.range.start),
                            &signed(chunk.range.end),
                            &first_page,
                            &last_page,
                            &chunk.address.as_slice(),
                            &length,
                            &fields,
                            &texts[index],
                            &literal(&vectors[index]),
                        ],
                    )?;
                    let id: i64 = row.get(0);
                    let (words, times): (Vec<String>, Vec<i64>) = counts.into_iter().unzip();
                    transaction.execute(
                        "insert into prowess_words select $1, word, $2, times \
                         from unnest($3::text[], $4::bigint[]) as counted (word, times)",
                        &[&name.as_str(), &id, &words, &times],
                    )?;
                }
                Ok(())
            };
            write(&mut transaction).map_err(|error| database(&error))?;
            transaction.commit().map_err(|error| database(&error))?;
            Ok(if before.is_some() { AddOutcome::Updated } else { AddOutcome::New })
        })
    }

    /// Removes a document; returns whether it existed.
    pub fn remove(&self, name: &BaseName, id: &str) -> Result<bool, BaseError> {
        self.with(|client| {
            let removed = client.execute(
                "delete from prowess_documents where base = $1 and doc = $2",
                &[&name.as_str(), &id],
            );
            Ok(removed.map_err(|error| database(&error))? > 0)
        })
    }

    /// Finds the passages of a knowledge base that match a query best.
    pub fn search_now(&self, base: &str, query: &Query) -> Result<Vec<Passage>, BaseError> {
        let most = query.top_k.min(MOST_PASSAGES);
        if most == 0 {
            return Ok(Vec::new());
        }
        let depth = signed(FUSED.max(most * 2));
        let filters: Vec<String> = query
            .filters
            .iter()
            .map(|(name, value)| match value {
                Value::String(text) => field_term(name, text),
                other => field_term(name, &other.to_string()),
            })
            .collect();
        let vector =
            self.shared.embedder.embed(&[&query.text])?.into_iter().next().unwrap_or_default();
        self.with(|client| {
            let mut transaction = client.transaction().map_err(|error| database(&error))?;
            let settings = self.settings(&mut transaction, base, Use::Read)?;
            let words = analyze::Questions::new(settings.language).words(&query.text);
            let read = |transaction: &mut Transaction<'_>| -> Result<_, postgres::Error> {
                let ids = |rows: Vec<postgres::Row>| -> Vec<i64> {
                    rows.iter().map(|row| row.get(0)).collect()
                };
                let by_words = transaction.query(BY_WORDS, &[&base, &words, &filters, &depth])?;
                // A zero vector has no cosine similarity to anything.
                let has_direction = vector.iter().any(|number| *number != 0.0);
                let by_vectors = if has_direction {
                    let vector = literal(&vector);
                    transaction.query(BY_VECTORS, &[&base, &filters, &vector, &depth])?
                } else {
                    Vec::new()
                };
                let fused = fuse(&[&ids(by_words), &ids(by_vectors)]);
                let wanted: Vec<i64> = fused.iter().map(|(id, _)| *id).collect();
                let rows = transaction.query(
                    "select id, doc, chunk, first, past, page, text, address, last_page from prowess_chunks \
                     where id = any($1)",
                    &[&wanted],
                )?;
                Ok((fused, rows))
            };
            let (fused, rows) = read(&mut transaction).map_err(|error| database(&error))?;
            let rows: HashMap<i64, &postgres::Row> =
                rows.iter().map(|row| (row.get(0), row)).collect();
            let mut addresses: Vec<Vec<u8>> = Vec::new();
            let mut passages = Vec::new();
            for (id, score) in fused {
                let Some(row) = rows.get(&id) else { continue };
                let address: Vec<u8> = row.get(7);
                if passages.len() < most && !addresses.contains(&address) {
                    addresses.push(address);
                    passages.push(passage(row, score));
                }
            }
            Ok(passages)
        })
    }

    fn settings(
        &self,
        transaction: &mut Transaction<'_>,
        name: &str,
        usage: Use,
    ) -> Result<BaseSettings, BaseError> {
        // One writer at a time, as on disk; readers don't wait.
        let lock = if usage == Use::Write { " for update" } else { "" };
        let question = format!(
            "select language, embedder, dimension from prowess_bases where name = $1{lock}"
        );
        let row = transaction.query_opt(&question, &[&name]).map_err(|error| database(&error))?;
        let row = row.ok_or_else(|| BaseError::Missing { name: name.to_owned() })?;
        let (language, embedder, stamped): (String, String, i32) =
            (row.get(0), row.get(1), row.get(2));
        let stamp = self.shared.embedder.stamp();
        if (embedder.as_str(), stamped) != (stamp.source.id().as_str(), dimension(stamp)) {
            return Err(BaseError::OtherEmbedder {
                name: name.to_owned(),
                stamped: format!("{embedder} with {stamped} dimensions"),
                offered: stamp.to_string(),
            });
        }
        let language = language
            .parse()
            .map_err(|error| BaseError::TooMuch(format!("base `{name}`: {error}")))?;
        Ok(BaseSettings { language, embedder: Some(stamp.clone()) })
    }

    /// Runs a function with the connection, which is established if necessary.
    fn with<T>(
        &self,
        work: impl FnOnce(&mut Client) -> Result<T, BaseError>,
    ) -> Result<T, BaseError> {
        let mut held = self.shared.client.lock().unwrap_or_else(PoisonError::into_inner);
        let client = match held.take().filter(|client| !client.is_closed()) {
            Some(client) => client,
            None => self.shared.config.connect(NoTls).map_err(|error| database(&error))?,
        };
        work(held.insert(client))
    }
}

impl Retriever for PostgresBases {
    fn search<'r>(
        &'r self,
        base: &'r str,
        query: &'r Query,
    ) -> BoxFuture<'r, Result<Vec<Passage>, RetrieveError>> {
        let (bases, name, query) = (self.clone(), base.to_owned(), query.clone());
        blocking::search(base, move || bases.search_now(&name, &query))
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    Read,
    Write,
}

/// Converts an error of the database, with its causes.
fn database(error: &postgres::Error) -> BaseError {
    let reason = error.as_db_error().map_or_else(|| error.to_string(), ToString::to_string);
    BaseError::Database { reason }
}

fn dimension(stamp: &EmbedderIdentity) -> i32 {
    i32::try_from(stamp.dimension).unwrap_or(i32::MAX)
}

fn signed(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or_default()
}

/// Formats a vector for pgvector.
fn literal(vector: &[f32]) -> String {
    let numbers: Vec<String> = vector.iter().map(ToString::to_string).collect();
    format!("[{}]", numbers.join(","))
}

fn passage(row: &postgres::Row, score: f64) -> Passage {
    let page = |column: usize| row.get::<_, Option<i64>>(column).and_then(|it| it.try_into().ok());
    let first: Option<u32> = page(5);
    Passage {
        doc_id: row.get(1),
        chunk_index: unsigned(row.get(2)),
        score,
        text: row.get(6),
        range: unsigned(row.get(3))..unsigned(row.get(4)),
        pages: first.map(|first| first..=page(8).unwrap_or(first)),
    }
}
