mod accuracy;
mod life;
mod loops;
mod world;
