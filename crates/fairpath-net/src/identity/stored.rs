//! Identities in the user's folder for program state.

use std::fs::{DirBuilder, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::pki_types::{ServerName, UnixTime};
use rustls::{CertificateError, RootCertStore};

use super::{Identity, IdentityError, file_error, new_secret_file, provider, unguessable};

/// The folder of all stored identities.
pub(super) fn folder() -> Result<PathBuf, IdentityError> {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(folder) = variable("FAIRPATH_IDENTITY_DIR") {
        return Ok(folder);
    }
    let folder = if cfg!(windows) {
        variable("LOCALAPPDATA")
    } else if cfg!(target_os = "macos") {
        variable("HOME").map(|home| home.join("Library/Application Support"))
    } else {
        variable("XDG_STATE_HOME").or_else(|| Some(variable("HOME")?.join(".local/state")))
    };
    folder.map(|folder| folder.join("fairpath")).ok_or(IdentityError::NoFolder)
}

pub(super) fn load_or_make(folder: &Path, name: &str, now: SystemTime) -> Result<Identity, IdentityError> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    if !(1..=64).contains(&name.len()) || !name.bytes().all(is_plain) {
        return Err(IdentityError::Name(name.into()));
    }
    let path = folder.join(name).join("identity.pem");
    if path.exists() {
        let identity = load(&path)?;
        // Browsers refuse an expired certificate. Native clients compare the fingerprint only.
        if !cfg!(feature = "web") || !has_expired(&identity, now) {
            return Ok(identity);
        }
    }
    store(&Identity::made(&[], now)?, &path).map_err(|error| advised(&path, &error))?;
    // Another process may have stored one at the same moment: both use the one that is there.
    load(&path)
}

fn load(path: &Path) -> Result<Identity, IdentityError> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = path.metadata().map_err(file_error(path))?.permissions().mode();
        if mode & 0o077 != 0 {
            return Err(IdentityError::Exposed(path.into()));
        }
    }
    let mut identity = Identity::load(path, path).map_err(|error| match error {
        IdentityError::File { why, .. } => advised(path, &why),
        error => error,
    })?;
    // The file holds the key too, which `save_certificates` must not write.
    const BEGIN: &str = "-----BEGIN CERTIFICATE-----";
    let blocks = identity.chain_pem.split_inclusive("-----END CERTIFICATE-----");
    let certificate = |block: &str| Some(format!("{}\n", &block[block.find(BEGIN)?..]));
    identity.chain_pem = blocks.filter_map(certificate).collect();
    Ok(identity)
}

fn advised(path: &Path, why: &impl ToString) -> IdentityError {
    let fix = "delete the file to make a new certificate, or set FAIRPATH_IDENTITY_DIR to another folder";
    IdentityError::File { path: path.into(), why: format!("{}; {fix}", why.to_string()) }
}

/// Whether clients that check the age of a certificate refuse this one.
fn has_expired(identity: &Identity, now: SystemTime) -> bool {
    let mut roots = RootCertStore::empty();
    let added = roots.add(identity.chain[0].clone());
    let verifier = WebPkiServerVerifier::builder_with_provider(roots.into(), provider()).build();
    let (Ok(()), Ok(verifier)) = (added, verifier) else { return true };
    let now = UnixTime::since_unix_epoch(now.duration_since(UNIX_EPOCH).unwrap_or_default());
    let name = ServerName::try_from("localhost").expect("a name");
    let verified = verifier.verify_server_cert(&identity.chain[0], &[], &name, &[], now);
    matches!(
        verified,
        Err(rustls::Error::InvalidCertificate(
            CertificateError::Expired | CertificateError::ExpiredContext { .. }
        ))
    )
}

/// Writes certificate and key to one file. Other processes see the old file or the new one.
fn store(identity: &Identity, path: &Path) -> io::Result<()> {
    let folder = path.parent().unwrap_or_else(|| Path::new("."));
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(folder)?;
    let unfinished = folder.join(format!("identity.{:016x}.tmp", u64::from_le_bytes(unguessable())));
    let written = write(&unfinished, identity).and_then(|()| std::fs::rename(&unfinished, path));
    if written.is_err() {
        let _ = std::fs::remove_file(&unfinished);
    }
    written
}

fn write(path: &Path, identity: &Identity) -> io::Result<()> {
    let mut file: File = new_secret_file(path)?;
    file.write_all(identity.chain_pem.as_bytes())?;
    file.write_all(identity.key_pem.as_bytes())?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// A folder that is removed at the end.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new() -> Self {
            let unique = u64::from_le_bytes(unguessable());
            Self(std::env::temp_dir().join(format!("fairpath-identity-{unique:016x}")))
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_stored_identity_is_the_same_until_it_expires() {
        let scratch = Scratch::new();
        let day = Duration::from_secs(24 * 3600);
        let now = SystemTime::now();
        let get = |now| load_or_make(&scratch.0, "game_1", now).unwrap().fingerprint();
        let first = get(now);
        assert_eq!(get(now + day * 12), first);
        // Only browsers refuse an expired certificate.
        let second = get(now + day * 13);
        assert_eq!(second != first, cfg!(feature = "web"));
        assert_eq!(get(now + day * 20), second);
        let other = load_or_make(&scratch.0, "game-2", now).unwrap().fingerprint();
        assert_ne!(other, first);
        let entries = std::fs::read_dir(scratch.0.join("game_1")).unwrap();
        assert_eq!(entries.count(), 1, "no unfinished file is left");
    }

    #[test]
    fn certificates_of_a_stored_identity_are_saved_without_the_key() {
        let scratch = Scratch::new();
        let identity = Identity::stored_in(&scratch.0, "game").unwrap();
        let path = scratch.0.join("certificate.pem");
        identity.save_certificates(&path).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!((text.matches("BEGIN CERTIFICATE").count(), text.contains("PRIVATE")), (1, false));
        let (chain, key) = (scratch.0.join("chain.pem"), scratch.0.join("key.pem"));
        identity.save(&chain, &key).unwrap();
        assert_eq!(Identity::load(&chain, &key).unwrap().fingerprint(), identity.fingerprint());
    }

    #[test]
    fn names_that_leave_the_folder_and_damaged_files_are_errors() {
        let scratch = Scratch::new();
        let get = |name: &str| Identity::stored_in(&scratch.0, name);
        for name in ["", "..", "a/b", "a\\b", "é", &"a".repeat(65)] {
            assert!(matches!(get(name), Err(IdentityError::Name(it)) if it == name));
        }
        get("game").unwrap();
        let path = scratch.0.join("game").join("identity.pem");
        let whole = std::fs::read_to_string(&path).unwrap();
        for damaged in ["", &whole[..whole.len() / 4], &whole[..whole.find("-----BEGIN PRIVATE").unwrap()]] {
            std::fs::write(&path, damaged).unwrap();
            let error = get("game").unwrap_err().to_string();
            assert!(error.starts_with(&format!("cannot use {}: ", path.display())), "{error}");
        }
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            std::fs::write(&path, whole).unwrap();
            assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
            std::fs::set_permissions(&path, PermissionsExt::from_mode(0o640)).unwrap();
            assert!(matches!(get("game"), Err(IdentityError::Exposed(it)) if it == path));
        }
    }
}
