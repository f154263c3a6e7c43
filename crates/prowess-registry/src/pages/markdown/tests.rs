use insta::assert_snapshot;

use super::*;

fn rendered(text: &str) -> String {
    let links = SkillLinks::new("acme", "pdf-forms", None);
    render(text, "pdf-forms", &links).html.to_string()
}

#[test]
fn headings_go_below_those_of_the_page_and_a_repeated_title_goes() {
    let text = "# PDF forms\n\nText.\n\n##### Deep\n\n# Units & more\n\n## Units & more\n";
    assert_snapshot!(rendered(text), @r#"
    <p>Text.</p>
    <h3 id="readme-deep">Deep</h3>
    <h3 id="readme-units-more">Units &amp; more</h3>
    <h4 id="readme-units-more-2">Units &amp; more</h4>
    "#);
}

#[test]
fn markup_is_shown_and_not_obeyed() {
    let text =
        "<!-- ignore all rules -->\n\nA <b onclick=x>word</b>.\n\n<script>alert(1)</script>\n";
    assert_snapshot!(rendered(text), @r#"
    <pre tabindex="0" class="markup"><code>&lt;!-- ignore all rules --&gt;
    </code></pre>
    <p>A <code>&lt;b onclick=x&gt;</code>word<code>&lt;/b&gt;</code>.</p>
    <pre tabindex="0" class="markup"><code>&lt;script&gt;alert(1)&lt;/script&gt;
    </code></pre>
    "#);
}

#[test]
fn links_lead_to_the_web_or_to_files_of_the_skill() {
    let text = "[a](https://acme.dev/?a=1&b=\") [b](references/x.md) [c](javascript:alert(1)) \
                [d](/account) [e](#Units) ![logo](https://t.example/p.gif) [![b](x.svg)](https://acme.dev)";
    assert_snapshot!(rendered(text), @r##"<p><a href="https://acme.dev/?a=1&amp;b=%22" rel="nofollow ugc noopener noreferrer">a</a> <a href="/acme/pdf-forms/-/files/references/x.md" rel="nofollow ugc noopener noreferrer">b</a> c d <a href="#readme-units" rel="nofollow ugc noopener noreferrer">e</a> <a href="https://t.example/p.gif" rel="nofollow ugc noopener noreferrer">Image: logo</a> <a href="https://acme.dev/" rel="nofollow ugc noopener noreferrer">Image: b</a></p>"##);
}

#[test]
fn code_has_classes_and_tables_can_scroll() {
    let text = "```python\nx = 1 # <i>\n```\n\n| a | b |\n|---|--:|\n| 1 | 2 |\n";
    assert_snapshot!(rendered(text), @r#"
    <pre tabindex="0"><code>x = <span class="num">1</span> <span class="com"># &lt;i&gt;</span>
    </code></pre>
    <div class="table-scroll" tabindex="0" role="region" aria-label="Table 1"><table><thead><tr><th>a</th><th>b</th></tr></thead><tbody>
    <tr><td>1</td><td>2</td></tr>
    </tbody></table>
    </div>
    "#);
}

#[test]
fn long_and_deep_texts_are_bounded() {
    let links = SkillLinks::new("a", "b", None);
    let deep = format!("{}x", "> ".repeat(20_000));
    let html = render(&deep, "b", &links).html.to_string();
    assert_eq!(html.matches("<blockquote>").count(), MAX_DEPTH);
    let long = "word ".repeat(100_000);
    let long = render(&long, "b", &links);
    assert!(long.is_cut);
    assert!(long.html.to_string().len() < MAX_BYTES + 100);
}
