//! Messages and pages name a specification by its title and section, never by a code of our ledger.

use prowess_format::client::{self, CLIENTS};
use prowess_format::dialect;
use prowess_format::manifest;
use prowess_format::migrate::migrate;
use prowess_format::rules;
use prowess_format::shape::{Field, Shape};
use prowess_format::specification::{self, Section};
use prowess_testkit::internal_codes;

use crate::Fixture;

/// Fails if a text that a user may read contains a code of our own catalogues.
fn assert_readable(source: &str, text: &str) {
    let codes = internal_codes(text);
    assert!(codes.is_empty(), "{source}: {codes:?} in {text}");
}

#[test]
fn findings_contain_no_internal_codes() {
    let detected_or_named = || std::iter::once(None).chain(dialect::ALL.iter().copied().map(Some));
    for fixture in Fixture::all() {
        for named in detected_or_named() {
            fixture.check(named, |_, checked| {
                for diagnostic in &checked.diagnostics {
                    let source = format!("{} {}", fixture.name, diagnostic.rule.name);
                    assert_readable(&source, &diagnostic.message);
                    assert_readable(&source, diagnostic.help.as_deref().unwrap_or_default());
                    let fix = diagnostic.fix.as_ref().map(|fix| fix.title.as_str());
                    assert_readable(&source, fix.unwrap_or_default());
                }
            });
        }
    }
}

#[test]
fn verdicts_of_clients_contain_no_internal_codes() {
    for fixture in Fixture::all() {
        fixture.check(None, |_, checked| {
            for client in CLIENTS {
                let verdict = client::verdict(checked, "SKILL.md", fixture.directory(), client);
                for reason in verdict.reasons {
                    assert_readable(&fixture.name, &reason);
                }
            }
        });
    }
}

#[test]
fn reviews_of_migrations_contain_no_internal_codes() {
    for fixture in Fixture::all() {
        fixture.check(dialect::by_id("openclaw"), |_, checked| {
            for item in migrate(checked, &[], fixture.directory()).review {
                assert_readable(&fixture.name, &item.what);
                assert_readable(&fixture.name, &item.why);
            }
        });
    }
}

#[test]
fn pages_contain_no_internal_codes() {
    for rule in rules::ALL {
        assert_readable(rule.name, rule.page);
    }
    for dialect in dialect::ALL {
        assert_readable(dialect.id, dialect.about);
        for field in every_field(dialect.fields) {
            assert_readable(dialect.id, field.about);
        }
    }
    for field in every_field(manifest::fields()) {
        assert_readable("manifest", field.about);
    }
    for specification in specification::ALL {
        assert_readable(specification.title, specification.title);
    }
}

/// A rule that checks the value of a field belongs to the specification of that field.
#[test]
fn rules_cite_the_specifications_that_they_enforce() {
    for dialect in dialect::ALL {
        for rule in every_field(dialect.fields).into_iter().filter_map(|field| field.rule) {
            assert!(!rule.sections.is_empty(), "{} cites no specification", rule.name);
        }
    }
}

/// A page that mentions a project by name says where that project's specification defines it.
#[test]
fn pages_that_mention_a_project_cite_its_specification() {
    let projects = [
        ("gibb.eri.sh", "gibb.eri.sh "),
        ("GAIA", "GAIA "),
        ("Agent Flow Lite", "Agent Flow Lite "),
        ("skillrt", "skillrt "),
        ("open standard", "Agent Skills "),
        ("registry", "skillli "),
    ];
    for rule in rules::ALL {
        for (project, title) in projects {
            let cited =
                rule.sections.iter().any(|section| section.specification.title.starts_with(title));
            assert!(!rule.page.contains(project) || cited, "{} mentions {project}", rule.name);
        }
    }
}

#[test]
fn citations_name_a_known_document_and_its_section() {
    let cited = rules::ALL.iter().flat_map(|rule| rule.sections);
    let defined = dialect::ALL.iter().flat_map(|dialect| every_field(dialect.fields));
    let sections: Vec<Section> = cited.copied().chain(defined.map(|field| field.section)).collect();
    // Documents without sections, or of which we know no sections.
    let whole = [
        "Claude Code hooks reference",
        "gibb.eri.sh tool pack specification",
        "GAIA source code",
        "published OpenClaw skills",
        "Prowess extension",
    ];
    for section in sections {
        assert!(specification::ALL.contains(&section.specification), "{section}");
        let title = section.specification.title;
        assert!(!section.name.is_empty() || whole.contains(&title), "{title} without a section");
    }
}

#[test]
fn a_section_is_written_out() {
    assert_eq!(
        specification::GAIA.at("2.2 and 2.3").to_string(),
        "GAIA SKILL.md Format Specification, sections 2.2 and 2.3"
    );
    assert_eq!(
        specification::SKILLLI.at("Trust Levels").to_string(),
        "skillli Skill Format Specification, \"Trust Levels\""
    );
    assert_eq!(
        specification::AGENT_SKILLS.at("Frontmatter").link(),
        "[Agent Skills specification](https://agentskills.io/specification), \"Frontmatter\""
    );
}

/// The fields of a table and of the maps inside it.
fn every_field(fields: &'static [Field]) -> Vec<&'static Field> {
    let inner = |field: &'static Field| {
        let mut found = vec![field];
        found.extend(fields_of_shape(&field.shape));
        found
    };
    fields.iter().flat_map(inner).collect()
}

fn fields_of_shape(shape: &'static Shape) -> Vec<&'static Field> {
    match shape {
        Shape::Map(fields) => every_field(fields),
        Shape::List { item, .. } | Shape::MapOf(item) => fields_of_shape(item),
        Shape::Either(shapes) => shapes.iter().flat_map(fields_of_shape).collect(),
        Shape::Any
        | Shape::Text { .. }
        | Shape::String { .. }
        | Shape::Format(_)
        | Shape::Boolean
        | Shape::Integer { .. }
        | Shape::Number { .. }
        | Shape::Choice(_)
        | Shape::ChoiceOrAlias { .. } => Vec::new(),
    }
}
