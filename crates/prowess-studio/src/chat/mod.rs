//! Chats: sessions with branches, and messages that may name skills.

mod mention;
mod reply;
mod store;

pub(crate) use mention::mentions;
pub(crate) use mention::values as mention_values;
pub(crate) use reply::{ChatReply, PlainChat, SkillCall, history, plain_skill, recorded};
pub(crate) use store::{ChatMessage, ChatSession, ChatStore, NewExchange, SessionSummary, finish};
