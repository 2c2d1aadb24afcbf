//! Warnings about wrong uses, once each.

use std::collections::BTreeMap;

use bevy_ecs::prelude::*;

/// The warnings about wrong uses so far. Each is also logged once, at level `warn` or `error`.
///
/// Look here in a test, or when the game has no logger (`LogPlugin`).
#[derive(Resource, Debug, Default)]
pub struct FairpathWarnings {
    /// The texts by what they are about.
    texts: BTreeMap<(Misuse, u64), String>,
}

/// What a warning is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Misuse {
    /// The app has more than one Fairpath plugin.
    TwoPlugins,
    /// A component or call was registered twice, too late, or under a name that is taken.
    Registration,
    /// An entity has no component that is registered: other peers cannot know what it is.
    NothingReplicated,
    /// [`DeadReckoned`](crate::DeadReckoned) on an entity without a `Transform`.
    NoTransform,
    /// A number of a state is not finite.
    NotFinite,
    /// A setting is out of range. The default is used.
    Setting,
    /// The owner of an object is another peer.
    NotOwner,
    /// The server cannot start, or the client cannot.
    CannotStart,
    /// A client's connection ended for good, or could not be opened.
    Connection,
    /// The session refused something: the text says what.
    Refused,
    /// A call cannot be sent.
    Call,
    /// A peer sent what this end cannot read.
    Unreadable,
    /// The app has no time: `TimePlugin` is missing.
    NoTime,
}

/// Most texts that are kept. More are dropped: a game with 256 different mistakes has enough to
/// read.
const TEXTS_MAX: usize = 256;

impl FairpathWarnings {
    /// Returns the texts, in the order of what they are about.
    pub fn iter(&self) -> impl Iterator<Item = (Misuse, &str)> {
        self.texts.iter().map(|((misuse, _), text)| (*misuse, text.as_str()))
    }

    /// Returns how many warnings are about this.
    pub fn count(&self, about: Misuse) -> usize {
        self.texts.keys().filter(|(misuse, _)| *misuse == about).count()
    }

    /// Logs and keeps a warning, unless there is one about the same thing. `key` tells things
    /// apart: entities, for example.
    pub(crate) fn once(&mut self, misuse: Misuse, key: u64, text: impl FnOnce() -> String) {
        if self.texts.len() >= TEXTS_MAX || self.texts.contains_key(&(misuse, key)) {
            return;
        }
        let text = text();
        match misuse {
            Misuse::TwoPlugins | Misuse::Registration | Misuse::CannotStart => log::error!("{text}"),
            _ => log::warn!("{text}"),
        }
        self.texts.insert((misuse, key), text);
    }

    /// The same as [`once`](Self::once), for things that are told apart by their texts.
    pub(crate) fn once_each(&mut self, misuse: Misuse, text: String) {
        let key = text.bytes().fold(0xCBF2_9CE4_8422_2325, |hash: u64, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3)
        });
        self.once(misuse, key, || text);
    }
}

/// Warns once, where the world is at hand.
pub(crate) fn warn(world: &mut World, misuse: Misuse, text: String) {
    world.get_resource_or_init::<FairpathWarnings>().once_each(misuse, text);
}
