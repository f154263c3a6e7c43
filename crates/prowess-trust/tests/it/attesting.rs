//! From signatures to a tier.

use insta::assert_snapshot;
use prowess_policy::{Origin, Tier, Trust};
use prowess_trust::{Contents, Role, Timestamp, TrustStore, attest};

use crate::skill::{NOW, audit, now, outcome, release, shown, skill, store, trusted};

/// SKL-TL-1
#[test]
fn a_skill_that_calls_itself_official_is_experimental() {
    let text = prowess_testkit::fixture("skillli/edge/SKL-TL-1/claims-official/SKILL.md");
    let read = prowess_format::check(&text, prowess_format::ReadOptions::DETECT).skill;
    assert!(read.trust_level.is_some());
    let contents = Contents::new("claims-official", "1.2.0").with_file("SKILL.md", text.as_bytes());
    let attestation = attest(&contents, &[], &store([trusted(1, Role::Root)]), now());
    let trust = Trust::of(&read, attestation.tier, None, Origin::Downloaded);
    assert_eq!((trust.tier(), trust.is_signed()), (Tier::Experimental, false));
}

/// GAIX-4
#[test]
fn a_claim_never_raises_the_tier() {
    let unsigned = attest(&skill(), &[], &store([trusted(1, Role::Root)]), now());
    let unknown = attest(&skill(), &[release(&skill(), 1)], &TrustStore::empty(), now());
    let store = store([trusted(1, Role::Publisher)]);
    let published = attest(&skill(), &[release(&skill(), 1)], &store, now());
    for (attestation, proved) in [
        (unsigned, Tier::Experimental),
        (unknown, Tier::Experimental),
        (published, Tier::Community),
    ] {
        for claimed in Tier::ALL {
            let trust = Trust::new(Some(claimed), attestation.tier, None, Origin::Downloaded);
            assert_eq!(trust.tier(), claimed.min(proved));
        }
    }
}

/// GAIA-4.2-1: a publisher-signed skill is at most community.
#[test]
fn roles_prove_their_tier_and_no_more() {
    let by = |role| outcome(&skill(), &[release(&skill(), 1)], &store([trusted(1, role)]));
    assert_snapshot!(by(Role::Root), @"
    verified
    SIGNATURE.json ed25519: root, 2 files
    ");
    assert_snapshot!(by(Role::Publisher), @"
    community
    SIGNATURE.json ed25519: publisher, 2 files
    ");
    assert_snapshot!(by(Role::Auditor), @"
    experimental
    SIGNATURE.json ed25519: auditor, 2 files
    ");
}

/// GAIA-4.4-1
#[test]
fn the_way_from_experimental_to_verified() {
    let store = store([trusted(1, Role::Publisher), trusted(2, Role::Auditor)]);
    let first = skill();
    assert_snapshot!(outcome(&first, &[], &store), @"experimental");
    let signed = release(&first, 1);
    assert_snapshot!(outcome(&first, std::slice::from_ref(&signed), &store), @"
    community
    SIGNATURE.json ed25519: publisher, 2 files
    ");
    let signed_off = audit(&first, 2);
    assert_snapshot!(outcome(&first, &[signed.clone(), signed_off.clone()], &store), @"
    verified
    SIGNATURE.json ed25519: publisher, 2 files
    AUDIT.json ed25519: auditor, 2 files
    ");

    // A new version starts over: neither the signature nor the sign-off says anything about it.
    let mut second = skill();
    second.version = "1.0.1".to_owned();
    assert_snapshot!(outcome(&second, &[], &store), @"experimental");
    assert_snapshot!(outcome(&second, &[release(&second, 1)], &store), @"
    community
    SIGNATURE.json ed25519: publisher, 2 files
    ");
    assert_snapshot!(outcome(&second, &[release(&second, 1), signed_off], &store), @"
    experimental
    SIGNATURE.json ed25519: publisher, 2 files
    refused AUDIT.json: it is for `greet 1.0.0`, but this is `greet 1.0.1`
    ");
}

#[test]
fn nobody_audits_themselves() {
    let publisher = store([trusted(1, Role::Publisher)]);
    let both = [release(&skill(), 1), audit(&skill(), 1)];
    assert_snapshot!(outcome(&skill(), &both, &publisher), @"
    community
    SIGNATURE.json ed25519: publisher, 2 files
    AUDIT.json ed25519: publisher, 2 files
    ");
    // A sign-off alone says that somebody looked, not whose it is.
    let auditor = store([trusted(2, Role::Auditor)]);
    assert_snapshot!(outcome(&skill(), &[audit(&skill(), 2)], &auditor), @"
    experimental
    AUDIT.json ed25519: auditor, 2 files
    warning: it was audited, and no publisher in the trust store has signed it
    ");
    // A release can't be passed off as a sign-off.
    let mut moved = release(&skill(), 2);
    moved.path = "AUDIT.json".to_owned();
    assert_snapshot!(outcome(&skill(), &[moved], &auditor), @"
    experimental
    refused AUDIT.json: unsupported purpose `release` (expected `audit` in an `AUDIT.json`)
    ");
}

/// One bad signature is a reason to stop, whatever the others say.
#[test]
fn a_broken_signature_is_not_outvoted() {
    let root = store([trusted(1, Role::Root)]);
    let other = release(&skill().with_file("SKILL.md", b"other"), 2);
    let mut broken = other;
    broken.path = "signature.json".to_owned();
    assert_snapshot!(outcome(&skill(), &[release(&skill(), 1), broken], &root), @"
    experimental
    SIGNATURE.json ed25519: root, 2 files
    refused signature.json: files changed after signing: `SKILL.md` has changed
    ");
}

#[test]
fn a_signature_file_may_come_after_the_others() {
    let store = store([trusted(1, Role::Publisher), trusted(2, Role::Auditor)]);
    let signed = release(&skill(), 1);
    let with_release = skill().with_file("SIGNATURE.json", &signed.bytes);
    let signed_off = audit(&with_release, 2);
    let with_both = with_release.with_file("AUDIT.json", &signed_off.bytes);
    assert_snapshot!(outcome(&with_both, &[signed.clone(), signed_off], &store), @"
    verified
    SIGNATURE.json ed25519: publisher, 2 files
    AUDIT.json ed25519: auditor, 3 files
    ");
    // But a file that only is called like one, and isn't looked at as one, was not signed.
    assert_snapshot!(outcome(&with_both, &[signed], &store), @"
    experimental
    refused SIGNATURE.json: files changed after signing: `AUDIT.json` was not signed
    ");
}

#[test]
fn a_key_signs_the_names_it_may_sign() {
    let with = |patterns: &[&str], namespace: Option<&str>| {
        let mut key = trusted(1, Role::Publisher);
        key.names = patterns.iter().map(|pattern| pattern.parse().unwrap()).collect();
        let mut skill = skill();
        skill.namespace = namespace.map(str::to_owned);
        attest(&skill, &[release(&skill, 1)], &store([key]), now()).tier
    };
    for (patterns, namespace, tier) in [
        (&["*"][..], None, Tier::Community),
        (&["*"], Some("acme"), Tier::Community),
        (&["greet"], None, Tier::Community),
        (&["gr*t"], None, Tier::Community),
        (&["web-*", "gr*"], None, Tier::Community),
        (&["acme/*"], Some("acme"), Tier::Community),
        (&["acme/greet"], Some("acme"), Tier::Community),
        (&["*/greet"], Some("acme"), Tier::Community),
        (&["acme/*"], None, Tier::Experimental),
        (&["acme/*"], Some("acme-evil"), Tier::Experimental),
        (&["greeter"], None, Tier::Experimental),
        (&["gree"], None, Tier::Experimental),
        (&["web-*"], None, Tier::Experimental),
        (&["*t*g"], None, Tier::Experimental),
        (&["gre*et*t"], None, Tier::Experimental),
        (&[], None, Tier::Experimental),
    ] {
        assert_eq!(with(patterns, namespace), tier, "{patterns:?} {namespace:?}");
    }
    let mut key = trusted(1, Role::Publisher);
    key.names = vec!["web-*".parse().unwrap()];
    assert_snapshot!(outcome(&skill(), &[release(&skill(), 1)], &store([key])), @"
    experimental
    SIGNATURE.json ed25519: not for this name, 2 files
    warning: the key `34750f98bd59fcfc946da45aaabe933b` of the signature `SIGNATURE.json` is not trusted to sign `greet`
    ");
}

#[test]
fn a_key_counts_in_its_time() {
    let with = |from: Option<i64>, until: Option<i64>, first_seen: Option<i64>| {
        let mut key = trusted(1, Role::Publisher);
        key.not_before = from.map(Timestamp::from_unix);
        key.not_after = until.map(Timestamp::from_unix);
        let mut signature = release(&skill(), 1);
        signature.first_seen = first_seen.map(Timestamp::from_unix);
        attest(&skill(), &[signature], &store([key]), now()).tier
    };
    assert_eq!(with(Some(NOW), Some(NOW), None), Tier::Community);
    assert_eq!(with(Some(NOW + 1), None, None), Tier::Experimental);
    assert_eq!(with(None, Some(NOW - 1), None), Tier::Experimental);
    // It was there while the key counted.
    assert_eq!(with(None, Some(NOW - 1), Some(NOW - 1)), Tier::Community);
    assert_eq!(with(Some(NOW - 1), None, Some(NOW - 2)), Tier::Experimental);
}

/// Attack registry-C15
#[test]
fn a_revoked_key_counts_for_what_was_there_before() {
    let with = |first_seen: Option<i64>| {
        let mut store = store([trusted(1, Role::Publisher)]);
        let id = store.keys().next().unwrap().id();
        assert_eq!(store.revoke(&id, Timestamp::from_unix(NOW - 100)), 1);
        // A later moment does not give back what an earlier one has taken.
        store.revoke(&id, now());
        let mut signature = release(&skill(), 1);
        signature.first_seen = first_seen.map(Timestamp::from_unix);
        shown(&attest(&skill(), &[signature], &store, now()))
    };
    assert_snapshot!(with(None), @"
    experimental
    refused SIGNATURE.json: the key `34750f98bd59fcfc946da45aaabe933b` was revoked at 2027-01-15T07:58:20Z
    ");
    assert_snapshot!(with(Some(NOW - 100)), @"
    experimental
    refused SIGNATURE.json: the key `34750f98bd59fcfc946da45aaabe933b` was revoked at 2027-01-15T07:58:20Z
    ");
    assert_snapshot!(with(Some(NOW - 101)), @"
    community
    SIGNATURE.json ed25519: publisher, 2 files
    warning: the key `34750f98bd59fcfc946da45aaabe933b` of the signature `SIGNATURE.json` was revoked at 2027-01-15T07:58:20Z; this signature was there before
    ");
}
