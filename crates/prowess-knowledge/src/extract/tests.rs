use std::io::{Cursor, Write as _};

use lopdf::content::{Content, Operation};
use lopdf::{Dictionary, Document, Object, Stream, dictionary};
use proptest::prelude::*;

use super::{ExtractError, ExtractedText, docx, extract};
use crate::document::DocumentFormat;

fn text(format: DocumentFormat, bytes: &[u8]) -> Result<String, String> {
    extract(format, bytes).map(|extracted| extracted.text).map_err(|error| error.to_string())
}

#[test]
fn plain_text_stays_byte_for_byte() {
    let odd = " \u{FEFF}Tab\there\r\n\r\n  indented\n";
    assert_eq!(text(DocumentFormat::Text, odd.as_bytes()).as_deref(), Ok(odd));
    assert_eq!(text(DocumentFormat::Text, b"caf\xE9 \x80 5").as_deref(), Ok("café € 5"));
    assert_eq!(text(DocumentFormat::Text, b"\xFF\xFEh\0i\0").as_deref(), Ok("hi"));
    assert_eq!(text(DocumentFormat::Text, b"\xFE\xFF\0h\0i").as_deref(), Ok("hi"));
    assert_eq!(
        text(DocumentFormat::Text, b"a\0b"),
        Err("it is not text: it contains zero bytes".to_owned())
    );
    assert_eq!(text(DocumentFormat::Text, b"\n \n"), Err("it contains no text".to_owned()));
}

#[test]
fn a_title_is_found() {
    let title = |format, bytes: &str| extract(format, bytes.as_bytes()).expect("it has text").title;
    assert_eq!(title(DocumentFormat::Markdown, "intro\n\n# The `title` #\n"), "The `title`");
    assert_eq!(title(DocumentFormat::Html, "<title>A\n &amp; B</title><p>Text"), "A & B");
    assert_eq!(title(DocumentFormat::Text, "A headline\n\nThe text.\n"), "A headline");
    let endless = format!("{}\n", "word ".repeat(100));
    assert_eq!(title(DocumentFormat::Text, &endless), "");
}

#[test]
fn html_is_what_a_browser_shows() {
    let html = "<!doctype html><title>T&eacute;st</title><style>p { color: red }</style>\
        <h1>Head<!-- no --></h1><p>One <b>bold</b>\n   word.<p>Two<br>lines &lt;here&gt;\
        <script>if (a < b) { document.write('<p>no</p>') }</script>\
        <ul><li>a<li>b</ul><table><tr><td>1</td><td>2</td></tr></table><pre>x\n  y</pre>\
        <svg><text>no</text></svg>end";
    let expected =
        "Tést\n\nHead\n\nOne bold word.\n\nTwo\nlines <here>\n\na\nb\n\n1 2\n\nx\n  y\n\nend";
    assert_eq!(text(DocumentFormat::Html, html.as_bytes()).as_deref(), Ok(expected));
}

#[test]
fn nesting_exhausts_nothing() {
    let deep = format!("{}text{}", "<div><pre>".repeat(100_000), "</pre></div>".repeat(100_000));
    assert_eq!(text(DocumentFormat::Html, deep.as_bytes()).as_deref(), Ok("text"));
}

/// An archive with these parts.
fn archive(parts: &[(&str, &str)]) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in parts {
        let options = zip::write::SimpleFileOptions::default();
        archive.start_file(*name, options).expect("a part can be begun");
        archive.write_all(content.as_bytes()).expect("a part can be written");
    }
    archive.finish().expect("it can be finished").into_inner()
}

const BODY: &str = r#"<?xml version="1.0"?><w:document xmlns:w="w"><w:body>
    <w:p><w:r><w:t>Größe &amp; &#x41;</w:t><w:tab/><w:t xml:space="preserve">B </w:t></w:r></w:p>
    <w:p><w:r><w:delText>gone</w:delText><w:t>Two</w:t><w:br/><w:t>lines</w:t></w:r></w:p>
    <w:tbl><w:tr><w:tc><w:p><w:r><w:t>cell</w:t></w:r></w:p></w:tc></w:tr></w:tbl>
    </w:body></w:document>"#;

#[test]
fn word_documents_are_read_with_their_notes() {
    let notes = "<w:footnotes><w:p><w:t>A note.</w:t></w:p></w:footnotes>";
    let docx = archive(&[("word/document.xml", BODY), ("word/footnotes.xml", notes)]);
    let expected = "Größe & A B\n\nTwo\nlines\n\ncell\n\nA note.";
    assert_eq!(text(DocumentFormat::Docx, &docx).as_deref(), Ok(expected));
}

#[test]
fn archives_that_are_no_documents_are_refused() {
    let check = |bytes: &[u8], expected: &str| {
        let error = text(DocumentFormat::Docx, bytes).expect_err("it is refused");
        assert!(error.contains(expected), "{error}");
    };
    check(&archive(&[("other.xml", "<a/>")]), "`word/document.xml`");
    check(&archive(&[("word/document.xml", "<a><b></a>")]), "`word/document.xml`");
    check(b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1", "it is encrypted");
    check(b"PK", "it is not a Word document");
}

#[test]
fn a_bomb_stops_where_it_is_enough() {
    let bomb = format!("<w:t>{}</w:t>", " ".repeat(3 << 20));
    let bomb = archive(&[("word/document.xml", &bomb)]);
    assert!(bomb.len() < 100_000, "{}", bomb.len());
    let error = docx::extract_within(&bomb, 1 << 20).expect_err("it is refused");
    assert!(matches!(error, ExtractError::TooLarge(_)), "{error}");
}

/// A PDF with these operations on its pages.
fn pdf(pages: &[Vec<Operation>]) -> Vec<u8> {
    let mut document = Document::with_version("1.5");
    let tree = document.new_object_id();
    let font = document.add_object(dictionary! {
        "Type" => "Font", "Subtype" => "Type1", "BaseFont" => "Courier",
        "Encoding" => "WinAnsiEncoding",
    });
    let resources = document.add_object(dictionary! { "Font" => dictionary! { "F1" => font } });
    let kids: Vec<Object> = pages
        .iter()
        .map(|operations| {
            let content = Content { operations: operations.clone() };
            let content = content.encode().expect("operations can be written");
            let content = document.add_object(Stream::new(Dictionary::new(), content));
            let page = dictionary! { "Type" => "Page", "Parent" => tree, "Contents" => content };
            document.add_object(page).into()
        })
        .collect();
    let count = i64::try_from(kids.len()).expect("it is small");
    let pages = dictionary! {
        "Type" => "Pages", "Kids" => kids, "Count" => count, "Resources" => resources,
        "MediaBox" => vec![0.into(), 0.into(), 595.into(), 842.into()],
    };
    document.objects.insert(tree, Object::Dictionary(pages));
    let catalog = document.add_object(dictionary! { "Type" => "Catalog", "Pages" => tree });
    document.trailer.set("Root", catalog);
    document.compress();
    let mut bytes = Vec::new();
    document.save_to(&mut bytes).expect("it can be written");
    bytes
}

fn page(lines: &[&str]) -> Vec<Operation> {
    let mut operations =
        vec![Operation::new("BT", vec![]), Operation::new("Tf", vec!["F1".into(), 12.into()])];
    for line in lines {
        operations.push(Operation::new("Td", vec![0.into(), (-14).into()]));
        operations.push(Operation::new("Tj", vec![Object::string_literal(*line)]));
    }
    operations.push(Operation::new("ET", vec![]));
    operations
}

#[test]
fn a_pdf_is_read_page_by_page_and_line_by_line() {
    let kerned = Operation::new(
        "TJ",
        vec![Object::Array(vec![
            Object::string_literal("Ker"),
            20.into(),
            Object::string_literal("ned"),
            (-400).into(),
            Object::string_literal("words"),
        ])],
    );
    let mut last = page(&[]);
    last.insert(2, kerned);
    let bytes = pdf(&[page(&["First line", "second line"]), page(&[]), last]);
    let ExtractedText { text, pages, title } =
        extract(DocumentFormat::Pdf, &bytes).expect("it can be read");
    assert_eq!(text, "First line\nsecond line\n\n\n\nKerned words");
    assert_eq!(pages, [0, 24, 26]);
    assert_eq!(&text[pages[2]..], "Kerned words");
    assert_eq!(title, "First line second line");
}

#[test]
fn a_pdf_of_pictures_says_so() {
    let error =
        extract(DocumentFormat::Pdf, &pdf(&[page(&[])])).expect_err("there is nothing in it");
    assert_eq!(error.to_string(), "it contains no text; its pages may be images");
}

/// Real files with some bytes changed, or cut.
fn damaged() -> impl Strategy<Value = (DocumentFormat, Vec<u8>)> {
    let files = vec![
        (DocumentFormat::Pdf, pdf(&[page(&["First line", "second line"]), page(&["third"])])),
        (DocumentFormat::Docx, archive(&[("word/document.xml", BODY)])),
        (
            DocumentFormat::Html,
            b"<title>x</title><p>a &amp; <pre>b</pre><script>c</script>".to_vec(),
        ),
        (DocumentFormat::Text, "Größe".as_bytes().to_vec()),
    ];
    let file = prop::sample::select(files);
    let changes = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..12);
    (file, changes, any::<prop::sample::Index>(), any::<bool>()).prop_map(
        |((format, mut bytes), changes, end, cut)| {
            for (at, byte) in changes {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            if cut {
                bytes.truncate(end.index(bytes.len()));
            }
            (format, bytes)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn damaged_files_are_read_or_refused((format, bytes) in damaged()) {
        if let Ok(extracted) = extract(format, &bytes) {
            prop_assert!(!extracted.text.trim().is_empty());
            prop_assert!(extracted.pages.iter().all(|&page| extracted.text.is_char_boundary(page)));
            prop_assert!(extracted.pages.is_sorted());
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        for &format in DocumentFormat::ALL {
            if let Ok(extracted) = extract(format, &bytes) {
                prop_assert!(!extracted.text.trim().is_empty());
            }
        }
    }
}
