use fairpath::session::{ClientId, Delivery, Server};
use fairpath::vector::Vec2;

use super::FAIRNESS;
use super::message::{BadMessage, Reader, Writer};

/// How wrong one client's view has been by the server's ledger, and how wrong the others' have
/// been: the errors of all dead-reckoned entities added up, averaged over time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FairnessReport {
    pub own: f64,
    pub mean: f64,
    /// The standard deviation of the clients' errors.
    pub spread: f64,
    pub players: u32,
}

impl FairnessReport {
    /// Sends every connected client its report, unreliably: the next one replaces a lost one.
    pub fn send_to_all(session: &mut Server<Vec2>) {
        let of = |client: ClientId| Some((client, session.statistics(client)?.error_per_sec));
        let errors: Vec<(ClientId, f64)> =
            session.clients().filter(|client| session.is_connected(*client)).filter_map(of).collect();
        let count = errors.len().max(1) as f64;
        let mean = errors.iter().map(|(_, error)| error).sum::<f64>() / count;
        let squares: f64 = errors.iter().map(|(_, error)| (error - mean) * (error - mean)).sum();
        for (client, own) in &errors {
            let fairness =
                Self { own: *own, mean, spread: (squares / count).sqrt(), players: errors.len() as u32 };
            let _ = session.call_client(*client, FAIRNESS, &fairness.to_bytes(), Delivery::Unreliable);
        }
    }

    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Writer::default();
        out.f64(self.own).f64(self.mean).f64(self.spread).u32(self.players);
        out.into_bytes()
    }

    pub fn from_bytes(bytes: &[u8]) -> Result<Self, BadMessage> {
        let mut from = Reader::new(bytes);
        let fairness =
            Self { own: from.f64()?, mean: from.f64()?, spread: from.f64()?, players: from.u32()? };
        from.end()?;
        Ok(fairness)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_travels_and_refuses_what_it_is_not() {
        let fairness = FairnessReport { own: 1.5, mean: 2.0, spread: 0.5, players: 3 };
        let bytes = fairness.to_bytes();
        assert_eq!(FairnessReport::from_bytes(&bytes), Ok(fairness));
        assert_eq!(FairnessReport::from_bytes(&bytes[1..]), Err(BadMessage::Truncated));
        let infinite = FairnessReport { own: f64::INFINITY, ..fairness }.to_bytes();
        assert_eq!(FairnessReport::from_bytes(&infinite), Err(BadMessage::NotFinite));
    }
}
