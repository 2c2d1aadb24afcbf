//! Goal: an object with a trigger of its own is sent by that, and not by the trigger of its class.
//! Method: a server whose class is coarse; one object of two gets a fine threshold. What clients
//! predict of both is compared with the truth.

use fairpath::prelude::*;
use fairpath::random::Random;
use fairpath::schedule::Broadcast;
use fairpath::session::{ClassId, ObjectError, Server, ServerConfig};
use fairpath::{State, Trigger};

#[test]
fn a_threshold_of_its_own_replaces_that_of_the_class() {
    let class = (ClassId(0), Class::new(Trigger::Distance { threshold: 50.0 }));
    let config = ServerConfig::<Vec2>::new([class], 1);
    let mut server = Server::new(config, Box::new(Broadcast), Random::from_seed(1));
    let at = SharedInstant::from_millis;
    let rest = |x: f64| State::moving(Vec2::new(x, 0.0), Vec2::ZERO);
    let [coarse, fine] = [(); 2].map(|()| server.create(ClassId(0), b"", at(0)).expect("there is room"));
    for object in [coarse, fine] {
        server.frame(at(0)).observe(object, rest(0.0), at(0)).expect("it is the server's");
    }
    server.frame(at(10)).set_trigger(fine, Trigger::Distance { threshold: 0.1 }).expect("it is the server's");
    for object in [coarse, fine] {
        server.frame(at(20)).observe(object, rest(1.0), at(20)).expect("it is the server's");
    }
    let x = |object| server.place(object, at(30)).expect("it was observed").position.x;
    assert_eq!((x(coarse), x(fine)), (0.0, 1.0));
    let nowhere = EntityId(99);
    let refused = server.frame(at(40)).set_trigger(nowhere, Trigger::within(1.0));
    assert_eq!(refused, Err(ObjectError::Unknown(nowhere)));
}
