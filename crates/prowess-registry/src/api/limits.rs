//! How much one client may ask for. The limits are far above what any client needs, and every refusal says when to try again
//! (attack registry-D5).

use std::time::Duration;

use prowess_core::Problem;
use prowess_server::Server;
use prowess_server::identity::ClientAddress;
use prowess_server::limits::{Limit, address_subject};

use crate::viewer::Viewer;

/// Searches, for which the server does the most work.
const SEARCHES: Limit =
    Limit { name: "registry-search", burst: 600, period: Duration::from_mins(1) };

/// Counts a search of a user, or of an address.
pub(crate) async fn limit_reads(
    server: &Server,
    viewer: &Viewer,
    address: ClientAddress,
) -> Result<(), Problem> {
    let subject = match &viewer.user_id {
        Some(user) => user.clone(),
        None => address_subject(address.0),
    };
    server.limits().check(SEARCHES, &subject).await?;
    Ok(())
}
