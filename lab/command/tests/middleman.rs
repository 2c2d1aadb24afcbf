//! Goal: `fairpath middleman` does what its help says, as a stranger would use it. Method: the real
//! program between two real sockets, told things on stdin; nothing is said about how fast it is.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, UdpSocket};
use std::process::{Child, ChildStderr, ChildStdout, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// Long enough for any stall; only a failing test waits for it.
const PATIENCE: Duration = Duration::from_secs(60);

/// The program at work, and a server and a client on its two sides.
struct Live {
    program: Child,
    stdout: BufReader<ChildStdout>,
    stderr: BufReader<ChildStderr>,
    address: SocketAddr,
    server: UdpSocket,
    client: UdpSocket,
}

impl Live {
    fn start(arguments: &[&str]) -> Self {
        let (server, client) = (socket(), socket());
        let to = server.local_addr().unwrap().to_string();
        let mut program = command(&["--listen", "127.0.0.1:0", "--to", &to])
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let stdout = BufReader::new(program.stdout.take().unwrap());
        let mut stderr = BufReader::new(program.stderr.take().unwrap());
        let greeting = line_of(&mut stderr);
        let address = greeting.strip_prefix("listening on ").and_then(|rest| rest.split(',').next());
        let address = address.unwrap_or_else(|| panic!("{greeting}")).parse().unwrap();
        Self { program, stdout, stderr, address, server, client }
    }

    fn say(&mut self, line: &str) {
        self.program.stdin.as_mut().unwrap().write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    /// Says something, and gives the answer.
    fn answer_to(&mut self, line: &str) -> String {
        self.say(line);
        line_of(&mut self.stderr)
    }

    /// One packet to the server; where it came from.
    fn pass_up(&self) -> SocketAddr {
        self.client.send_to(b"up", self.address).unwrap();
        let (packet, from) = receive(&self.server);
        assert_eq!(packet, b"up");
        from
    }

    /// Asks for statistics until they say this; for programs with `--json`.
    fn wait_for(&mut self, is_so: impl Fn(&Value) -> bool) {
        let started = Instant::now();
        loop {
            self.say("statistics");
            let mut line = String::new();
            self.stdout.read_line(&mut line).unwrap();
            let json: Value = serde_json::from_str(&line).unwrap();
            if is_so(&json) {
                return;
            }
            assert!(started.elapsed() < PATIENCE, "waited in vain: {json}");
        }
    }

    /// Waits for the end; its exit code, and what was left on stdout.
    fn end(mut self) -> (Option<i32>, String) {
        let mut stdout = String::new();
        self.stdout.read_to_string(&mut stdout).unwrap();
        (self.program.wait().unwrap().code(), stdout)
    }
}

impl Drop for Live {
    /// A test that fails leaves nothing running.
    fn drop(&mut self) {
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
}

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fairpath"));
    command.arg("middleman").args(arguments);
    command
}

fn socket() -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket
}

fn receive(socket: &UdpSocket) -> (Vec<u8>, SocketAddr) {
    let mut buffer = [0; 2000];
    let (length, from) = socket.recv_from(&mut buffer).expect("a packet within the test's patience");
    (buffer[..length].to_vec(), from)
}

fn line_of(stderr: &mut BufReader<ChildStderr>) -> String {
    let mut line = String::new();
    stderr.read_line(&mut line).unwrap();
    line.trim_end().to_owned()
}

#[test]
fn what_is_said_on_stdin_is_done_and_nonsense_is_one_line_of_complaint() {
    let mut live = Live::start(&["--delay", "1"]);
    assert_eq!(live.answer_to("fly to the moon"), "error: unknown word \"fly\"; `help` lists the commands");
    assert_eq!(live.answer_to("delay much"), "error: delay much: give MS");
    let old = live.pass_up();
    assert_eq!(live.answer_to("rebind"), "done, for 1 client now");
    let new = live.pass_up();
    assert_ne!(new, old, "the server sees another port");

    assert_eq!(live.answer_to("client 1 down loss 1"), "done, for 1 client now");
    live.server.send_to(b"lost", new).unwrap();
    assert_eq!(live.answer_to("client 1 up partition 1min"), "done, for 1 client now");
    assert_eq!(live.answer_to("heal"), "done, for 1 client now");
    live.pass_up();
    live.say("quit");
    let (code, stdout) = live.end();
    assert_eq!(code, Some(0));
    assert!(stdout.contains("rebinds: 1") && stdout.contains("measured"), "{stdout}");
}

#[cfg(unix)]
#[test]
fn an_interrupt_or_a_request_to_end_prints_the_statistics() {
    for signal in ["-INT", "-TERM"] {
        let live = Live::start(&["--json", "--up", "delay 5", "--client", "1 down duplicate 1"]);
        let from = live.pass_up();
        live.server.send_to(b"down", from).unwrap();
        assert_eq!((receive(&live.client).0, receive(&live.client).0), (b"down".to_vec(), b"down".to_vec()));
        let pid = live.program.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
        let (address, client) = (live.address, live.client.local_addr().unwrap());
        let (code, stdout) = live.end();
        assert_eq!(code, Some(0), "{signal}");
        let json: Value = serde_json::from_str(&stdout).unwrap();
        assert_eq!(json["listen"], address.to_string());
        let row = &json["clients"][0];
        assert_eq!((&row["client"], &row["address"]), (&1.into(), &client.to_string().into()));
        assert_eq!((&row["up"]["packets"], &row["up"]["bytes"]), (&1.into(), &2.into()));
        assert_eq!((&row["down"]["packets"], &row["down"]["duplicated"]), (&1.into(), &1.into()));
        assert_eq!(row["up"]["asked_ms"]["max"], 5.0);
        assert!(row["up"]["measured_ms"]["median"].as_f64() >= Some(5.0), "{row}");
    }
}

#[test]
fn it_ends_by_itself_and_needs_no_stdin() {
    let run = |arguments: &[&str]| -> Output {
        let fixed = ["--listen", "127.0.0.1:0", "--to", "127.0.0.1:9", "--for", "50ms"];
        command(&fixed).args(arguments).stdin(Stdio::null()).output().unwrap()
    };
    let output = run(&[]);
    assert_eq!(output.status.code(), Some(0));
    assert!(String::from_utf8(output.stdout).unwrap().ends_with("no client came\n"));
    let json: Value = serde_json::from_slice(&run(&["--json"]).stdout).unwrap();
    assert_eq!(json["clients"], Value::Array(Vec::new()));
}

#[test]
fn a_script_holds_from_the_first_packet() {
    let room = tempfile::tempdir().unwrap();
    let script = room.path().join("script");
    std::fs::write(&script, "# all is lost\n\nup loss 1   # at once\n").unwrap();
    let mut live = Live::start(&["--script", script.to_str().unwrap(), "--json"]);
    live.client.send_to(b"lost", live.address).unwrap();
    live.wait_for(|json| json["clients"][0]["up"]["lost_by"]["random"] == 1);
    assert_eq!(live.answer_to("up loss 0"), "done, for 1 client now");
    live.pass_up();
    live.say("quit");
    assert_eq!(live.end().0, Some(0));
}

#[test]
fn a_script_goes_on_by_the_clock() {
    let room = tempfile::tempdir().unwrap();
    let script = room.path().join("script");
    std::fs::write(&script, "at 20ms quit\nat 10ms delay 3\n").unwrap();
    let mut live = Live::start(&["--script", script.to_str().unwrap()]);
    assert_eq!(line_of(&mut live.stderr), "done, for 0 clients now");
    let (code, stdout) = live.end();
    assert_eq!(code, Some(0));
    assert!(stdout.ends_with("no client came\n"), "{stdout}");
}

#[test]
fn recorded_round_trips_are_read_from_a_file() {
    let room = tempfile::tempdir().unwrap();
    let trace = room.path().join("trace.csv");
    std::fs::write(&trace, "t,rtt_ms\n0,8\n").unwrap();
    let mut live = Live::start(&["--rtt-trace", trace.to_str().unwrap(), "--json"]);
    live.pass_up();
    live.say("quit");
    let json: Value = serde_json::from_str(&live.end().1).unwrap();
    assert_eq!(json["clients"][0]["up"]["asked_ms"]["max"], 4.0);
}

#[test]
fn what_is_wrong_with_the_command_line_is_one_line_and_code_2() {
    let room = tempfile::tempdir().unwrap();
    let script = room.path().join("script");
    std::fs::write(&script, "heal\nat noon heal\n").unwrap();
    let script = script.to_str().unwrap();
    let cases: [(&[&str], &str); 11] = [
        (&["--to", "nonsense"], "--to nonsense: give HOST:PORT such as 127.0.0.1:7777"),
        (
            &["--to", "127.0.0.1:7000"],
            "cannot forward to 127.0.0.1:7000: it is the middleman's own address; give the server's",
        ),
        (&["--to", "127.0.0.1:9", "--delay", "-5"], "--delay -5: give MS"),
        (&["--to", "127.0.0.1:9", "--jitter", "5,flat"], "--jitter 5,flat: give MS[,normal]"),
        (&["--to", "127.0.0.1:9", "--loss", "1.5"], "--loss 1.5: give SHARE[,BURST] or P,R,GOOD,BAD"),
        (&["--to", "127.0.0.1:9", "--up", "heal"], "--up heal: give settings such as 'delay 50 loss 0.1'"),
        (&["--to", "127.0.0.1:9", "--down", "delay"], "--down delay: delay: give MS"),
        (
            &["--to", "127.0.0.1:9", "--client", "x loss 1"],
            "--client 'x loss 1': client x: give a number from 1, HOST or HOST:PORT",
        ),
        (&["--to", "127.0.0.1:9", "--for", "ever"], "--for ever: give a time such as 3s, 500ms or 2min"),
        (
            &["--to", "127.0.0.1:9", "--rtt-trace", "no.csv"],
            "--rtt-trace no.csv: no such file; check the path",
        ),
        (&["--to", "127.0.0.1:9", "--script", script], "line 2: noon: give a time such as 3s, 500ms or 2min"),
    ];
    for (arguments, complaint) in cases {
        let output = command(arguments).current_dir(room.path()).stdin(Stdio::null()).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{arguments:?}: {stderr}");
        let line = stderr.strip_prefix("error: ").and_then(|rest| rest.strip_suffix('\n')).unwrap_or(&stderr);
        assert!(line.ends_with(complaint) && !line.contains('\n'), "{arguments:?}: {line}");
    }
    let output = command(&["--to", "127.0.0.1:9", "--link", "tin-can"]).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(2) && stderr.contains("possible values: perfect, lan,"), "{stderr}");
    let taken = socket();
    let address = taken.local_addr().unwrap().to_string();
    let output = command(&["--to", "127.0.0.1:9", "--listen", &address]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.starts_with(&format!("error: cannot listen on {address}: ")), "{stderr}");
}
