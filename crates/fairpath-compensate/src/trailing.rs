use std::collections::BTreeMap;

use super::Simulate;
use super::input_queue::AHEAD_MAX;

/// Trailing state synchronisation (Cronin and others): copies of the world, each further behind.
///
/// The leading copy plays every command at once. The others play the same ticks later, when late
/// commands have had time to arrive. When a trailing copy plays a command that the copy ahead of it
/// had missed, it replaces the copy ahead, which is played forward again. No history of states is
/// kept, only the copies. A command that even the last copy has missed is dropped, on every machine
/// that received it as late.
///
/// The input of the game is the commands of all players in one tick, by player.
///
/// ```
/// use std::collections::BTreeMap;
///
/// use fairpath_compensate::{CommandOutcome, Simulate, TrailingStates};
///
/// /// Logs the letters that players ring, in order.
/// struct Bells;
/// impl Simulate for Bells {
///     type State = String;
///     type Input = BTreeMap<u32, char>;
///     fn step(&self, rung: &mut String, commands: &BTreeMap<u32, char>, ticks: u32) {
///         (0..ticks).for_each(|_| rung.extend(commands.values()));
///     }
/// }
///
/// let mut bells = TrailingStates::<Bells, char>::new(String::new(), &[0, 10]);
/// bells.command(0, 1, 'a');
/// (0..5).for_each(|_| bells.advance(&Bells));
/// bells.command(5, 1, 'c');
/// assert_eq!(bells.command(2, 2, 'b'), CommandOutcome::Missed { copies: 1 });
/// bells.advance(&Bells);
/// assert_eq!(bells.leading(), "ac", "wrong for now");
/// (0..10).for_each(|_| bells.advance(&Bells));
/// assert_eq!(bells.leading(), "abc", "repaired by the copy ten ticks behind");
/// ```
#[derive(Clone, Debug)]
pub struct TrailingStates<G: Simulate<Input = BTreeMap<u32, C>>, C: Clone> {
    now: u64,
    copies: Vec<Trail<G::State>>,
    commands: BTreeMap<u64, BTreeMap<u32, C>>,
    statistics: TrailingStatistics,
}

/// The maximum number of copies. 8: each costs a step per tick, and Cronin's game had two or three.
pub const TRAILS_MAX: usize = 8;

/// The maximum number of players that command in one tick: 256. Further ones are refused.
pub const PLAYERS_MAX: usize = 256;

#[derive(Clone, Debug)]
struct Trail<S> {
    delay: u64,
    tick: u64,
    state: S,
    /// The first tick in which it lacks a command that is known by now.
    wrong_since: Option<u64>,
}

/// The result of [`TrailingStates::command`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandOutcome {
    /// No copy has played its tick.
    InTime,
    /// Some copies have played its tick. The first copy that has not repairs them.
    Missed {
        /// How many have.
        copies: usize,
    },
    /// The player already has a command in this tick. Dropped.
    Repeated,
    /// Every copy has played its tick. Dropped.
    TooLate,
    /// It is more than [`AHEAD_MAX`] ticks ahead. Dropped.
    TooFarAhead,
    /// [`PLAYERS_MAX`] others command in this tick. Dropped.
    Full,
}

/// The cost of repairs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TrailingStatistics {
    /// How often a copy was replaced.
    pub repairs: u64,
    /// How many ticks were played again.
    pub replayed_ticks: u64,
    /// How many commands were dropped as too late.
    pub too_late: u64,
}

impl<G: Simulate<Input = BTreeMap<u32, C>>, C: Clone> TrailingStates<G, C> {
    /// Creates copies of `start` that are `delays` ticks behind, sorted; at least one, at most
    /// [`TRAILS_MAX`].
    ///
    /// The first is the delay of commands on purpose (local lag; 0 for none), the last is how late
    /// a command may arrive. Close together, a late command is repaired soon and often; far apart,
    /// late and seldom. Example: 0, 5 and 50 at 100 ticks a second repair a jitter of 50 ms before
    /// it is seen and survive a gap of half a second.
    pub fn new(start: G::State, delays: &[u32]) -> Self {
        let mut delays: Vec<u64> = delays.iter().map(|delay| u64::from(*delay)).take(TRAILS_MAX).collect();
        delays.sort_unstable();
        delays.dedup();
        if delays.is_empty() {
            delays.push(0);
        }
        let trail = |delay| Trail { delay, tick: 0, state: start.clone(), wrong_since: None };
        Self {
            now: 0,
            copies: delays.into_iter().map(trail).collect(),
            commands: BTreeMap::new(),
            statistics: TrailingStatistics::default(),
        }
    }

    /// Takes the command of `player` for tick number `tick`.
    pub fn command(&mut self, tick: u64, player: u32, command: C) -> CommandOutcome {
        if tick >= self.now.saturating_add(AHEAD_MAX) {
            return CommandOutcome::TooFarAhead;
        }
        let missed = self.copies.iter().filter(|copy| copy.tick > tick).count();
        if missed == self.copies.len() {
            self.statistics.too_late += 1;
            return CommandOutcome::TooLate;
        }
        let of_tick = self.commands.entry(tick).or_default();
        if of_tick.contains_key(&player) {
            return CommandOutcome::Repeated;
        }
        if of_tick.len() == PLAYERS_MAX {
            return CommandOutcome::Full;
        }
        of_tick.insert(player, command);
        for copy in &mut self.copies[..missed] {
            copy.wrong_since = Some(copy.wrong_since.map_or(tick, |since| since.min(tick)));
        }
        if missed == 0 { CommandOutcome::InTime } else { CommandOutcome::Missed { copies: missed } }
    }

    /// Advances by one tick: every copy plays its next tick, and wrong copies are repaired.
    pub fn advance(&mut self, game: &G) {
        self.now += 1;
        let Self { now, copies, commands, .. } = self;
        for copy in copies.iter_mut() {
            play_until(game, copy, commands, now.saturating_sub(copy.delay));
        }
        for ahead in (0..self.copies.len() - 1).rev() {
            self.repair(game, ahead);
        }
        let played = self.copies.last().map_or(0, |copy| copy.tick);
        self.commands = self.commands.split_off(&played);
    }

    /// Returns the world to show: the newest, which may be repaired later.
    pub fn leading(&self) -> &G::State {
        &self.copies[0].state
    }

    /// Returns the world that no command changes any more, the longest delay ago.
    pub fn settled(&self) -> &G::State {
        &self.copies[self.copies.len() - 1].state
    }

    /// Returns how many ticks have passed.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// Returns the cost of repairs so far.
    pub fn statistics(&self) -> TrailingStatistics {
        self.statistics
    }

    /// Replaces a wrong copy by the one behind it, once that one has played the missing command.
    fn repair(&mut self, game: &G, ahead: usize) {
        let (leading, trailing) = self.copies.split_at_mut(ahead + 1);
        let (Some(copy), Some(behind)) = (leading.last_mut(), trailing.first()) else { return };
        if copy.wrong_since.is_none_or(|since| behind.tick <= since) {
            return;
        }
        let until = copy.tick;
        copy.state = behind.state.clone();
        copy.tick = behind.tick;
        copy.wrong_since = behind.wrong_since;
        play_until(game, copy, &self.commands, until);
        self.statistics.repairs += 1;
        self.statistics.replayed_ticks += until - behind.tick;
    }
}

fn play_until<G, C>(
    game: &G,
    copy: &mut Trail<G::State>,
    commands: &BTreeMap<u64, BTreeMap<u32, C>>,
    until: u64,
) where
    G: Simulate<Input = BTreeMap<u32, C>>,
    C: Clone,
{
    let none = BTreeMap::new();
    while copy.tick < until {
        game.step(&mut copy.state, commands.get(&copy.tick).unwrap_or(&none), 1);
        copy.tick += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairpath::random::Random;

    /// Logs every command in order, with its tick, so that any difference shows.
    struct Log;
    impl Simulate for Log {
        type State = (u64, Vec<(u64, u32, u8)>);
        type Input = BTreeMap<u32, u8>;

        fn step(&self, (tick, log): &mut Self::State, commands: &BTreeMap<u32, u8>, ticks: u32) {
            for _ in 0..ticks {
                log.extend(commands.iter().map(|(player, command)| (*tick, *player, *command)));
                *tick += 1;
            }
        }
    }

    #[test]
    fn whatever_comes_within_the_longest_delay_is_played_as_if_in_time() {
        let mut random = Random::from_seed(5);
        for _ in 0..50 {
            let mut trails = TrailingStates::<Log, u8>::new((0, Vec::new()), &[0, 3, 11, 40]);
            let mut late: Vec<(u64, u64, u32, u8)> = (0..200)
                .map(|_| {
                    let tick = random.below(150);
                    (tick + random.below(41), tick, random.below(4) as u32, random.bits() as u8)
                })
                .collect();
            late.sort_unstable();
            late.dedup_by_key(|(_, tick, player, _)| (*tick, *player));
            let mut accepted = std::collections::BTreeMap::new();
            for now in 0..300u64 {
                for (_, tick, player, command) in late.iter().filter(|(at, ..)| *at == now) {
                    let verdict = trails.command(*tick, *player, *command);
                    if verdict == CommandOutcome::Repeated {
                        continue;
                    }
                    assert!(
                        matches!(verdict, CommandOutcome::InTime | CommandOutcome::Missed { .. }),
                        "{verdict:?}"
                    );
                    accepted.insert((*tick, *player), *command);
                }
                trails.advance(&Log);
            }
            let expected: Vec<_> =
                accepted.iter().map(|((tick, player), command)| (*tick, *player, *command)).collect();
            assert_eq!(trails.leading().1, expected);
            assert_eq!(trails.settled().1, expected);
            assert!(trails.statistics().repairs > 0);
            assert!(trails.commands.len() <= 41);
        }
    }

    #[test]
    fn what_comes_later_is_given_up_and_what_is_forged_is_refused() {
        let mut trails = TrailingStates::<Log, u8>::new((0, Vec::new()), &[0, 5]);
        (0..20).for_each(|_| trails.advance(&Log));
        assert_eq!(trails.command(14, 1, 1), CommandOutcome::TooLate);
        assert_eq!(trails.command(15, 1, 1), CommandOutcome::Missed { copies: 1 });
        assert_eq!(trails.command(15, 1, 2), CommandOutcome::Repeated);
        assert_eq!(trails.command(u64::MAX, 1, 1), CommandOutcome::TooFarAhead);
        assert_eq!(trails.statistics().too_late, 1);
        let full = (0..1_000).filter(|player| trails.command(30, *player, 1) == CommandOutcome::Full).count();
        assert_eq!(full, 1_000 - PLAYERS_MAX);
    }
}
