//! The tables and queries of knowledge bases in Postgres.

/// Creates what is missing, one process at a time. The number of the lock means nothing.
pub(super) const TABLES: &str = "
begin;
select pg_advisory_xact_lock(7276932018);
create table if not exists prowess_bases (
    name text primary key, language text not null, embedder text not null, dimension int not null,
    identity text);
create table if not exists prowess_documents (
    base text not null references prowess_bases on delete cascade,
    doc text not null, digest text not null, record text, text text not null default '',
    primary key (base, doc));
create table if not exists prowess_chunks (
    id bigserial primary key, base text not null, doc text not null, chunk bigint not null,
    first bigint not null, past bigint not null, page bigint, last_page bigint, address bytea not null,
    words bigint not null, fields text[] not null, text text not null,
    foreign key (base, doc) references prowess_documents on delete cascade);
create index if not exists prowess_chunks_of_base on prowess_chunks (base, doc);
create table if not exists prowess_words (
    base text not null, word text not null,
    chunk bigint not null references prowess_chunks on delete cascade,
    times bigint not null, primary key (base, word, chunk));
create index if not exists prowess_words_of_chunk on prowess_words (chunk);
commit;
";

/// Whether pgvector is installed on the server.
pub(super) const HAS_PGVECTOR: &str = "select 1 from pg_available_extensions where name = 'vector'";

/// Creates what vectors need.
pub(super) const VECTORS: &str = "
begin;
select pg_advisory_xact_lock(7276932018);
create extension if not exists vector;
alter table prowess_chunks add column if not exists embedding vector;
commit;
";

/// The search by words, with the parameters of the index on disk: k1 = 1.2, b = 0.75.
pub(super) const BY_WORDS: &str = "
with asked as (select word, count(*)::float8 as asked from unnest($2::text[]) as word group by word),
    chunks as (
        select count(*)::float8 as count, greatest(coalesce(avg(words), 1), 1)::float8 as mean
        from prowess_chunks where base = $1),
    known as (
        select word, count(*)::float8 as chunks
        from prowess_words join asked using (word) where base = $1 group by word)
select c.id, sum(asked * ln(1 + (chunks.count - known.chunks + 0.5) / (known.chunks + 0.5))
        * w.times * 2.2 / (w.times + 1.2 * (0.25 + 0.75 * c.words / chunks.mean)))::float8 as score
from prowess_words w
    join asked using (word) join known using (word)
    join prowess_chunks c on c.id = w.chunk cross join chunks
where w.base = $1 and c.fields @> $3
group by c.id
order by score desc, c.address, c.id
limit $4";

pub(super) const BY_VECTORS: &str = "
select id, (1 - (embedding <=> $2::text::vector))::float8 from prowess_chunks
where base = $1 and fields @> $3 and embedding <=> $2::text::vector < 1
order by embedding <=> $2::text::vector, address, id
limit $4";

/// Chunks by their ids.
pub(super) const CHUNKS: &str = "
select id, doc, chunk, first, past, page, text, address, last_page from prowess_chunks
where id = any($1)";

/// Chunks with the records of their documents, in the order of their ids.
pub(super) const TITLED_CHUNKS: &str = "
select c.id, c.text, d.record from prowess_chunks c
    join prowess_documents d on d.base = c.base and d.doc = c.doc
where c.base = $1 and c.id > $2 order by c.id limit $3";

/// The numbers of documents, bytes of text, chunks and bytes of chunks.
pub(super) const FIGURES: &str = "
select d.count, d.bytes, c.count, c.bytes from
    (select count(*)::bigint as count, coalesce(sum(octet_length(text)), 0)::bigint as bytes
        from prowess_documents where base = $1) d,
    (select count(*)::bigint as count, coalesce(sum(pg_column_size(text)), 0)::bigint as bytes
        from prowess_chunks where base = $1) c";
