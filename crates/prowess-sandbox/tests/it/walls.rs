use prowess_sandbox::{Capture, Ended, Error, How, Observer, Spec, Stream, run};

#[derive(Default)]
struct Kept {
    output: Capture,
    error: Capture,
}

impl Observer for Kept {
    fn output(&mut self, stream: Stream, bytes: &[u8]) {
        match stream {
            Stream::Output => self.output.push(bytes),
            Stream::Error => self.error.push(bytes),
        }
    }
}

fn ran(spec: Spec) -> (Result<Ended, Error>, String, String) {
    let mut kept = Kept::default();
    let ended = run(spec, &mut kept);
    (ended, kept.output.finish().text, kept.error.finish().text)
}

#[test]
fn a_program_runs() {
    let mut spec = Spec::new("/bin/echo");
    spec.arguments = vec!["hello".into(), "a b".into()];
    let (ended, output, error) = ran(spec);
    assert_eq!(ended.expect("it starts").how, How::Exited(0), "{error}");
    assert_eq!(output, "hello a b\n");
}
