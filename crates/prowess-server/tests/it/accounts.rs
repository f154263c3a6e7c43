use std::time::Duration;

use prowess_core::Problem;
use prowess_server::Secret;
use prowess_server::accounts::{NewUser, Role, Username};

use crate::support::{Bed, PASSWORD, on_both};

on_both! {
    a_user_is_found_by_name_and_identifier,
    names_are_unique,
    the_right_password_is_needed,
    the_last_administrator_stays,
    a_setup_link_works_once,
    a_setup_link_expires_and_is_replaced,
    users_are_listed_by_name,
}

fn name(text: &str) -> Username {
    text.parse().expect("a username")
}

fn code<T: std::fmt::Debug>(result: Result<T, Problem>) -> &'static str {
    result.expect_err("a problem").code
}

async fn a_user_is_found_by_name_and_identifier(bed: Bed) {
    let ada = bed.user("ada", Role::Admin).await;
    let accounts = bed.server.accounts();
    assert!(ada.id.starts_with("u_"), "{}", ada.id);
    assert_eq!(accounts.user(&ada.id).await, Ok(Some(ada.clone())));
    assert_eq!(accounts.user_by_name(&name("ada")).await, Ok(Some(ada)));
    assert_eq!(accounts.user_by_name(&name("grace")).await, Ok(None));
}

async fn names_are_unique(bed: Bed) {
    bed.user("ada", Role::User).await;
    let again =
        NewUser { username: name("ada"), role: Role::User, password: Some(Secret::new(PASSWORD)) };
    let problem = bed.server.accounts().add_user(again).await.expect_err("it exists");
    assert_eq!(problem.message, "there is already a user `ada`");
    let short =
        NewUser { username: name("bob"), role: Role::User, password: Some(Secret::new("1234567")) };
    assert_eq!(code(bed.server.accounts().add_user(short).await), "invalid-password");
}

async fn the_right_password_is_needed(bed: Bed) {
    let ada = bed.user("ada", Role::User).await;
    let accounts = bed.server.accounts();
    let verify = async |name: &str, password: &str| {
        accounts.verify_password(name, &Secret::new(password)).await.expect("an answer")
    };
    assert_eq!(verify("ada", PASSWORD).await, Some(ada.clone()));
    assert_eq!(verify("ada", "wrong password").await, None);
    assert_eq!(verify("grace", PASSWORD).await, None);
    assert_eq!(verify("../ada", PASSWORD).await, None);
    accounts.set_password(&ada.id, &Secret::new("another password")).await.expect("a change");
    assert_eq!(verify("ada", PASSWORD).await, None);
    assert!(verify("ada", "another password").await.is_some());
    bed.user("root", Role::Admin).await;
    accounts.set_disabled(&ada.id, true).await.expect("a change");
    assert_eq!(verify("ada", "another password").await, None);
}

async fn the_last_administrator_stays(bed: Bed) {
    let ada = bed.user("ada", Role::Admin).await;
    let accounts = bed.server.accounts();
    assert_eq!(code(accounts.set_role(&ada.id, Role::User).await), "last-administrator");
    assert_eq!(code(accounts.set_disabled(&ada.id, true).await), "last-administrator");
    let grace = bed.user("grace", Role::Admin).await;
    accounts.set_role(&ada.id, Role::User).await.expect("there is another");
    assert_eq!(code(accounts.set_role(&grace.id, Role::User).await), "last-administrator");
    assert_eq!(code(accounts.set_role("u_nobody", Role::Admin).await), "user-not-found");
}

async fn a_setup_link_works_once(bed: Bed) {
    let accounts = bed.server.accounts();
    assert_eq!(accounts.is_empty().await, Ok(true));
    let link = accounts.create_setup_link().await.expect("a link").expect("there is no user");
    assert_eq!(accounts.is_setup_link(link.expose()).await, Ok(true));
    let password = Secret::new(PASSWORD);
    assert_eq!(
        code(accounts.use_setup_link("prwl_guess", name("eve"), &password).await),
        "invalid-link"
    );
    assert_eq!(
        code(accounts.use_setup_link(link.expose(), name("ada"), &Secret::new("short")).await),
        "invalid-password"
    );
    let ada = accounts.use_setup_link(link.expose(), name("ada"), &password).await.expect("a user");
    assert_eq!(ada.role, Role::Admin);
    assert_eq!(
        code(accounts.use_setup_link(link.expose(), name("eve"), &password).await),
        "invalid-link"
    );
    assert!(accounts.create_setup_link().await.expect("an answer").is_none());
}

async fn a_setup_link_expires_and_is_replaced(bed: Bed) {
    let accounts = bed.server.accounts();
    let first = accounts.create_setup_link().await.expect("a link").expect("no user");
    let second = accounts.create_setup_link().await.expect("a link").expect("no user");
    assert_eq!(accounts.is_setup_link(first.expose()).await, Ok(false));
    bed.clock.advance(Duration::from_hours(25));
    let password = Secret::new(PASSWORD);
    assert_eq!(
        code(accounts.use_setup_link(second.expose(), name("ada"), &password).await),
        "invalid-link"
    );
    // A link is void as soon as there is a user, whoever made it.
    let third = accounts.create_setup_link().await.expect("a link").expect("no user");
    bed.user("grace", Role::Admin).await;
    assert_eq!(accounts.is_setup_link(third.expose()).await, Ok(false));
}

async fn users_are_listed_by_name(bed: Bed) {
    for name in ["carol", "ada", "bob"] {
        bed.user(name, Role::User).await;
    }
    let accounts = bed.server.accounts();
    let names = async |after: Option<&str>, limit| {
        let after = after.map(name);
        let users = accounts.users(after.as_ref(), limit).await.expect("users");
        users.iter().map(|user| user.username.to_string()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(names(None, 2).await, "ada bob");
    assert_eq!(names(Some("bob"), 2).await, "carol");
    assert_eq!(names(None, usize::MAX).await, "ada bob carol");
}

/// Attack registry-D3. Names that exist and names that do not take the same work, measured as processor time, which others on
/// the machine do not change.
#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn unknown_names_take_as_long_as_wrong_passwords() {
    use rustix::time::{ClockId, clock_gettime};
    const ROUNDS: usize = 10;
    let bed = Bed::sqlite().await;
    bed.user("ada", Role::User).await;
    let password = Secret::new("wrong password");
    let accounts = bed.server.accounts();
    let work = async |name: &str| {
        let used = || {
            let time = clock_gettime(ClockId::ProcessCPUTime);
            std::time::Duration::new(
                time.tv_sec.try_into().expect("it has begun"),
                time.tv_nsec.try_into().expect("it is positive"),
            )
        };
        let before = used();
        for _ in 0..ROUNDS {
            accounts.verify_password(name, &password).await.expect("an answer");
        }
        used().saturating_sub(before).as_secs_f64()
    };
    // The first call makes the hash that unknown names are compared with.
    work("nobody").await;
    let (known, unknown) = (work("ada").await, work("nobody").await);
    assert!((0.6..1.7).contains(&(known / unknown)), "{known} s and {unknown} s");
}
