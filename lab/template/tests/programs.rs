//! Goal: server and client find each other without arguments, and Ctrl-C ends them cleanly. Method:
//! run the programs.
#![cfg(unix)]

use std::io::{BufRead, BufReader, Lines};
use std::process::{Child, ChildStdout, Command, Stdio};

struct Program {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Program {
    fn start(path: &str, arguments: &[&str], state: &std::path::Path) -> Self {
        let mut command = Command::new(path);
        command.args(arguments).env("FAIRPATH_IDENTITY_DIR", state).stdout(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        Self { child, lines }
    }

    /// Waits for a line that begins like this, and returns the rest of it.
    fn wait_for(&mut self, beginning: &str) -> String {
        let line = self.lines.find_map(|line| Some(line.ok()?.strip_prefix(beginning)?.to_owned()));
        line.unwrap_or_else(|| panic!("the program ended before it printed {beginning:?}"))
    }

    fn press_ctrl_c(&mut self) {
        let kill = Command::new("kill").args(["-INT", &self.child.id().to_string()]).status();
        assert!(kill.expect("kill is there").success());
        assert!(self.child.wait().expect("it ends").success(), "exit code 0");
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // Already ended, unless the test failed.
        let _ = self.child.kill();
    }
}

#[test]
fn server_and_client_play_until_ctrl_c() {
    let state = tempfile::tempdir().expect("a folder");
    let mut server = Program::start(env!("CARGO_BIN_EXE_server"), &["127.0.0.1:0"], state.path());
    let address = server.wait_for("address ");
    let mut client = Program::start(env!("CARGO_BIN_EXE_client"), &[&address], state.path());
    server.wait_for("client 0 joined");
    client.wait_for("player");
    client.press_ctrl_c();
    server.wait_for("client 0 at");
    server.press_ctrl_c();

    let refused = Command::new(env!("CARGO_BIN_EXE_server")).arg("nowhere").output().expect("it starts");
    assert_eq!(refused.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&refused.stderr).starts_with("error: cannot listen"), "{refused:?}");
}
