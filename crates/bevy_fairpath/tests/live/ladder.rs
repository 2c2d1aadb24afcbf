//! Goal: examples 3 to 5 work over a bad network: a drone with a camera, a server that decides, and
//! a crowd.
//! Method: their own apps over real sockets, 150 ms away, with 5 % loss.

#[path = "../../examples/crowd.rs"]
#[allow(dead_code, reason = "the test has a stage of its own")]
mod crowd;
#[path = "../../examples/drone.rs"]
#[allow(dead_code, reason = "the test has a stage of its own")]
mod drone;
#[path = "../../examples/server_decides.rs"]
#[allow(dead_code, reason = "the test has a stage of its own")]
mod server_decides;

use bevy_app::{PreUpdate, Update};
use bevy_ecs::prelude::*;
use bevy_fairpath::prelude::*;
use bevy_math::Vec3;
use bevy_transform::components::Transform;
use server_decides::{Arena, Hits, Runner};

use crate::common::{Errors, Stage, Truth, Witness, bad, entities, get, server_plugin};

#[test]
fn a_drone_in_space_is_drawn_where_it_is_and_carries_its_camera() {
    let mut stage = Stage::new(bad(), |app| {
        app.add_plugins((drone::shared, server_plugin(drone::game()), drone::server));
        Truth::in_ticks(app);
    });
    let drone = entities::<With<drone::Drone>>(&mut stage.server)[0];
    stage.server.world_mut().entity_mut(drone).insert(Witness);
    stage.join(|app| _ = app.add_plugins((drone::shared, FairpathClientPlugin::new(drone::game()))));
    stage.until_connected();
    stage.until("drone and camera appear", |stage| {
        let client = stage.client(0);
        !entities::<With<drone::Drone>>(client).is_empty()
            && !entities::<(With<drone::Camera>, With<ChildOf>)>(client).is_empty()
    });
    stage.run_for(1.0);
    let seen = entities::<With<drone::Drone>>(stage.client(0))[0];
    let camera = entities::<With<drone::Camera>>(stage.client(0))[0];
    let mut errors = Errors::default();
    let mut hangs_off = 0.0_f32;
    stage.until("enough frames", |stage| {
        errors.note(&stage.clients[0], get::<Transform>(&stage.clients[0], seen).unwrap().translation);
        errors.compare(&stage.server);
        let below = get::<Transform>(&stage.clients[0], camera).unwrap().translation;
        hangs_off = hangs_off.max(below.distance(Vec3::new(0.0, -0.5, 0.0)));
        errors.count() >= 400
    });
    let (median, p90) = (errors.quantile(0.5), errors.quantile(0.9));
    println!(
        "error of a drone at 10 to 17 u/s: median {median:.3}, p90 {p90:.3}; camera off by {hangs_off:.3}"
    );
    assert!(median < 1.0, "median {median}");
    assert!(hangs_off < 0.2, "the camera hangs {hangs_off} beside its place");
}

#[test]
fn a_server_decides_and_clients_predict() {
    let mut stage = Stage::new(bad(), |app| {
        app.add_plugins((Arena, server_plugin(server_decides::game()).only_server_spawns()));
        app.init_resource::<Hits>();
        app.add_systems(Update, (server_decides::seat, server_decides::clear, server_decides::judge));
    });
    for index in 0..2 {
        stage.join(|app| {
            app.add_plugins((Arena, FairpathClientPlugin::new(server_decides::game())));
            app.add_systems(PreUpdate, server_decides::run);
            if index == 0 {
                app.add_systems(Update, server_decides::shoot);
            }
        });
    }
    stage.until_connected();
    stage.until("shots hit", |stage| stage.server.world().resource::<Hits>().0.len() >= 3);
    for (then, by_now) in &stage.server.world().resource::<Hits>().0 {
        println!("a hit: {then:.2} from where it was seen, {by_now:.2} from where it is");
    }
    // All stand still: the prediction becomes the server's state.
    for client in &mut stage.clients {
        client.add_systems(PreUpdate, stand.after(server_decides::run));
    }
    stage.until("predictions agree with the server", |stage| {
        let world = stage.server.world_mut();
        let there: Vec<Vec3> = world.query::<&Runner>().iter(world).map(|runner| runner.at).collect();
        stage.clients.iter_mut().all(|client| {
            let own = entities::<With<Predicted>>(client);
            let drawn = own.first().and_then(|own| get::<Transform>(client, *own));
            drawn.is_some_and(|drawn| there.iter().any(|there| there.distance(drawn.translation) < 0.01))
        })
    });
}

fn stand(mut controls: ResMut<Controls<Runner>>) {
    controls.0 = server_decides::Run::default();
}

#[test]
fn a_client_sees_its_neighbours_in_a_crowd() {
    let mut stage = Stage::new(bad(), |app| {
        let plugin = server_plugin(crowd::game()).interest(Interest::Nearest(crowd::NEAREST));
        app.add_plugins((crowd::shared, plugin, crowd::server));
        Truth::in_ticks(app);
    });
    let person = |stage: &mut Stage, number: u32| {
        let world = stage.server.world_mut();
        let mut people = world.query::<(Entity, &crowd::Person)>();
        people.iter(world).find(|(_, person)| person.0 == number).map(|(entity, _)| entity).unwrap()
    };
    // Beside the place where the client stands.
    let witness = person(&mut stage, 15 * 32 + 15);
    stage.server.world_mut().entity_mut(witness).insert(Witness);
    stage.join(|app| {
        app.add_plugins((crowd::shared, FairpathClientPlugin::new(crowd::game()), crowd::client));
    });
    stage.until_connected();
    stage.until("the neighbours appear", |stage| {
        entities::<With<Remote>>(stage.client(0)).len() >= crowd::NEAREST - 8
    });
    assert_eq!(entities::<With<crowd::Person>>(&mut stage.server).len(), crowd::CROWD as usize + 1);
    let id = get::<ReplicatedId>(&stage.server, witness).unwrap();
    let mut errors = Errors::default();
    stage.until("enough frames", |stage| {
        let client = &stage.clients[0];
        if let Some(seen) = client.world().resource::<Fairpath>().entity(id.0) {
            errors.note(client, get::<Transform>(client, seen).unwrap().translation);
        }
        errors.compare(&stage.server);
        errors.count() >= 200
    });
    let seen = entities::<With<Remote>>(stage.client(0)).len();
    let median = errors.quantile(0.5);
    println!("error of one of {seen} walkers seen: median {median:.3}, p90 {:.3}", errors.quantile(0.9));
    assert!(seen <= crowd::NEAREST + 8, "{seen} are seen");
    assert!(median < 0.5, "median {median}");
}
