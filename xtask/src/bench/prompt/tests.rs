use super::knowledge_table;

#[test]
fn figures_of_knowledge_bases_are_a_table() {
    let lines = r#"{"figure":"ingest","chunks":1000,"mb_per_s":14.26,"bare_mb_per_s":20.0,"ratio":1.4025}
{"figure":"query","chunks":1000,"us":61.8,"bare_us":52.8,"ratio":1.17}
{"figure":"replace","chunks":1000,"ms":31.4,"ratio":0.123}
{"figure":"query","chunks":1000000,"us":2261.8,"bare_us":1652.8,"ratio":1.368}
"#;
    let table = "
   chunks                      base  bare engine  × bare  goal
     1000  filling        14.3 MB/s    20.0 MB/s    1.40
     1000  asking             62 µs        53 µs    1.17  ≤ 1.3 × bare: met
     1000  replacing one      31 ms                       12.3 % of the time of filling
  1000000  asking           2262 µs      1653 µs    1.37  ≤ 1.3 × bare: missed
";
    assert_eq!(knowledge_table(lines).expect("they are figures"), table.trim_start_matches('\n'));
}

#[test]
fn what_is_no_figure_is_named() {
    let check = |line: &str, problem: &str| {
        let error = knowledge_table(line).expect_err("it is no figure");
        assert!(format!("{error:#}").contains(problem), "{error:#}");
    };
    check("Segmentation fault", "`Segmentation fault` is not JSON");
    check(r#"{"figure":"query","chunks":1}"#, "the figure `ratio` is missing");
    check(r#"{"figure":"weight","ratio":1.0}"#, "is no figure that is known here");
}
