use std::time::Duration;

use proptest::prelude::*;
use prowess_core::{Envelope, Event, EventFrame, RunId, RunOutcome, StandardStream, WorkflowEvent};

use super::{EventLimits, EventReceiver, channel};
use crate::run::CancellationToken;

const RUN: RunId = RunId::from_bytes([7; 16]);

fn token(text: &str) -> Event {
    Event::Token { content: text.to_owned() }
}

fn done() -> Event {
    Event::Done(Box::new(Envelope::answered(prowess_core::AnswerDetails::default())))
}

fn cancelled() -> Envelope {
    Envelope::not_started(RunOutcome::Cancelled, 130, "Skill execution was cancelled".to_owned())
}

fn all(receiver: &mut EventReceiver) -> Vec<EventFrame> {
    std::iter::from_fn(|| receiver.recv_blocking()).collect()
}

fn tight(unread_bytes: usize, most_bytes: usize, patience: Duration) -> EventLimits {
    EventLimits { merged_bytes: 1024, unread_bytes, most_bytes, patience }
}

#[test]
fn unread_text_of_one_stream_becomes_one_event() {
    let (sender, mut receiver) = channel(RUN, EventLimits::USUAL, CancellationToken::default());
    for text in ["a", "b", "c"] {
        sender.send(token(text));
    }
    sender.send(Event::Warning { message: "careful".to_owned() });
    sender.send(token("d"));
    sender.send(done());
    let events: Vec<Event> = all(&mut receiver).into_iter().map(|frame| frame.event).collect();
    let warning = Event::Warning { message: "careful".to_owned() };
    assert_eq!(events, [token("abc"), warning, token("d"), done()]);
}

#[test]
fn streams_and_nodes_are_not_mixed() {
    let output = |stream, text: &str| Event::Output { stream, bytes: text.as_bytes().to_vec() };
    let inside = |node: &str, text| {
        let (node, event) = (node.to_owned(), Box::new(token(text)));
        Event::Workflow(WorkflowEvent::Inside { node, event })
    };
    let (sender, mut receiver) = channel(RUN, EventLimits::USUAL, CancellationToken::default());
    let sent = [
        output(StandardStream::Stdout, "1"),
        output(StandardStream::Stdout, "2"),
        output(StandardStream::Stderr, "3"),
        output(StandardStream::Stdout, "4"),
        inside("n", "5"),
        inside("n", "6"),
        inside("m", "7"),
        token("8"),
        done(),
    ];
    for event in sent {
        sender.send(event);
    }
    let events: Vec<Event> = all(&mut receiver).into_iter().map(|frame| frame.event).collect();
    let expected = [
        output(StandardStream::Stdout, "12"),
        output(StandardStream::Stderr, "3"),
        output(StandardStream::Stdout, "4"),
        inside("n", "56"),
        inside("m", "7"),
        token("8"),
        done(),
    ];
    assert_eq!(events, expected);
}

#[test]
fn every_frame_has_the_run_and_the_next_number() {
    let (sender, mut receiver) = channel(RUN, EventLimits::USUAL, CancellationToken::default());
    sender.send(token("a"));
    assert_eq!(receiver.recv_blocking().map(|it| (it.run, it.sequence)), Some((RUN, 0)));
    sender.send(done());
    assert_eq!(receiver.recv_blocking().map(|it| (it.run, it.sequence)), Some((RUN, 1)));
    assert_eq!(receiver.recv_blocking(), None);
    assert_eq!(receiver.recv_blocking(), None);
}

#[test]
fn a_run_waits_for_its_reader_and_then_goes_on() {
    let cancel = CancellationToken::default();
    let limits = tight(4096, 1 << 20, Duration::from_mins(1));
    let (sender, mut receiver) = channel(RUN, limits, cancel.clone());
    let writer = std::thread::spawn(move || {
        for _ in 0..1000 {
            sender.send(token(&"x".repeat(100)));
        }
        sender.send(done());
    });
    let mut most = 0;
    let mut length = 0;
    while let Some(frame) = receiver.recv_blocking() {
        most = most.max(receiver.shared.lock().bytes);
        if let Event::Token { content } = frame.event {
            length += content.len();
        }
    }
    writer.join().expect("it ends");
    assert_eq!(length, 100_000);
    assert!(most < 4096 + 1024, "{most} bytes were unread");
    assert!(!cancel.is_cancelled());
}

#[test]
fn a_reader_that_does_not_come_has_the_run_cancelled() {
    let cancel = CancellationToken::default();
    let limits = tight(1000, 1 << 20, Duration::from_millis(20));
    let (sender, mut receiver) = channel(RUN, limits, cancel.clone());
    while !cancel.is_cancelled() {
        sender.send(token(&"x".repeat(100)));
    }
    // Events that the run sends before it notices.
    sender.send(token("late"));
    sender.send(Event::Error { message: "Skill execution was cancelled".to_owned() });
    let envelope = sender.finish(cancelled());
    let why = "the run was cancelled because nobody read its events for 20ms";
    assert_eq!(envelope.error.as_deref(), Some(why));
    let frames = all(&mut receiver);
    let [.., error, Event::Done(told)] =
        &frames.iter().map(|frame| frame.event.clone()).collect::<Vec<_>>()[..]
    else {
        panic!("{frames:?}");
    };
    assert_eq!(*error, Event::Error { message: why.to_owned() });
    assert_eq!(**told, envelope);
    assert!(frames.iter().all(|frame| frame.event != token("late")));
}

#[test]
fn what_can_not_wait_is_cancelled_at_the_last_bound() {
    let cancel = CancellationToken::default();
    let limits = tight(1000, 5000, Duration::from_mins(1));
    let (sender, mut receiver) = channel(RUN, limits, cancel.clone());
    for _ in 0..100 {
        sender.send_now(token(&"x".repeat(100)));
    }
    assert!(cancel.is_cancelled());
    assert!(sender.shared.lock().bytes <= 5000);
    let envelope = sender.finish(cancelled());
    assert!(envelope.error.is_some_and(|error| error.contains("more than 5000 bytes")));
    let last = all(&mut receiver).pop().map(|frame| frame.event);
    assert!(matches!(last, Some(Event::Done(_))));
}

#[test]
fn cancelling_wakes_a_run_that_waits_for_its_reader() {
    let cancel = CancellationToken::default();
    let limits = tight(1000, 1 << 20, Duration::from_mins(10));
    let (sender, receiver) = channel(RUN, limits, cancel.clone());
    let other = sender.another();
    let writer = std::thread::spawn(move || {
        for _ in 0..100 {
            sender.send(token(&"x".repeat(100)));
        }
    });
    while other.shared.lock().bytes < 1000 {
        std::thread::yield_now();
    }
    cancel.cancel();
    other.unblock();
    writer.join().expect("it is not stuck");
    drop(receiver);
}

#[test]
fn nobody_waits_for_a_reader_that_has_gone() {
    let limits = tight(1000, 2000, Duration::from_mins(10));
    let cancel = CancellationToken::default();
    let (sender, receiver) = channel(RUN, limits, cancel.clone());
    drop(receiver);
    for _ in 0..1000 {
        sender.send(token(&"x".repeat(100)));
    }
    assert_eq!(sender.shared.lock().events.len(), 0);
    assert!(!cancel.is_cancelled());
}

fn event() -> impl Strategy<Value = Event> {
    let stream = prop_oneof![Just(StandardStream::Stdout), Just(StandardStream::Stderr)];
    prop_oneof![
        4 => "[a-zä-ü]{0,40}".prop_map(|content| Event::Token { content }),
        4 => (stream, prop::collection::vec(any::<u8>(), 0..40))
            .prop_map(|(stream, bytes)| Event::Output { stream, bytes }),
        1 => "[a-z]{0,10}".prop_map(|message| Event::Warning { message }),
        2 => ("[nm]", "[a-z]{0,10}").prop_map(|(node, content)| {
            let event = Box::new(Event::Token { content });
            Event::Workflow(WorkflowEvent::Inside { node, event })
        }),
    ]
}

/// The events, merged as far as possible: equivalent sequences are equal.
fn normal(events: impl IntoIterator<Item = Event>) -> Vec<Event> {
    let mut merged: Vec<Event> = Vec::new();
    for event in events {
        let event = match merged.last_mut() {
            Some(last) => match super::merge(last, event, usize::MAX) {
                super::Merged::Into(_) => continue,
                super::Merged::Apart(event) => event,
            },
            None => event,
        };
        merged.push(event);
    }
    merged
}

proptest! {
    /// For any limits and any interleaving of reads and writes: texts are concatenated to what was sent, all other
    /// events arrive in order, sequence numbers have no gaps, and the final event is last.
    #[test]
    fn nothing_is_lost_or_reordered(
        events in prop::collection::vec((event(), 0_usize..3), 0..80),
        merged_bytes in 0_usize..100,
        unread_bytes in 200_usize..3000,
    ) {
        let limits = EventLimits {
            merged_bytes,
            unread_bytes,
            most_bytes: 1 << 20,
            patience: Duration::from_mins(10),
        };
        let (sender, mut receiver) = channel(RUN, limits, CancellationToken::default());
        let mut read = Vec::new();
        let sent: Vec<Event> = events.iter().map(|(event, _)| event.clone()).chain([done()]).collect();
        for (event, reads) in events {
            sender.send_now(event);
            for _ in 0..reads {
                if receiver.shared.lock().events.is_empty() {
                    break;
                }
                read.extend(receiver.recv_blocking());
            }
        }
        sender.send_now(done());
        read.extend(all(&mut receiver));
        prop_assert!(read.iter().zip(0..).all(|(frame, number)| frame.sequence == number));
        prop_assert!(matches!(read.last().map(|frame| &frame.event), Some(Event::Done(_))));
        let longest = read.iter().map(|frame| match &frame.event {
            Event::Token { content } => content.len(),
            Event::Output { bytes, .. } => bytes.len(),
            _ => 0,
        });
        prop_assert!(longest.max().unwrap_or(0) <= merged_bytes.max(40 * 4));
        prop_assert_eq!(normal(read.into_iter().map(|frame| frame.event)), normal(sent));
        prop_assert_eq!(receiver.shared.lock().bytes, 0);
    }
}
