//! What is replicated: components and calls, registered at both ends.

use std::any::{TypeId, type_name};
use std::collections::BTreeMap;

use bevy_app::{App, Last};
use bevy_ecs::prelude::*;
use bevy_ecs::world::EntityWorldMut;
use fairpath::session::limits::GROUPS_MAX;
use fairpath::session::{Class, Delivery, Party, Protocol, Value};
use fairpath::{Vec2, Vec3};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::call::{Call, Called, collect_calls};
use crate::plugin::{Fairpath, FairpathSystems};
use crate::send::{CollectSystems, collect_changes};
use crate::warnings::{Misuse, warn};

/// Registers components and calls. Do it alike at both ends, before the app runs: in a plugin of
/// the game that server and client share, for example. The order does not matter.
pub trait ReplicateAppExt {
    /// Replicates a component that the owner of an entity sets. Every peer that sees the entity has
    /// it, with the newest value.
    ///
    /// An entity is replicated if it has [`DeadReckoned`](crate::DeadReckoned) or
    /// [`Motionless`](crate::Motionless). The component is encoded with `postcard`: at most 900
    /// bytes. It is sent when Bevy's change detection says that it has changed. An app registers at
    /// most 32 components.
    ///
    /// ```
    /// # use bevy_app::prelude::*; use bevy_ecs::prelude::*;
    /// use bevy_fairpath::prelude::*;
    /// use serde::{Deserialize, Serialize};
    ///
    /// #[derive(Component, Serialize, Deserialize)]
    /// struct Ship { name: String }
    /// #[derive(Component, Serialize, Deserialize)]
    /// struct Health(u8);
    ///
    /// fn shared(app: &mut App) {
    ///     app.replicate::<Ship>().replicate_from_server::<Health>();
    /// }
    /// # shared(&mut App::new());
    /// ```
    fn replicate<C: Component + Serialize + DeserializeOwned>(&mut self) -> &mut Self;

    /// Replicates a component that only the server sets, also on entities of clients: health,
    /// score.
    fn replicate_from_server<C: Component + Serialize + DeserializeOwned>(&mut self) -> &mut Self;

    /// Replicates a component like [`replicate`](Self::replicate), under a name of its own. The
    /// default is the name of the type; two types of the same name need this.
    fn replicate_as<C: Component + Serialize + DeserializeOwned>(
        &mut self,
        name: &str,
        set_by: SetBy,
    ) -> &mut Self;

    /// Adds a kind of call between peers, with its delivery. Write a [`Call<T>`] to send one, read
    /// [`Called<T>`] to receive it: both are messages of Bevy.
    fn add_call<T: Value + Send + Sync>(&mut self, delivery: Delivery) -> &mut Self;
}

/// Which peer sets a replicated component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetBy {
    /// The owner of the entity.
    Owner,
    /// The server, also for entities of clients.
    Server,
}

/// The registered components and calls.
#[derive(Resource, Default)]
pub(crate) struct Registry {
    /// In the order of their names once closed: the index is the state group.
    pub(crate) components: Vec<ComponentEntry>,
    pub(crate) calls: Vec<CallEntry>,
    groups: BTreeMap<TypeId, u8>,
    is_closed: bool,
}

#[derive(Clone)]
pub(crate) struct ComponentEntry {
    name: String,
    type_id: TypeId,
    pub(crate) set_by: SetBy,
    add: fn(Class, &str) -> Class,
    pub(crate) read: fn(EntityRef) -> Option<Vec<u8>>,
    /// Inserts or removes the component. Returns false if the bytes are not a value of it.
    pub(crate) write: fn(&mut EntityWorldMut, &[u8]) -> bool,
}

#[derive(Clone)]
pub(crate) struct CallEntry {
    name: String,
    type_id: TypeId,
    delivery: Delivery,
    two: CallFns<Vec2>,
    three: CallFns<Vec3>,
    pub(crate) deliver: fn(&mut World, &[u8], Caller) -> bool,
}

/// How a call is added to a protocol of a number of dimensions.
#[allow(unnameable_types, reason = "only the sealed trait of `Dimensions` mentions it")]
pub struct CallFns<V: fairpath::Planar> {
    add: fn(Protocol<V>, &str, Delivery) -> Protocol<V>,
    method: fn(&Protocol<V>) -> Option<(u32, Delivery)>,
}

impl<V: fairpath::Planar> Clone for CallFns<V> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<V: fairpath::Planar> Copy for CallFns<V> {}

/// The origin of a call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Caller {
    pub(crate) from: Party,
    pub(crate) client: Option<Entity>,
    pub(crate) object: Option<Entity>,
}

/// Numbers of calls on the wire, by their types.
#[derive(Resource, Default)]
pub(crate) struct Methods {
    pub(crate) by_type: BTreeMap<TypeId, (u32, Delivery)>,
    pub(crate) by_number: BTreeMap<u32, CallEntry>,
}

impl ReplicateAppExt for App {
    fn replicate<C: Component + Serialize + DeserializeOwned>(&mut self) -> &mut Self {
        self.replicate_as::<C>(short_name::<C>(), SetBy::Owner)
    }

    fn replicate_from_server<C: Component + Serialize + DeserializeOwned>(&mut self) -> &mut Self {
        self.replicate_as::<C>(short_name::<C>(), SetBy::Server)
    }

    fn replicate_as<C: Component + Serialize + DeserializeOwned>(
        &mut self,
        name: &str,
        set_by: SetBy,
    ) -> &mut Self {
        let entry = ComponentEntry {
            name: name.to_owned(),
            type_id: TypeId::of::<C>(),
            set_by,
            add: match set_by {
                SetBy::Owner => |class, name| class.state::<Option<C>>(name),
                SetBy::Server => |class, name| class.server_state::<Option<C>>(name),
            },
            read: |entity| postcard::to_allocvec(&Some(entity.get::<C>()?)).ok(),
            write: write::<C>,
        };
        let mut registry = self.world_mut().get_resource_or_init::<Registry>();
        match registry.add_component(entry) {
            Ok(()) => {
                let systems = collect_changes::<C>
                    .in_set(CollectSystems)
                    .in_set(FairpathSystems::Send)
                    .run_if(resource_exists::<Fairpath>);
                self.add_systems(Last, systems);
            }
            Err(problem) => {
                let text = format!("cannot replicate {}: {problem}", type_name::<C>());
                warn(self.world_mut(), Misuse::Registration, text);
            }
        }
        self
    }

    fn add_call<T: Value + Send + Sync>(&mut self, delivery: Delivery) -> &mut Self {
        let entry = CallEntry {
            name: short_name::<T>().to_owned(),
            type_id: TypeId::of::<T>(),
            delivery,
            two: CallFns {
                add: |game, name, delivery| game.call::<T>(name, delivery),
                method: |game| game.method::<T>(),
            },
            three: CallFns {
                add: |game, name, delivery| game.call::<T>(name, delivery),
                method: |game| game.method::<T>(),
            },
            deliver: |world, bytes, Caller { from, client, object }| {
                let Some(value) = decode::<T>(bytes) else { return false };
                world.write_message(Called { from, client, object, value });
                true
            },
        };
        let mut registry = self.world_mut().get_resource_or_init::<Registry>();
        match registry.add_call(entry) {
            Ok(()) => {
                let systems = collect_calls::<T>
                    .in_set(CollectSystems)
                    .in_set(FairpathSystems::Send)
                    .run_if(resource_exists::<Fairpath>);
                self.add_message::<Call<T>>().add_message::<Called<T>>().add_systems(Last, systems);
            }
            Err(problem) => {
                let text = format!("cannot add the call {}: {problem}", type_name::<T>());
                warn(self.world_mut(), Misuse::Registration, text);
            }
        }
        self
    }
}

impl Registry {
    fn add_component(&mut self, entry: ComponentEntry) -> Result<(), String> {
        if self.is_closed {
            return Err("the session has started; register components before the app runs".into());
        }
        if self.components.iter().any(|other| other.type_id == entry.type_id) {
            return Err("it is registered already".into());
        }
        if self.components.iter().any(|other| other.name == entry.name) {
            return Err(format!("the name {} is taken; choose another with replicate_as", entry.name));
        }
        if self.components.len() >= GROUPS_MAX {
            return Err(format!("an app replicates at most {GROUPS_MAX} components; join some into one"));
        }
        self.components.push(entry);
        Ok(())
    }

    fn add_call(&mut self, entry: CallEntry) -> Result<(), String> {
        if self.is_closed {
            return Err("the session has started; add calls before the app runs".into());
        }
        if self.calls.iter().any(|other| other.type_id == entry.type_id || other.name == entry.name) {
            return Err(format!("a call of the name {} is registered already", entry.name));
        }
        self.calls.push(entry);
        Ok(())
    }

    /// Fixes the numbers: both ends sort by names, so the order of registration does not matter.
    pub(crate) fn close(&mut self) {
        if !self.is_closed {
            self.is_closed = true;
            self.components.sort_by(|one, other| one.name.cmp(&other.name));
            self.calls.sort_by(|one, other| one.name.cmp(&other.name));
            self.groups = (0..).zip(&self.components).map(|(group, entry)| (entry.type_id, group)).collect();
        }
    }

    /// Returns the state group of a component, once the registry is closed.
    pub(crate) fn group(&self, of: TypeId) -> Option<(u8, SetBy)> {
        let group = *self.groups.get(&of)?;
        Some((group, self.components[usize::from(group)].set_by))
    }

    /// Adds the states of all components to a class.
    pub(crate) fn with_states(&self, class: Class) -> Class {
        self.components.iter().fold(class, |class, entry| (entry.add)(class, &entry.name))
    }

    /// Adds the calls to a protocol.
    pub(crate) fn with_calls<V: crate::space::Dimensions>(&self, game: Protocol<V>) -> Protocol<V> {
        self.calls.iter().fold(game, |game, entry| {
            (V::call_fns(&entry.two, &entry.three).add)(game, &entry.name, entry.delivery)
        })
    }

    /// Returns the numbers that the protocol has given to the calls.
    pub(crate) fn methods<V: crate::space::Dimensions>(&self, game: &Protocol<V>) -> Methods {
        let mut methods = Methods::default();
        for entry in &self.calls {
            if let Some((number, delivery)) = (V::call_fns(&entry.two, &entry.three).method)(game) {
                methods.by_type.insert(entry.type_id, (number, delivery));
                methods.by_number.insert(number, entry.clone());
            }
        }
        methods
    }
}

fn write<C: Component + DeserializeOwned>(entity: &mut EntityWorldMut, bytes: &[u8]) -> bool {
    match decode::<Option<C>>(bytes) {
        Some(Some(value)) => entity.insert(value),
        Some(None) => entity.remove::<C>(),
        None => return false,
    };
    true
}

/// Returns the value of exactly these bytes.
pub(crate) fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    let (value, rest) = postcard::take_from_bytes(bytes).ok()?;
    rest.is_empty().then_some(value)
}

/// Returns the name of a type without the path of its module: both ends may have it elsewhere.
fn short_name<T>() -> &'static str {
    let whole = type_name::<T>();
    let end = whole.find('<').unwrap_or(whole.len());
    let start = whole[..end].rfind("::").map_or(0, |at| at + 2);
    &whole[start..]
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Health;
    struct Of<T>(std::marker::PhantomData<T>);

    #[test]
    fn names_have_no_module() {
        assert_eq!(short_name::<Health>(), "Health");
        assert!(short_name::<Of<Health>>().starts_with("Of<"));
        assert_eq!(short_name::<u8>(), "u8");
    }
}
