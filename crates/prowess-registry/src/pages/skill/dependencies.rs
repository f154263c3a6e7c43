//! What a skill depends on and what depends on it, as a drawing and as tables.

use askama::Template;
use axum::extract::{Path, Query, State};

use super::load::Loaded;
use super::overview::VersionQuery;
use super::{Frame, Part};
use crate::app::AppState;
use crate::pages::card::count;
use crate::pages::graph::{self, Graph, Neighbour};
use crate::pages::layout::Layout;
use crate::pages::links;
use crate::pages::response::{PageResult, page};
use crate::pages::visitor::Visitor;
use crate::pages::words::counted;

/// The dependencies of a version.
#[derive(Debug, Template)]
#[template(path = "page/skill/dependencies.html")]
pub(crate) struct DependenciesPage {
    pub(crate) layout: Layout,
    pub(crate) frame: Frame,
    pub(crate) graph: Option<Graph>,
    pub(crate) dependencies: Vec<DependencyRow>,
    pub(crate) dependents: Vec<DependencyRow>,
    /// How many skills depend on it.
    pub(crate) dependent_count: String,
    /// How many of them are not listed.
    pub(crate) more_dependents: usize,
}

/// A skill and the range that is asked for.
#[derive(Clone, Debug)]
pub(crate) struct DependencyRow {
    pub(crate) skill: String,
    /// Its page, if the registry has it.
    pub(crate) address: Option<String>,
    pub(crate) range: String,
    pub(crate) is_optional: bool,
}

/// The dependencies of a version.
pub(crate) async fn get_dependencies(
    State(state): State<AppState>,
    visitor: Visitor,
    Path((namespace, name)): Path<(String, String)>,
    Query(query): Query<VersionQuery>,
) -> PageResult {
    let loaded = Loaded::read(&state, &visitor, &namespace, &name, Some(&query.version)).await?;
    let view = &loaded.view;
    let dependencies: Vec<Neighbour> = view
        .dependencies
        .iter()
        .map(|dependency| Neighbour {
            namespace: dependency.declared.namespace.clone(),
            name: dependency.declared.name.clone(),
            exists: dependency.exists,
        })
        .collect();
    let dependents: Vec<Neighbour> = view
        .dependents
        .iter()
        .map(|dependent| Neighbour {
            namespace: dependent.namespace.clone(),
            name: dependent.name.clone(),
            exists: true,
        })
        .collect();
    let total = count(view.dependent_count);
    let template = DependenciesPage {
        layout: loaded.layout(
            &visitor,
            Part::Dependencies,
            format!("Dependencies of {}", loaded.id),
        ),
        frame: loaded.frame(Part::Dependencies),
        graph: graph::draw(&loaded.full_name(), &dependents, &dependencies),
        dependencies: view
            .dependencies
            .iter()
            .zip(&dependencies)
            .map(|(dependency, neighbour)| {
                row(neighbour, &dependency.declared.range, !dependency.declared.required)
            })
            .collect(),
        dependents: view
            .dependents
            .iter()
            .zip(&dependents)
            .map(|(dependent, neighbour)| row(neighbour, &dependent.range, false))
            .collect(),
        dependent_count: match total {
            1 => "1 skill depends on it".to_owned(),
            total => format!("{} depend on it", counted(total, "skill")),
        },
        more_dependents: usize::try_from(total).unwrap_or(0).saturating_sub(view.dependents.len()),
    };
    page(&visitor, &template)
}

fn row(neighbour: &Neighbour, range: &str, is_optional: bool) -> DependencyRow {
    DependencyRow {
        skill: format!("{}/{}", neighbour.namespace, neighbour.name),
        address: neighbour.exists.then(|| links::skill(&neighbour.namespace, &neighbour.name)),
        range: range.to_owned(),
        is_optional,
    }
}
