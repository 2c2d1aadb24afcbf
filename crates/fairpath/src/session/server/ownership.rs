//! Claims and releases: which peer owns an object next.

use super::attach::in_world;
use super::{Server, ServerEvent};
use crate::number::EntityId;
use crate::session::interceptor::ClaimRequest;
use crate::session::scope::ScopeObject;
use crate::session::{ClientId, Party, Refusal};
use crate::time::SharedInstant;
use crate::vector::Planar;

impl<V: Planar> Server<V> {
    /// Grants or refuses a client's claim. Of two claims in one term the first to arrive wins; the
    /// other client is refused.
    pub(super) fn claim_for(&mut self, client: ClientId, object: EntityId, term: u64, now: SharedInstant) {
        if self.owner(object) == Some(Party::Client(client)) {
            return;
        }
        let allowed = self.may_claim(client, object, term).and_then(|()| self.ask_claim(client, object, now));
        match allowed {
            Ok(()) => self.pass_on(object, Party::Client(client), now),
            Err(refusal) => self.refuse(client, object, refusal, now),
        }
    }

    pub(super) fn release_for(&mut self, client: ClientId, object: EntityId, term: u64, now: SharedInstant) {
        let known = self.objects.get(&object);
        let is_theirs = known.is_some_and(|known| known.owner == Party::Client(client) && known.term == term);
        if is_theirs {
            self.pass_on(object, Party::Server, now);
        }
    }

    /// Changes the owner of an object and reports it to the game, which did not decide it.
    pub(super) fn pass_on(&mut self, object: EntityId, to: Party, now: SharedInstant) {
        self.change_owner(object, to, now);
        self.events.push_back(ServerEvent::OwnershipChanged { object, owner: to });
    }

    /// Checks the rules of the library: the client sees the object, its class can be claimed, its
    /// owner has not changed since the client last heard of it, and the client may own one more.
    fn may_claim(&self, client: ClientId, object: EntityId, term: u64) -> Result<(), Refusal> {
        let known = self.objects.get(&object).filter(|_| self.sees(client, object));
        let known = known.ok_or(Refusal::UnknownObject)?;
        if !self.class_of(object).is_some_and(|class| class.is_claimable) {
            return Err(Refusal::NotClaimable);
        }
        if known.term != term {
            return Err(Refusal::ClaimLost);
        }
        self.may_own(client, known.class)
    }

    /// Asks the game's interceptors about a claim that the library's rules permit.
    fn ask_claim(&mut self, client: ClientId, object: EntityId, now: SharedInstant) -> Result<(), Refusal> {
        let Self { interceptors, objects, members, .. } = self;
        if interceptors.is_empty() {
            return Ok(());
        }
        let sight = |object: EntityId| {
            let known = objects.get(&object)?;
            let state = in_world(objects, object, now);
            let (class, owner, creation) = (known.class, known.owner, known.creation.as_slice());
            Some(ScopeObject { object, class, owner, creation, state })
        };
        let claimed = sight(object).ok_or(Refusal::UnknownObject)?;
        let own = members.get(&client).map(|member| &member.owned);
        let own: Vec<_> = own.into_iter().flatten().filter_map(|object| sight(*object)).collect();
        let request = ClaimRequest { client, object: claimed, own: &own, now };
        interceptors.iter_mut().try_for_each(|interceptor| interceptor.check_claim(&request))
    }
}
