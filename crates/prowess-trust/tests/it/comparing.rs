//! What changes between two versions.

use std::fmt::Write as _;

use insta::assert_snapshot;
use prowess_policy::Tier;
use prowess_trust::{Evidence, Role, SignedBy, TrustStore, attest, compare};

use crate::skill::{audit, now, release, skill, store, trusted};

fn signed(tier: Tier, signers: &[(&str, &str)]) -> Evidence {
    let signers = signers.iter().map(|(scheme, key_id)| SignedBy {
        scheme: (*scheme).to_owned(),
        key_id: (*key_id).to_owned(),
        identity: (*key_id == "a1").then(|| "acme".to_owned()),
        is_audit: false,
    });
    Evidence { tier, signers: signers.collect() }
}

fn check(previous: &Evidence, now: &Evidence) -> String {
    compare(previous, now).iter().fold(String::new(), |mut out, change| {
        let mark = if change.needs_consent() { "ask" } else { "say" };
        let _ = writeln!(out, "{mark}: {change}");
        out
    })
}

#[test]
fn changes_of_signers_are_named() {
    use Tier::{Community, Experimental, Verified};
    let by_acme = signed(Community, &[("ed25519", "a1")]);
    let unsigned = signed(Experimental, &[]);
    assert_snapshot!(check(&by_acme, &by_acme), @"");
    assert_snapshot!(check(&by_acme, &unsigned), @"
    ask: it was signed by `acme` (key `a1`) and is not signed now
    ask: its tier was `community` and is now `experimental`
    ");
    assert_snapshot!(check(&unsigned, &by_acme), @"ask: its tier was `experimental` and is now `community`");
    assert_snapshot!(check(&by_acme, &signed(Community, &[("ed25519", "b2")])), @"ask: it was signed by `acme` (key `a1`) and is now signed by the key `b2`");
    assert_snapshot!(check(&by_acme, &signed(Verified, &[("ed25519", "a1")])), @"ask: its tier was `community` and is now `verified`");
    // Somebody who signs as well is no new signer, and one of two who stays is enough.
    let by_both = signed(Community, &[("ed25519", "a1"), ("minisign", "b2")]);
    assert_snapshot!(check(&by_acme, &by_both), @"say: it is now signed with minisign as well");
    assert_snapshot!(check(&by_both, &by_acme), @"say: it is no longer signed with minisign");
    assert_snapshot!(check(&signed(Community, &[("oms", "a1")]), &by_acme), @"say: it was signed with oms and is now signed with ed25519");
}

#[test]
fn sign_offs_are_not_signers() {
    let store = store([trusted(1, Role::Publisher), trusted(2, Role::Auditor)]);
    let both = [release(&skill(), 1), audit(&skill(), 2)];
    let verified = attest(&skill(), &both, &store, now()).to_evidence();
    let published = attest(&skill(), &both[..1], &store, now()).to_evidence();
    assert_snapshot!(check(&verified, &published), @"ask: its tier was `verified` and is now `community`");
    let signed_off = attest(&skill(), &both[1..], &store, now()).to_evidence();
    assert_snapshot!(check(&published, &signed_off), @"
    ask: it was signed by the key `34750f98bd59fcfc946da45aaabe933b` and is not signed now
    ask: its tier was `community` and is now `experimental`
    ");
}

#[test]
fn an_accepted_signer_is_remembered_for_one_skill() {
    let mut store = TrustStore::empty();
    store.accept("greet", "b2", now());
    store.accept("greet", "b2", now());
    assert_eq!(store.accepted().len(), 1);
    assert!(store.accepts("greet", "b2"));
    assert!(!store.accepts("greet", "a1"));
    assert!(!store.accepts("other", "b2"));
}
