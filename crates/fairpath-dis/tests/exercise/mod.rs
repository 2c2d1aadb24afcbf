mod accuracy;
mod fleet;
mod life;
mod loops;
mod world;
