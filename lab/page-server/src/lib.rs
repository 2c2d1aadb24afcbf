//! Serves the files of the page to browsers over HTTP, from memory.
//!
//! It answers GET and HEAD for a fixed list of files and knows nothing else: no folders, no ranges,
//! no uploads, one request per connection. A local page needs no more, and a general web server
//! would be more code than the files it serves.

use std::borrow::Cow;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// One file of the page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageFile {
    /// Path from the page's root, without a leading slash: `scenes/told.js`.
    pub path: Cow<'static, str>,
    /// The content.
    pub bytes: Cow<'static, [u8]>,
}

/// Serves the page until it is dropped.
#[derive(Debug)]
pub struct PageServer {
    address: SocketAddr,
    is_over: Arc<AtomicBool>,
    listens: Option<JoinHandle<()>>,
}

/// Time limit for a browser to send its whole request, and for each piece of the answer. Ten
/// seconds: a page of a megabyte over a bad link.
const PATIENCE: Duration = Duration::from_secs(10);
/// Connections at once. Browsers open six each; connections beyond this are closed at once.
const CONNECTIONS_MAX: usize = 64;
/// Longest request. Requests for our files are shorter.
const REQUEST_BYTES_MAX: usize = 8 << 10;

impl PageServer {
    /// Serves these files at an address. With port 0 the system chooses one, which
    /// [`address`](Self::address) returns. `/` shows `index.html`.
    pub fn bind(address: SocketAddr, files: Vec<PageFile>) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        let address = listener.local_addr()?;
        let is_over = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&is_over);
        let listens = std::thread::Builder::new()
            .name("page".into())
            .spawn(move || accept_all(&listener, &Arc::new(files), &told))?;
        Ok(Self { address, is_over, listens: Some(listens) })
    }

    /// The address that the server listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for PageServer {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        // Wakes the accepting thread. If that fails, the thread ends with the process.
        if TcpStream::connect_timeout(&self.address, PATIENCE).is_ok()
            && let Some(listens) = self.listens.take()
        {
            let _ = listens.join();
        }
    }
}

fn accept_all(listener: &TcpListener, files: &Arc<Vec<PageFile>>, is_over: &AtomicBool) {
    let open = Arc::new(AtomicUsize::new(0));
    for stream in listener.incoming() {
        if is_over.load(Ordering::Relaxed) {
            return;
        }
        let Ok(stream) = stream else { continue };
        if open.load(Ordering::Relaxed) >= CONNECTIONS_MAX {
            continue;
        }
        open.fetch_add(1, Ordering::Relaxed);
        let (files, counted) = (Arc::clone(files), Arc::clone(&open));
        let spawned = std::thread::Builder::new().name("page".into()).spawn(move || {
            // A browser that hangs up early needs no error.
            let _ = answer(stream, &files);
            counted.fetch_sub(1, Ordering::Relaxed);
        });
        if spawned.is_err() {
            open.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

fn answer(mut stream: TcpStream, files: &[PageFile]) -> io::Result<()> {
    stream.set_write_timeout(Some(PATIENCE))?;
    let request = read_request(&mut stream)?;
    let (head, body) = respond(&request, files);
    stream.write_all(head.as_bytes())?;
    stream.write_all(body)?;
    stream.flush()
}

/// Reads the request up to the empty line, within [`PATIENCE`] in all: a browser that sends a byte
/// now and then must not keep its place.
fn read_request(stream: &mut TcpStream) -> io::Result<Vec<u8>> {
    let until = Instant::now() + PATIENCE;
    let mut request = Vec::new();
    let mut part = [0; 1024];
    while !request.windows(4).any(|four| four == b"\r\n\r\n") && request.len() < REQUEST_BYTES_MAX {
        let left = until.saturating_duration_since(Instant::now());
        // Zero is no limit to the system.
        stream.set_read_timeout(Some(left.max(Duration::from_millis(1))))?;
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        match stream.read(&mut part)? {
            0 => break,
            count => request.extend_from_slice(&part[..count]),
        }
    }
    Ok(request)
}

/// Returns the head and the body of the answer to a request, whatever its bytes are.
pub fn respond<'a>(request: &[u8], files: &'a [PageFile]) -> (String, &'a [u8]) {
    let line = request.split(|byte| *byte == b'\r').next().unwrap_or_default();
    let line = std::str::from_utf8(line).unwrap_or_default();
    let mut words = line.split(' ');
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    if !matches!(method, "GET" | "HEAD") {
        return (head("405 Method Not Allowed", "text/plain", 0), b"");
    }
    let path = target.split(['?', '#']).next().unwrap_or_default().trim_start_matches('/');
    let path = if path.is_empty() { "index.html" } else { path };
    match files.iter().find(|file| file.path == path) {
        None => (head("404 Not Found", "text/plain", 0), b""),
        Some(file) => {
            let body: &[u8] = if method == "HEAD" { b"" } else { &file.bytes };
            (head("200 OK", kind_of(path), file.bytes.len()), body)
        }
    }
}

/// The opener and embedder policies give the page a precise clock; the others keep foreign scripts
/// out.
fn head(status: &str, kind: &str, bytes: usize) -> String {
    format!(
        "HTTP/1.1 {status}\r\n\
        Content-Type: {kind}\r\n\
        Content-Length: {bytes}\r\n\
        Cache-Control: no-cache\r\n\
        X-Content-Type-Options: nosniff\r\n\
        Cross-Origin-Opener-Policy: same-origin\r\n\
        Cross-Origin-Embedder-Policy: require-corp\r\n\
        Content-Security-Policy: default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; \
        style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self' https:\r\n\
        Connection: close\r\n\r\n"
    )
}

fn kind_of(path: &str) -> &'static str {
    match path.rsplit('.').next() {
        Some("html") => "text/html; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("wasm") => "application/wasm",
        Some("json") => "application/json",
        Some("svg") => "image/svg+xml",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page() -> Vec<PageFile> {
        let file = |path: &'static str, text: &'static str| PageFile {
            path: path.into(),
            bytes: text.as_bytes().into(),
        };
        vec![file("index.html", "<p>hello"), file("scenes/told.js", "export {}")]
    }

    fn asked(request: &[u8]) -> (String, Vec<u8>) {
        let files = page();
        let (head, body) = respond(request, &files);
        (head, body.to_vec())
    }

    #[test]
    fn it_serves_its_files_and_nothing_else() {
        let (head, body) = asked(b"GET / HTTP/1.1\r\nHost: here\r\n\r\n");
        assert!(head.starts_with("HTTP/1.1 200 OK\r\nContent-Type: text/html"), "{head}");
        assert_eq!(body, b"<p>hello");
        let (head, body) = asked(b"GET /scenes/told.js?x=1 HTTP/1.1\r\n\r\n");
        assert!(head.contains("text/javascript") && body == b"export {}", "{head}");
        for path in ["/../Cargo.toml", "/scenes/", "/scenes/../index.html", "//etc/passwd"] {
            let (head, body) = asked(format!("GET {path} HTTP/1.1\r\n\r\n").as_bytes());
            assert!(head.starts_with("HTTP/1.1 404") && body.is_empty(), "{path}: {head}");
        }
    }

    #[test]
    fn other_methods_and_nonsense_are_refused() {
        for request in [&b"POST / HTTP/1.1\r\n\r\n"[..], b"", b"\xff\xfe\x00", b"GET"] {
            let (head, body) = asked(request);
            assert!(!head.starts_with("HTTP/1.1 200") || request == b"GET", "{head}");
            assert!(body.is_empty() || request == b"GET");
        }
        let (head, body) = asked(b"HEAD / HTTP/1.1\r\n\r\n");
        assert!(head.contains("Content-Length: 8") && body.is_empty(), "{head}");
    }

    #[test]
    fn it_answers_over_a_socket_and_ends() {
        let server = PageServer::bind("127.0.0.1:0".parse().expect("an address"), page()).expect("it binds");
        let mut stream = TcpStream::connect(server.address()).expect("it listens");
        stream.write_all(b"GET / HTTP/1.1\r\n\r\n").expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers and hangs up");
        assert!(answer.ends_with("\r\n\r\n<p>hello"), "{answer}");
        let address = server.address();
        drop(server);
        assert!(TcpStream::connect(address).is_err(), "the port is closed");
    }
}
