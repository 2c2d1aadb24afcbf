//! Starts the real programs: `bzfs`, `bzflag` under Xvfb, and `fairpath`.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Where Debian installs games, which root's path does not have.
const GAMES: &str = "/usr/games";

/// Returns the path of a program; `None` if it is not installed.
pub fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain([PathBuf::from(GAMES)]);
    folders.map(|folder| folder.join(program)).find(|candidate| candidate.is_file())
}

/// A program that runs until it is dropped.
#[derive(Debug)]
pub struct Running(Child);

impl Running {
    /// Starts a program, without input and output.
    pub fn start(command: &mut Command) -> io::Result<Self> {
        let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        quiet.spawn().map(Self)
    }

    /// Returns whether the program has ended by itself.
    pub fn has_ended(&mut self) -> bool {
        !matches!(self.0.try_wait(), Ok(None))
    }

    /// Returns the id of the process.
    pub fn id(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Returns a port of the loopback interface that is free now, for TCP and for UDP.
pub fn free_address() -> io::Result<SocketAddr> {
    loop {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        if UdpSocket::bind(address).is_ok() {
            return Ok(address);
        }
    }
}

/// Waits until a TCP connection to this address is accepted, and returns it.
pub fn await_listening(address: SocketAddr, patience: Duration) -> io::Result<TcpStream> {
    let end = Instant::now() + patience;
    loop {
        match TcpStream::connect_timeout(&address, Duration::from_secs(1)) {
            Ok(stream) => return Ok(stream),
            Err(error) if Instant::now() > end => return Err(error),
            Err(_) => std::thread::sleep(Duration::from_millis(50)),
        }
    }
}

/// Starts `bzfs` on a free port of the loopback interface. It is not announced anywhere.
pub fn bzfs(options: &[&str]) -> io::Result<(Running, SocketAddr)> {
    let program = find("bzfs").ok_or_else(|| missing("bzfs", "bzflag-server"))?;
    let address = free_address()?;
    let mut command = Command::new(program);
    command.args(["-i", "127.0.0.1", "-p", &address.port().to_string(), "-a", "0", "0"]).args(options);
    let running = Running::start(&mut command)?;
    await_bzfs(address, Duration::from_secs(20))?;
    Ok((running, address))
}

/// Waits until `bzfs` serves at this address, and has forgotten who asked. While it remembers a
/// connection that said nothing, it takes the first link request from the same host for that one's,
/// and the player that asked gets no datagrams.
fn await_bzfs(address: SocketAddr, patience: Duration) -> io::Result<()> {
    let mut stream = await_listening(address, patience)?;
    stream.set_read_timeout(Some(patience))?;
    stream.write_all(b"BZFLAG\r\n\r\n")?;
    stream.shutdown(Shutdown::Write)?;
    stream.read_to_end(&mut Vec::new()).map(drop)
}

fn missing(program: &str, package: &str) -> io::Error {
    let text = format!("{program} is not installed; on Debian run `apt-get install {package}`");
    io::Error::new(io::ErrorKind::NotFound, text)
}

/// A virtual screen, on which clients draw.
#[derive(Debug)]
pub struct Screen {
    _server: Running,
    display: String,
}

impl Screen {
    /// Starts Xvfb with a free display number.
    pub fn start() -> io::Result<Self> {
        let program = find("Xvfb").ok_or_else(|| missing("Xvfb", "xvfb"))?;
        let is_free = |number: &u32| !Path::new(&format!("/tmp/.X11-unix/X{number}")).exists();
        let number = (90..200).find(is_free).ok_or_else(|| io::Error::other("no display number is free"))?;
        let display = format!(":{number}");
        let mut command = Command::new(program);
        command.args([display.as_str(), "-screen", "0", "320x240x24", "-nolisten", "tcp"]);
        let server = Running::start(&mut command)?;
        let end = Instant::now() + Duration::from_secs(20);
        while is_free(&number) && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(Self { _server: server, display })
    }

    fn xdotool(&self, arguments: &[&str]) -> io::Result<()> {
        let program = find("xdotool").ok_or_else(|| missing("xdotool", "xdotool"))?;
        let mut command = Command::new(program);
        command.args(arguments).env("DISPLAY", &self.display);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status()?;
        Ok(())
    }

    /// Presses a key in every window: each client has one.
    pub fn press_everywhere(&self, key: &str) -> io::Result<()> {
        self.xdotool(&["search", "--name", ".", "windowfocus", "--sync", "%@", "key", "--delay", "100", key])
    }
}

/// A real client with a screen of its own. F8 starts playing, F9 the autopilot.
#[derive(Debug)]
pub struct BzflagClient {
    running: Running,
    screen: Screen,
    home: tempfile::TempDir,
}

const LOG: &str = "output.txt";

/// Little to draw, and keys that need no keyboard layout. A client without a file of its own would
/// have no keys at all.
const SETTINGS: &str = "set fpsLimit 20\nset lighting 0\nset texture 0\nset quality 0\nset shadows 0\n\
    set zbuffer 1\nset saveSettings 0\nbind \"F8\" down \"restart\"\nbind \"F9\" down \"autopilot\"\n";

impl BzflagClient {
    /// Starts a client that connects to `server`.
    pub fn start(server: SocketAddr, callsign: &str, team: &str) -> io::Result<Self> {
        let program = find("bzflag").ok_or_else(|| missing("bzflag", "bzflag-client"))?;
        let home = tempfile::tempdir()?;
        fs::create_dir_all(home.path().join("2.4"))?;
        fs::write(home.path().join("2.4/config.cfg"), SETTINGS)?;
        let screen = Screen::start()?;
        let mut command = Command::new("nice");
        command
            .args(["-n", "5"])
            .arg(program)
            .arg("-configdir")
            .arg(format!("{}/", home.path().display()))
            .args(["-m", "-e", "-nolist", "-nomotd", "-window", "160x120", "-team", team])
            .arg(format!("{callsign}@{server}"))
            .env("HOME", home.path())
            .env("DISPLAY", &screen.display)
            .env("LIBGL_ALWAYS_SOFTWARE", "1")
            .env("LP_NUM_THREADS", "1");
        let log = fs::File::create(home.path().join(LOG))?;
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        Ok(Self { running: Running(command.spawn()?), screen, home })
    }

    /// Begins to play, by autopilot.
    pub fn play(&self) -> io::Result<()> {
        self.screen.press_everywhere("F8")?;
        std::thread::sleep(Duration::from_millis(500));
        self.screen.press_everywhere("F9")
    }

    /// Brings a destroyed tank back. Does nothing to a living one.
    pub fn revive(&self) -> io::Result<()> {
        self.screen.press_everywhere("F8")
    }

    /// Returns the last lines that the program printed, if it has ended by itself.
    pub fn last_words(&mut self) -> Option<String> {
        if !self.running.has_ended() {
            return None;
        }
        let log = fs::read_to_string(self.home.path().join(LOG)).unwrap_or_default();
        let lines: Vec<&str> = log.lines().rev().take(3).collect();
        Some(lines.into_iter().rev().collect::<Vec<_>>().join("; "))
    }
}
