//! Messages of clients, on standard input one per line, so that a malformed request is answered.
//!
//! The SDK answers a request that it can't read without the request's id, and a client waits for that id forever. Such a
//! request is replaced here by one with the same id that [`malformed`] refuses.

use rmcp::ErrorData;
use rmcp::RoleServer;
use rmcp::service::RxJsonRpcMessage;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufRead, AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWriteExt as _,
    BufReader, DuplexStream,
};

/// The method of a request that takes the place of a malformed one.
pub(crate) const MALFORMED: &str = "prowess/malformed";
/// The most bytes of a line. The SDK has the same limit.
const MAX_LINE: u64 = 16 << 20;
/// The bytes that wait for the SDK.
const BUFFER: usize = 64 << 10;

/// The lines of a reader, with malformed requests replaced. It ends with the reader.
pub(crate) fn checked(reader: impl AsyncRead + Send + Unpin + 'static) -> DuplexStream {
    let (mut sender, receiver) = tokio::io::duplex(BUFFER);
    tokio::spawn(async move {
        let mut reader = BufReader::new(reader);
        let mut line = Vec::new();
        while let Ok(true) = next_line(&mut reader, &mut line).await {
            let replaced = replacement(&line);
            // The other end is gone when the server stops.
            if sender.write_all(replaced.as_deref().unwrap_or(&line)).await.is_err() {
                return;
            }
        }
    });
    receiver
}

/// Reads a line with its end; false at the end of the input. A line that is too long is dropped.
async fn next_line(
    reader: &mut (impl AsyncBufRead + Unpin),
    line: &mut Vec<u8>,
) -> std::io::Result<bool> {
    line.clear();
    (&mut *reader).take(MAX_LINE).read_until(b'\n', line).await?;
    if line.last() == Some(&b'\n') {
        return Ok(true);
    }
    if (line.len() as u64) < MAX_LINE {
        // An incomplete last line is no message.
        return Ok(false);
    }
    line.clear();
    loop {
        let buffered = reader.fill_buf().await?;
        if buffered.is_empty() {
            return Ok(false);
        }
        let end = buffered.iter().position(|byte| *byte == b'\n');
        let used = end.map_or(buffered.len(), |end| end + 1);
        reader.consume(used);
        if end.is_some() {
            return Ok(true);
        }
    }
}

/// A request that is refused, in place of one that has an id and can't be read.
pub(crate) fn replacement(line: &[u8]) -> Option<Vec<u8>> {
    if serde_json::from_slice::<RxJsonRpcMessage<RoleServer>>(line).is_ok() {
        return None;
    }
    let read = serde_json::from_slice(line).ok();
    let too_deep = read.is_none();
    let message: Value = read.or_else(|| shallow(line))?;
    let id = message.get("id").filter(|id| id.is_string() || id.is_i64())?;
    let method = message.get("method")?.as_str()?;
    let mut params = json!({
        "method": method,
        "version": message.get("jsonrpc"),
        "too_deep": too_deep,
    });
    if let Some(meta) = message.get("params").and_then(|params| params.get("_meta")) {
        params["_meta"] = meta.clone();
    }
    let refused = json!({ "jsonrpc": "2.0", "id": id, "method": MALFORMED, "params": params });
    Some(format!("{refused}\n").into_bytes())
}

/// A request whose values are nested more deeply than JSON is read here, without those values. What is skipped has no
/// limit of depth.
fn shallow(line: &[u8]) -> Option<Value> {
    #[derive(Deserialize)]
    struct Head {
        jsonrpc: Option<Value>,
        id: Value,
        method: Value,
    }
    #[derive(Deserialize)]
    struct Parameters {
        #[serde(rename = "_meta")]
        meta: Value,
    }
    #[derive(Deserialize)]
    struct WithMeta {
        params: Parameters,
    }
    let Head { jsonrpc, id, method } = serde_json::from_slice(line).ok()?;
    let mut message = json!({ "jsonrpc": jsonrpc, "id": id, "method": method });
    // A request without a session says in its `_meta` which version of the protocol it speaks.
    if let Ok(WithMeta { params }) = serde_json::from_slice(line) {
        message["params"] = json!({ "_meta": params.meta });
    }
    Some(message)
}

/// The answer to a malformed request.
pub(crate) fn malformed(params: Option<&Value>) -> ErrorData {
    let part = |key: &str| params.and_then(|params| params.get(key)).and_then(Value::as_str);
    if part("version") != Some("2.0") {
        return ErrorData::invalid_request("the request is not JSON-RPC 2.0", None);
    }
    if params.and_then(|params| params.get("too_deep")).and_then(Value::as_bool) == Some(true) {
        let method = part("method").unwrap_or_default();
        let message = format!("the parameters of `{method}` are nested too deeply");
        return ErrorData::invalid_params(message, None);
    }
    invalid_params(part("method").unwrap_or_default())
}

/// The answer to a request with parameters of the wrong shape.
pub(crate) fn invalid_params(method: &str) -> ErrorData {
    ErrorData::invalid_params(format!("the parameters of `{method}` are not valid"), None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replaced(line: &str) -> Option<Value> {
        replacement(line.as_bytes()).map(|line| serde_json::from_slice(&line).unwrap())
    }

    #[test]
    fn requests_with_an_id_are_answered_and_everything_else_passes() {
        for line in [
            r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":"a","method":"no/such","params":{"x":1}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
            // Without an id there is nobody to answer.
            "{",
            "[]",
            r#"{"id":1}"#,
            r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#,
        ] {
            assert_eq!(replaced(line), None, "{line}");
        }
        let wrong =
            replaced(r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":7}"#).unwrap();
        assert_eq!((&wrong["id"], &wrong["method"]), (&json!(7), &json!(MALFORMED)));
        assert_eq!(malformed(wrong.get("params")).code.0, -32602);
        let old = replaced(r#"{"jsonrpc":"1.0","id":"b","method":"tools/list"}"#).unwrap();
        assert_eq!(malformed(old.get("params")).code.0, -32600);
    }

    #[test]
    fn a_request_that_is_nested_too_deeply_is_answered() {
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        let line = format!(
            r#"{{"params":{{"arguments":{{"file":{deep}}},"_meta":{{"v":1}}}},"jsonrpc":"2.0","id":"d","method":"tools/call"}}"#
        );
        let refused = replaced(&line).unwrap();
        assert_eq!((&refused["id"], &refused["params"]["_meta"]["v"]), (&json!("d"), &json!(1)));
        let answer = malformed(refused.get("params"));
        assert_eq!(answer.code.0, -32602);
        assert_eq!(answer.message, "the parameters of `tools/call` are nested too deeply");
        let meta =
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"_meta":{deep}}}}}"#);
        assert_eq!(replaced(&meta).unwrap()["id"], 1);
        // The id has a depth, too; and what is cut off is not answered.
        let id = format!(r#"{{"jsonrpc":"2.0","id":{deep},"method":"ping"}}"#);
        assert_eq!(replaced(&id), None);
        assert_eq!(replaced(&line[..line.len() - 1]), None);
    }

    #[tokio::test]
    async fn a_line_that_is_too_long_is_dropped_and_the_next_one_read() {
        let long = "x".repeat(usize::try_from(MAX_LINE).unwrap() + 5);
        let text = format!("{long}\nnext\nincomplete");
        let mut reader = text.as_bytes();
        let mut line = Vec::new();
        assert!(next_line(&mut reader, &mut line).await.unwrap());
        assert!(line.is_empty());
        assert!(next_line(&mut reader, &mut line).await.unwrap());
        assert_eq!(line, b"next\n");
        assert!(!next_line(&mut reader, &mut line).await.unwrap());
    }
}
