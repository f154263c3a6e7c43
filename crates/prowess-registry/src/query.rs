//! What pages and routes read. Every function takes the viewer; what they may not see is `None` or left out, exactly as if
//! it did not exist. All values are owned, and every list has a bound.

mod account;
mod differences;
mod files;
mod index;
mod lists;
mod moderation;
mod publisher;
mod reviews;
mod skill;
mod status;
mod trust_score;

pub use account::{AccountView, Invitation, Membership};
pub use differences::{DiffLine, DiffLineKind, FileDifference, ListDifference, VersionDifference};
pub use files::FileContent;
pub use index::{ArchiveView, IndexBody, SkillOverview};
pub use lists::{
    CategoryCount, FeedEntry, Home, RevokedVersion, SitemapEntry, SkillCard, SkillList, SkillSort,
};
pub(crate) use moderation::require_moderator;
pub use moderation::{HeldSkill, ReportView};
pub use publisher::{Member, PublisherView};
pub use reviews::{REPORT_REASONS, RatingView, ReviewList, ReviewView};
pub use skill::{DayCount, DependencyView, DependentView, SkillView, VersionView};
pub use status::StatusView;
pub use trust_score::{TrustLine, TrustScore};
