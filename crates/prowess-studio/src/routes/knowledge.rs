//! Knowledge bases: create, upload, list, search, delete, embed again.

use std::sync::Arc;
use std::time::SystemTime;

use axum::Json;
use axum::extract::multipart::{Field, Multipart};
use axum::extract::{DefaultBodyLimit, State};
use axum::response::{IntoResponse as _, Response};
use bytes::{Bytes, BytesMut};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use prowess_core::Passage;
use prowess_knowledge::{BaseName, Language};
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::Problems;
use super::skills::blocking;
use crate::caller::Caller;
use crate::events::{EventBody, EventLog, LogLimits, event_response, frame};
use crate::knowledge::{BaseRecord, UploadRecord, UploadStage, Uploaded};
use crate::problem::ApiProblem;
use crate::request::{Body, UrlPath, UrlQuery, line, new_id};
use crate::shelf::{Rankings, Shelf};
use crate::studio::Studio;
use crate::timestamp;

/// Maximum number of files of one upload.
const MAX_FILES: usize = 100;
/// Maximum length of the name of a file, in bytes.
const MAX_FILE_NAME: usize = 255;
/// How many passages a run gives to the model (specification §6).
const INJECTED: usize = 3;
/// Maximum number of results of a search.
const MAX_RESULTS: usize = 50;
/// Maximum length of a query, in characters.
const MAX_QUERY: usize = 2_000;
/// Maximum number of chunks that are returned at once.
const MAX_CHUNKS: usize = 1_000;

pub(super) fn routes(upload_bytes: u64) -> OpenApiRouter<Studio> {
    let uploads = usize::try_from(upload_bytes).unwrap_or(usize::MAX).saturating_mul(4);
    OpenApiRouter::new()
        .routes(routes!(upload))
        .layer(DefaultBodyLimit::max(uploads))
        .routes(routes!(list_bases, create_base))
        .routes(routes!(list_embedders))
        .routes(routes!(get_base, delete_base))
        .routes(routes!(list_documents))
        .routes(routes!(get_document, delete_document))
        .routes(routes!(list_chunks))
        .routes(routes!(get_file))
        .routes(routes!(search))
        .routes(routes!(reembed))
}

#[derive(Deserialize, ToSchema)]
struct CreateBase {
    name: String,
    /// The language of the documents; English without it.
    language: Option<String>,
    /// The id of an embedder; words only without it.
    embedder: Option<String>,
}

#[derive(Clone, Serialize, ToSchema)]
struct BaseView {
    id: String,
    name: String,
    language: &'static str,
    embedder: Option<EmbedderView>,
    documents: u64,
    /// The same, by the name of the reference implementation.
    document_count: u64,
    chunks: u64,
    text_bytes: u64,
    disk_bytes: u64,
    created_at: String,
    user_id: String,
}

#[derive(Clone, Serialize, ToSchema)]
struct EmbedderView {
    source: String,
    dimension: usize,
}

#[derive(Serialize, ToSchema)]
struct BaseList {
    knowledge_bases: Vec<BaseView>,
    /// The same, by the name of the reference implementation.
    items: Vec<BaseView>,
    total: usize,
}

#[derive(Serialize, ToSchema)]
struct OfferedEmbedderView {
    id: String,
    source: String,
    dimension: usize,
}

#[derive(Serialize, ToSchema)]
struct EmbedderList {
    embedders: Vec<OfferedEmbedderView>,
    languages: Vec<&'static str>,
}

#[derive(Serialize, ToSchema)]
struct DocumentView {
    doc_id: String,
    title: String,
    format: &'static str,
    bytes: i64,
    pages: usize,
    digest: String,
    uploaded_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(flatten)]
    file: FileView,
}

/// A document by the names of the reference implementation.
#[derive(Clone, Serialize, ToSchema)]
struct FileView {
    id: String,
    kb_id: String,
    filename: String,
    file_size: i64,
    /// Always `completed`: what an upload answers for is found by searches.
    status: &'static str,
    created_at: Option<String>,
}

impl FileView {
    fn of(base: &BaseRecord, doc_id: &str, bytes: i64, uploaded_at: Option<&str>) -> Self {
        Self {
            id: doc_id.to_owned(),
            kb_id: base.id.clone(),
            filename: doc_id.to_owned(),
            file_size: bytes,
            status: "completed",
            created_at: uploaded_at.map(str::to_owned),
        }
    }
}

#[derive(Serialize, ToSchema)]
struct DocumentList {
    documents: Vec<DocumentView>,
    total: usize,
}

/// What happened with a file.
#[derive(Clone, Debug, Serialize, ToSchema)]
struct UploadView {
    doc_id: String,
    /// `added`, `replaced`, `unchanged`, `duplicate` or `refused`.
    status: &'static str,
    bytes: usize,
    chunks: Option<usize>,
    title: Option<String>,
    error: Option<String>,
    duplicate_of: Option<String>,
}

#[derive(Serialize, ToSchema)]
struct UploadList {
    documents: Vec<UploadView>,
    /// Of an upload with one file.
    #[serde(flatten)]
    file: Option<FileView>,
}

#[derive(Serialize, ToSchema)]
struct ChunkView {
    chunk_index: u64,
    text: String,
    /// UTF-16 offsets in the document's text.
    from: u64,
    to: u64,
    /// Byte offsets in the document's text.
    start: u64,
    end: u64,
    page: Option<u32>,
    last_page: Option<u32>,
}

#[derive(Serialize, ToSchema)]
struct ChunkList {
    chunks: Vec<ChunkView>,
    total: usize,
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct ChunkQuery {
    offset: Option<usize>,
    limit: Option<usize>,
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct SearchQuery {
    query: Option<String>,
    top_k: Option<usize>,
}

#[derive(Serialize, ToSchema)]
struct SearchResult {
    doc_id: String,
    chunk_index: u64,
    score: f64,
    text: String,
    start: u64,
    end: u64,
    page: Option<u32>,
    last_page: Option<u32>,
    /// UTF-16 offsets of the query's words in the text.
    highlights: Vec<[usize; 2]>,
    rank: usize,
    words_rank: Option<usize>,
    meaning_rank: Option<usize>,
    injected: bool,
}

#[derive(Serialize, ToSchema)]
struct SearchResults {
    query: String,
    results: Vec<SearchResult>,
    kb_id: String,
    top_k: usize,
    total: usize,
}

#[derive(Deserialize, ToSchema)]
struct Reembed {
    embedder: Option<String>,
}

#[derive(ToSchema)]
#[expect(dead_code, reason = "only described")]
struct UploadForm {
    #[schema(value_type = Vec<String>, format = Binary)]
    file: Vec<Vec<u8>>,
}

async fn base_of(studio: &Studio, caller: &Caller, id: &str) -> Result<BaseRecord, ApiProblem> {
    // An own base comes before another's of the same name, which an administrator sees too.
    let knowledge = &studio.shared.knowledge;
    let own = knowledge.find(Some(&caller.id), id).await?;
    let found = match (own, caller.is_admin) {
        (None, true) => knowledge.find(None, id).await?,
        (own, _) => own,
    };
    found.ok_or_else(|| {
        ApiProblem::not_found("knowledge-base-not-found", "id", "Knowledge base", id)
    })
}

fn document_not_found(doc: &str) -> ApiProblem {
    ApiProblem::not_found("document-not-found", "doc_id", "Document", doc)
}

async fn view(studio: &Studio, record: BaseRecord) -> Result<BaseView, ApiProblem> {
    let knowledge = studio.shared.knowledge.clone();
    blocking(move || {
        let (bases, name) = knowledge.base(&record)?;
        let figures = bases.figures(&name)?;
        let settings = bases.settings(&name)?;
        Ok(BaseView {
            language: settings.language.name(),
            embedder: settings.embedder.as_ref().map(|embedder| EmbedderView {
                source: embedder.to_string(),
                dimension: embedder.dimension,
            }),
            documents: figures.documents,
            document_count: figures.documents,
            chunks: figures.chunks,
            text_bytes: figures.text_bytes,
            disk_bytes: figures.disk_bytes,
            created_at: timestamp::of_millis(record.created_at),
            id: record.id,
            name: record.name,
            user_id: record.owner,
        })
    })
    .await
}

/// List knowledge bases
#[utoipa::path(get, path = "/knowledge", tag = "knowledge",
    responses((status = 200, body = BaseList), Problems))]
async fn list_bases(
    State(studio): State<Studio>,
    caller: Caller,
) -> Result<Json<BaseList>, ApiProblem> {
    let mut knowledge_bases = Vec::new();
    for record in studio.shared.knowledge.list(caller.sees()).await? {
        // One that is damaged must not hide the others.
        match view(&studio, record.clone()).await {
            Ok(base) => knowledge_bases.push(base),
            Err(problem) => tracing::warn!(base = record.id, ?problem, "a base is left out"),
        }
    }
    let items = knowledge_bases.clone();
    Ok(Json(BaseList { total: items.len(), items, knowledge_bases }))
}

/// Create a knowledge base
#[utoipa::path(post, path = "/knowledge", tag = "knowledge", request_body = CreateBase,
    responses((status = 201, body = BaseView), Problems))]
async fn create_base(
    State(studio): State<Studio>,
    caller: Caller,
    Body(new): Body<CreateBase>,
) -> Result<(StatusCode, Json<BaseView>), ApiProblem> {
    let name = line("name", &new.name)?;
    let language: Language = match &new.language {
        None => Language::English,
        Some(word) => word
            .parse()
            .map_err(|_| ApiProblem::invalid("language", "The language is not supported"))?,
    };
    let embedder = studio.shared.knowledge.embedder(new.embedder.as_deref())?;
    let record =
        BaseRecord { id: new_id("kb-")?, owner: caller.id.clone(), name, created_at: studio.now() };
    studio.shared.knowledge.create(record.clone(), language, embedder).await?;
    studio.audit(&caller, "knowledge-create", &record.id).await;
    Ok((StatusCode::CREATED, Json(view(&studio, record).await?)))
}

/// List embedders and languages
#[utoipa::path(get, path = "/knowledge/embedders", tag = "knowledge",
    responses((status = 200, body = EmbedderList), Problems))]
async fn list_embedders(State(studio): State<Studio>, _caller: Caller) -> Json<EmbedderList> {
    let embedders = studio.shared.knowledge.embedders().iter().map(|offered| OfferedEmbedderView {
        id: offered.id.clone(),
        source: offered.identity.to_string(),
        dimension: offered.identity.dimension,
    });
    let languages = Language::ALL.iter().map(|language| language.name()).collect();
    Json(EmbedderList { embedders: embedders.collect(), languages })
}

/// Show a knowledge base
#[utoipa::path(get, path = "/knowledge/{id}", tag = "knowledge", params(("id" = String, Path)),
    responses((status = 200, body = BaseView), Problems))]
async fn get_base(
    State(studio): State<Studio>,
    caller: Caller,
    UrlPath(id): UrlPath<String>,
) -> Result<Json<BaseView>, ApiProblem> {
    let record = base_of(&studio, &caller, &id).await?;
    view(&studio, record).await.map(Json)
}

/// Delete a knowledge base
#[utoipa::path(delete, path = "/knowledge/{id}", tag = "knowledge", params(("id" = String, Path)),
    responses((status = 204), Problems))]
async fn delete_base(
    State(studio): State<Studio>,
    caller: Caller,
    UrlPath(id): UrlPath<String>,
) -> Result<StatusCode, ApiProblem> {
    let record = base_of(&studio, &caller, &id).await?;
    studio.shared.knowledge.delete(&record).await?;
    studio.audit(&caller, "knowledge-delete", &record.id).await;
    Ok(StatusCode::NO_CONTENT)
}

/// Upload files
#[utoipa::path(post, path = "/knowledge/{id}/upload", tag = "knowledge",
    params(("id" = String, Path)),
    request_body(content = UploadForm, content_type = "multipart/form-data"),
    responses((status = 201, body = UploadList), Problems))]
async fn upload(
    State(studio): State<Studio>,
    caller: Caller,
    UrlPath(id): UrlPath<String>,
    headers: HeaderMap,
    form: Result<Multipart, axum::extract::multipart::MultipartRejection>,
) -> Result<Response, ApiProblem> {
    let record = base_of(&studio, &caller, &id).await?;
    let mut form = form.map_err(|_| {
        ApiProblem::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "unsupported-media-type",
            "content-type",
            "Expected a body of type multipart/form-data",
        )
    })?;
    let most = studio.shared.limits.upload_bytes;
    let mut files = Vec::new();
    while let Some(field) = form.next_field().await.map_err(|error| broken_form(&error))? {
        if field.name() != Some("file") {
            continue;
        }
        if files.len() >= MAX_FILES {
            let message = format!("At most {MAX_FILES} files can be uploaded at once");
            return Err(ApiProblem::too_large("file", message));
        }
        let name = file_name(field.file_name().unwrap_or_default())?;
        let bytes = read_field(field, most).await?;
        files.push((name, bytes));
    }
    if files.is_empty() {
        return Err(ApiProblem::invalid("file", "The form has no file"));
    }
    let wants_events = headers
        .get(header::ACCEPT)
        .and_then(|value| value.to_str().ok())
        .is_some_and(|accept| accept.contains("text/event-stream"));
    if wants_events {
        return Ok(upload_events(studio, caller, record, files));
    }
    let mut documents = Vec::new();
    for (name, bytes) in files {
        documents.push(add(&studio, &record, &name, bytes, |_| ()).await?);
    }
    studio.audit(&caller, "knowledge-upload", &record.id).await;
    if let Some(first) = documents.first()
        && documents.iter().all(|document| document.status == "refused")
    {
        let error = first.error.clone().unwrap_or_default();
        let message = format!("'{}' was refused: {error}", first.doc_id);
        let views = serde_json::to_value(&documents).unwrap_or_default();
        return Err(ApiProblem::invalid("file", message).member("documents", views));
    }
    let file = match &documents[..] {
        [only] => {
            let bytes = i64::try_from(only.bytes).unwrap_or(i64::MAX);
            let doc_id = only.duplicate_of.as_deref().unwrap_or(&only.doc_id);
            let now = timestamp::of_millis(studio.now());
            Some(FileView::of(&record, doc_id, bytes, Some(&now)))
        }
        _ => None,
    };
    Ok((StatusCode::CREATED, Json(UploadList { documents, file })).into_response())
}

/// Reads the files one after another and tells what happens. It goes on when the client leaves.
fn upload_events(
    studio: Studio,
    caller: Caller,
    record: BaseRecord,
    files: Vec<(String, Bytes)>,
) -> Response {
    let log = Arc::new(EventLog::new(LogLimits::USUAL));
    let body = EventBody::new(Arc::clone(&log), 0, |_| ());
    tokio::spawn(async move {
        let last = Arc::new(std::sync::atomic::AtomicU64::new(0));
        let tell = {
            let (log, last) = (Arc::clone(&log), Arc::clone(&last));
            move |event: &str, data: &serde_json::Value| {
                let id = last.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1;
                log.push(frame(id, event, data));
            }
        };
        for (name, bytes) in &files {
            let data = json!({ "doc_id": name, "stage": "received", "bytes": bytes.len() });
            tell("progress", &data);
        }
        let mut failed = false;
        for (name, bytes) in files {
            let (teller, doc) = (tell.clone(), name.clone());
            let progress = move |stage| {
                let stage = match stage {
                    UploadStage::Extracting => "extracting",
                    UploadStage::Indexing => "indexing",
                };
                teller("progress", &json!({ "doc_id": doc, "stage": stage }));
            };
            match add(&studio, &record, &name, bytes, progress).await {
                Ok(document) => {
                    tell("document", &serde_json::to_value(document).unwrap_or_default());
                }
                Err(problem) => {
                    failed = true;
                    tell("error", &json!({ "doc_id": name, "message": problem.message }));
                }
            }
        }
        studio.audit(&caller, "knowledge-upload", &record.id).await;
        let (status, message) = if failed {
            ("error", "not all files were read")
        } else {
            ("success", "all files were read")
        };
        tell("done", &json!({ "status": status, "message": message }));
        log.end();
    });
    event_response(body)
}

async fn add(
    studio: &Studio,
    record: &BaseRecord,
    name: &str,
    bytes: Bytes,
    tell: impl Fn(UploadStage) + Send + 'static,
) -> Result<UploadView, ApiProblem> {
    let size = bytes.len();
    let uploaded = studio.shared.knowledge.add(record, name, bytes, tell).await?;
    let (status, chunks, title, error, duplicate_of) = match uploaded {
        Uploaded::Added { chunks, title } => ("added", Some(chunks), Some(title), None, None),
        Uploaded::Replaced { chunks, title } => ("replaced", Some(chunks), Some(title), None, None),
        Uploaded::Unchanged { chunks } => ("unchanged", Some(chunks), None, None, None),
        Uploaded::Duplicate { of } => ("duplicate", None, None, None, Some(of)),
        Uploaded::Refused { error } => ("refused", None, None, Some(error), None),
    };
    let doc_id = name.to_owned();
    Ok(UploadView { doc_id, status, bytes: size, chunks, title, error, duplicate_of })
}

/// The name of an uploaded file. A path is refused and not cut: what it would be cut to is a guess.
fn file_name(name: &str) -> Result<String, ApiProblem> {
    let is_fine = !name.is_empty()
        && name.len() <= MAX_FILE_NAME
        && name != "."
        && name != ".."
        && !name.chars().any(|it| {
            matches!(it, '/' | '\\' | ':')
                || it.is_control()
                || prowess_format::text::is_deceptive(it)
        });
    if is_fine {
        return Ok(name.to_owned());
    }
    Err(ApiProblem::invalid("file", "Expected the name of a file without a path"))
}

async fn read_field(mut field: Field<'_>, most: u64) -> Result<Bytes, ApiProblem> {
    let mut bytes = BytesMut::new();
    while let Some(chunk) = field.chunk().await.map_err(|error| broken_form(&error))? {
        if (bytes.len() + chunk.len()) as u64 > most {
            let message = format!("A file may have at most {most} bytes");
            return Err(ApiProblem::too_large("file", message));
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes.freeze())
}

fn broken_form(error: &axum::extract::multipart::MultipartError) -> ApiProblem {
    if error.status() == StatusCode::PAYLOAD_TOO_LARGE {
        return ApiProblem::too_large("file", "The upload is too large");
    }
    ApiProblem::invalid("file", "The form could not be read")
}

/// List documents
#[utoipa::path(get, path = "/knowledge/{id}/documents", tag = "knowledge",
    params(("id" = String, Path)), responses((status = 200, body = DocumentList), Problems))]
async fn list_documents(
    State(studio): State<Studio>,
    caller: Caller,
    UrlPath(id): UrlPath<String>,
) -> Result<Json<DocumentList>, ApiProblem> {
    let record = base_of(&studio, &caller, &id).await?;
    let uploads = studio.shared.knowledge.uploads(&record).await?;
    let knowledge = studio.shared.knowledge.clone();
    let documents = blocking(move || {
        let (bases, name) = knowledge.base(&record)?;
        let documents = bases.documents(&name)?;
        let views = documents.iter().map(|document| {
            let upload = uploads.iter().find(|upload| upload.doc_id == document.id);
            let bytes = size(upload, document.bytes);
            let uploaded_at = upload.map(|upload| timestamp::of_millis(upload.uploaded_at));
            DocumentView {
                file: FileView::of(&record, &document.id, bytes, uploaded_at.as_deref()),
                doc_id: document.id.clone(),
                title: document.title.clone(),
                format: document.format.as_str(),
                bytes,
                pages: document.pages.len(),
                digest: document.digest.clone(),
                uploaded_at,
                text: None,
            }
        });
        Ok(views.collect::<Vec<_>>())
    })
    .await?;
    Ok(Json(DocumentList { total: documents.len(), documents }))
}

fn size(upload: Option<&UploadRecord>, text: u64) -> i64 {
    upload.map_or_else(|| i64::try_from(text).unwrap_or(i64::MAX), |upload| upload.bytes)
}

/// Show a document
#[utoipa::path(get, path = "/knowledge/{id}/documents/{doc}", tag = "knowledge",
    params(("id" = String, Path), ("doc" = String, Path)),
    responses((status = 200, body = DocumentView), Problems))]
async fn get_document(
    State(studio): State<Studio>,
    caller: Caller,
    UrlPath((id, doc)): UrlPath<(String, String)>,
) -> Result<Json<DocumentView>, ApiProblem> {
    let record = base_of(&studio, &caller, &id).await?;
    let uploads = studio.shared.knowledge.uploads(&record).await?;
    let knowledge = studio.shared.knowledge.clone();
    let view = blocking(move || {
        let (bases, name) = knowledge.base(&record)?;
        let document = bases.document(&name, &doc)?;
        let document = document.ok_or_else(|| document_not_found(&doc))?;
        let upload = uploads.iter().find(|upload| upload.doc_id == document.id);
        let bytes = size(upload, document.text.len() as u64);
        let uploaded_at = upload.map(|upload| timestamp::of_millis(upload.uploaded_at));
        Ok(DocumentView {
            file: FileView::of(&record, &document.id, bytes, uploaded_at.as_deref()),
            bytes,
            uploaded_at,
            pages: document.pages.len(),
            doc_id: document.id,
            title: document.title,
            format: document.format.as_str(),
            digest: document.digest,
            text: Some(document.text),
        })
    });
    view.await.map(Json)
}

/// List the chunks of a document
#[utoipa::path(get, path = "/knowledge/{id}/documents/{doc}/chunks", tag = "knowledge",
    params(("id" = String, Path), ("doc" = String, Path), ChunkQuery),
    responses((status = 200, body = ChunkList), Problems))]
async fn list_chunks(
    State(studio): State<Studio>,
    caller: Caller,
    UrlPath((id, doc)): UrlPath<(String, String)>,
    UrlQuery(query): UrlQuery<ChunkQuery>,
) -> Result<Json<ChunkList>, ApiProblem> {
    let record = base_of(&studio, &caller, &id).await?;
    let knowledge = studio.shared.knowledge.clone();
    let limit = query.limit.unwrap_or(MAX_CHUNKS).clamp(1, MAX_CHUNKS);
    let list = blocking(move || {
        let (bases, name) = knowledge.base(&record)?;
        let document = bases.document(&name, &doc)?.ok_or_else(|| document_not_found(&doc))?;
        let passages = bases.chunks(&name, &doc)?;
        let total = passages.len();
        let chunks = passages.into_iter().skip(query.offset.unwrap_or(0)).take(limit);
        let chunks = chunks.map(|passage| {
            let units = |bytes: u64| {
                let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
                let end = document.text.floor_char_boundary(bytes.min(document.text.len()));
                document.text[..end].encode_utf16().count() as u64
            };
            ChunkView {
                chunk_index: passage.chunk_index,
                from: units(passage.range.start),
                to: units(passage.range.end),
                start: passage.range.start,
                end: passage.range.end,
                page: passage.pages.as_ref().map(|pages| *pages.start()),
                last_page: passage.pages.as_ref().map(|pages| *pages.end()),
                text: passage.text,
            }
        });
        Ok(ChunkList { chunks: chunks.collect(), total })
    });
    list.await.map(Json)
}

/// Download a document as it was uploaded
#[utoipa::path(get, path = "/knowledge/{id}/documents/{doc}/file", tag = "knowledge",
    params(("id" = String, Path), ("doc" = String, Path)),
    responses((status = 200, content_type = "application/octet-stream", body = Vec<u8>), Problems))]
async fn get_file(
    State(studio): State<Studio>,
    caller: Caller,
    UrlPath((id, doc)): UrlPath<(String, String)>,
) -> Result<Response, ApiProblem> {
    let record = base_of(&studio, &caller, &id).await?;
    let uploads = studio.shared.knowledge.uploads(&record).await?;
    let upload = uploads.into_iter().find(|upload| upload.doc_id == doc);
    let upload = upload.ok_or_else(|| document_not_found(&doc))?;
    let bytes = studio.shared.knowledge.file(&record, &upload.digest).await?;
    let bytes = bytes.ok_or_else(|| document_not_found(&doc))?;
    let mut response = Bytes::from(bytes).into_response();
    let headers = response.headers_mut();
    // Never as a page: it may be HTML of a stranger.
    let binary = HeaderValue::from_static("application/octet-stream");
    headers.insert(header::CONTENT_TYPE, binary);
    let attachment = HeaderValue::from_static("attachment");
    headers.insert(header::CONTENT_DISPOSITION, attachment);
    Ok(response)
}

/// Delete a document
#[utoipa::path(delete, path = "/knowledge/{id}/documents/{doc}", tag = "knowledge",
    params(("id" = String, Path), ("doc" = String, Path)),
    responses((status = 204), Problems))]
async fn delete_document(
    State(studio): State<Studio>,
    caller: Caller,
    UrlPath((id, doc)): UrlPath<(String, String)>,
) -> Result<StatusCode, ApiProblem> {
    let record = base_of(&studio, &caller, &id).await?;
    if !studio.shared.knowledge.remove(&record, &doc).await? {
        return Err(document_not_found(&doc));
    }
    studio.audit(&caller, "knowledge-remove", &record.id).await;
    Ok(StatusCode::NO_CONTENT)
}

/// Search a knowledge base
#[utoipa::path(get, path = "/knowledge/{id}/search", tag = "knowledge",
    params(("id" = String, Path), SearchQuery),
    responses((status = 200, body = SearchResults), Problems))]
async fn search(
    State(studio): State<Studio>,
    caller: Caller,
    UrlPath(id): UrlPath<String>,
    UrlQuery(query): UrlQuery<SearchQuery>,
) -> Result<Json<SearchResults>, ApiProblem> {
    let text = query.query.unwrap_or_default();
    if text.trim().is_empty() || text.chars().nth(MAX_QUERY).is_some() {
        let message = format!("Expected 1 to {MAX_QUERY} characters");
        return Err(ApiProblem::invalid("query", message));
    }
    let top_k = query.top_k.unwrap_or(5);
    if !(1..=MAX_RESULTS).contains(&top_k) {
        return Err(ApiProblem::invalid(
            "top_k",
            format!("Expected a number from 1 to {MAX_RESULTS}"),
        ));
    }
    let record = base_of(&studio, &caller, &id).await?;
    let knowledge = studio.shared.knowledge.clone();
    let results = blocking(move || {
        let (bases, name) = knowledge.base(&record)?;
        let results = results(bases, &name, &text, top_k)?;
        let total = results.len();
        Ok(SearchResults { query: text, results, kb_id: record.id, top_k, total })
    });
    results.await.map(Json)
}

fn results(
    bases: &Shelf,
    name: &BaseName,
    text: &str,
    top_k: usize,
) -> Result<Vec<SearchResult>, ApiProblem> {
    /// How far the two rankings are looked through for the place of a passage.
    const DEPTH: usize = 100;
    let Rankings { found, by_words: words, by_vectors: vectors } =
        bases.rankings(name, text, top_k, DEPTH)?;
    let has_vectors = bases.settings(name)?.embedder.is_some();
    let texts: Vec<&str> = found.iter().map(|passage| passage.text.as_str()).collect();
    let places = bases.places(name, text, &texts)?;
    let rank_in = |ranking: &[Passage], passage: &Passage| {
        let is_same =
            |it: &Passage| it.doc_id == passage.doc_id && it.chunk_index == passage.chunk_index;
        ranking.iter().position(is_same).map(|at| at + 1)
    };
    let results = found.into_iter().zip(places).enumerate().map(|(at, (passage, places))| {
        let units = |bytes: usize| passage.text[..bytes].encode_utf16().count();
        SearchResult {
            highlights: places
                .into_iter()
                .map(|range| [units(range.start), units(range.end)])
                .collect(),
            rank: at + 1,
            words_rank: rank_in(&words, &passage),
            meaning_rank: rank_in(&vectors, &passage).filter(|_| has_vectors),
            injected: at < INJECTED,
            doc_id: passage.doc_id,
            chunk_index: passage.chunk_index,
            score: passage.score,
            start: passage.range.start,
            end: passage.range.end,
            page: passage.pages.as_ref().map(|pages| *pages.start()),
            last_page: passage.pages.as_ref().map(|pages| *pages.end()),
            text: passage.text,
        }
    });
    Ok(results.collect())
}

/// Embed all documents again
#[utoipa::path(post, path = "/knowledge/{id}/reembed", tag = "knowledge",
    params(("id" = String, Path)), request_body = Reembed,
    responses((status = 200, body = BaseView), Problems))]
async fn reembed(
    State(studio): State<Studio>,
    caller: Caller,
    UrlPath(id): UrlPath<String>,
    Body(body): Body<Reembed>,
) -> Result<Json<BaseView>, ApiProblem> {
    let record = base_of(&studio, &caller, &id).await?;
    let embedder = studio.shared.knowledge.embedder(body.embedder.as_deref())?;
    let begin = SystemTime::now();
    studio.shared.knowledge.reembed(&record, embedder).await?;
    tracing::info!(base = record.id, took = ?begin.elapsed().ok(), "embedded again");
    studio.audit(&caller, "knowledge-reembed", &record.id).await;
    view(&studio, record).await.map(Json)
}
