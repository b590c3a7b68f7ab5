//! The engines' names, and what one must know to choose among them.

use std::fmt;
use std::str::FromStr;

/// A way to route a fabric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Engine {
    /// Every route is a shortest one, on any connected fabric; nothing is promised about deadlock.
    MinHop,
    /// Every route climbs, then descends, so that no deadlock is possible on any connected fabric.
    ///
    /// Up*/down* routing needs a direction for each cable such that no cycle of cables points one way. Here it comes from a total
    /// order of the switches, and *up* is towards the earlier one. The order grows from one switch, and each later switch is a
    /// neighbour of an earlier one; so every switch can climb to the first, the first can descend to every switch, and a way that
    /// climbs and then descends exists between any two, links between equals and lost cables included. (Where several roots are held
    /// to be equals, as is usual, there is none between two of them, nor where failures leave two leaves without a common root.)
    /// Since no route turns up after it went down, the channel dependency graph is acyclic over all sources and destinations,
    /// switches included, on one virtual lane.
    ///
    /// Switches that are nearer to the hosts on average come first: in a tree these are the cores, then the switches below them, and
    /// the shortest ways between hosts are all allowed, in trees that lost cables nearly all. No list of roots is needed; [`crate::roots`]
    /// tells which switches are the tops.
    ///
    /// A switch that can descend to the destination does so if a route comes down to it. Others take the shorter of the ways up and
    /// down. Among ways of equal length, cables are taken in turn by the destination's number.
    ///
    /// With [`crate::Options::roots`], switches that are fewer hops from a root come first.
    UpDown,
    /// [`Engine::UpDown`] with another order, which needs no roots: switches that are more hops from the nearest one with hosts come first.
    ///
    /// So no switch with hosts is above one without, which matters where hosts hang on several levels.
    DownUp,
    /// [`Engine::UpDown`] for trees, by their levels: while all hosts send to the one a fixed number of places further, no two flows meet on
    /// a cable of a whole tree, and few where cables are lost.
    ///
    /// A *tree* is a fabric without rings of switches, or one whose switches have levels such that
    ///
    /// - cables between switches of one level are not needed: without them the fabric stays whole, or falls into pieces that they join
    ///   without a ring of pieces;
    /// - at least half of the hosts are on switches that have no switch with hosts below.
    ///
    /// Levels are counted up from the leaves, or down from [`crate::Options::roots`] where these are given. Whatever is missing, uneven
    /// or cabled across levels, a tree it stays: all of this is routed as it is, up and then down, and never refused.
    FatTree,
    /// One shortest way from each switch to each other, shared by their hosts, and for each pair of switches one service level, the same there
    /// and back, that says on which virtual lane it is free of deadlock.
    Lash,
    /// Every route is a shortest one, over the cables where it meets the fewest others; nothing is promised about deadlock.
    Sssp,
    /// Nearly the routes of [`Engine::Sssp`], on as many virtual lanes as they need to be free of deadlock: the service level says which.
    ///
    /// A layer is a set of turns from cable to cable that close no circle, and a route fits in one that has all its turns. The few routes that
    /// fit in none are searched for again, along the turns that there are, before another layer is added.
    Dfsssp,
    /// Routes that close no circle on as many virtual lanes as there may be, one included: the service level says which, by destination.
    ///
    /// It always has a result, free of deadlock for all traffic. Each destination whose routes all find room among the others' as shortest ones
    /// gets these; only those for which no lane has room, and only from where there is none, get detours. It takes no more lanes than are
    /// of use: fewer than allowed are enough if all routes are shortest then. Trees are routed as by [`Engine::UpDown`].
    Nue,
    /// Dimension by dimension through a mesh, hypercube or HyperX, which it recognises by its squares; on a torus deadlock is possible.
    Dor,
    /// Dimension by dimension through a torus, on two virtual lanes: service levels say which rings' datelines a route crosses.
    Torus,
    /// A local cable, a global one, a local one through a dragonfly, whose groups it finds by their cables, on one SL and two virtual lanes:
    /// SL2VL tells by the ports whether a packet has been in another group. Lost cables are gone round where that keeps the proof.
    Dragonfly,
    /// The routes of [`crate::Options::tables`], which somebody else made, if they are for this fabric.
    File,
    /// The engine for the shape of the fabric ([`heddle_fabric::classify`]); see [`crate::Chain`].
    Auto,
}

/// What one must know to choose an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Description {
    /// What it asks of the fabric.
    pub needs: &'static str,
    /// What its routes are sure to be.
    pub guarantees: &'static str,
    /// The virtual lanes that it uses.
    pub virtual_lanes: &'static str,
    /// What the computation takes.
    pub cost: &'static str,
}

/// The options that engines heed whose routes climb and then descend.
const CLIMBING: &[&str] = &[
    "roots",
    "ids",
    "compute-nodes",
    "io-nodes",
    "port-order",
    "routing-order",
    "ignore-links",
    "throttled avoid",
    "throttled weigh",
    "seed",
];

impl Engine {
    /// All engines.
    pub const ALL: [Self; 13] = [
        Self::MinHop,
        Self::UpDown,
        Self::DownUp,
        Self::FatTree,
        Self::Dor,
        Self::Torus,
        Self::Lash,
        Self::Sssp,
        Self::Dfsssp,
        Self::Nue,
        Self::Dragonfly,
        Self::File,
        Self::Auto,
    ];

    /// The name by which it is chosen.
    pub const fn name(self) -> &'static str {
        match self {
            Self::MinHop => "min-hop",
            Self::UpDown => "up-down",
            Self::DownUp => "down-up",
            Self::FatTree => "fat-tree",
            Self::Lash => "lash",
            Self::Sssp => "sssp",
            Self::Dfsssp => "dfsssp",
            Self::Nue => "nue",
            Self::Dor => "dor",
            Self::Torus => "torus",
            Self::Dragonfly => "dragonfly",
            Self::File => "file",
            Self::Auto => "auto",
        }
    }

    /// The options of [`crate::Options`] that it heeds beside `max-vls`, by the names of their flags.
    pub const fn options(self) -> &'static [&'static str] {
        match self {
            Self::MinHop | Self::Sssp | Self::Dfsssp => {
                &["hop-weights", "port-order", "routing-order", "ignore-links", "throttled avoid", "throttled weigh", "seed"]
            }
            Self::UpDown | Self::FatTree => CLIMBING,
            // It needs no roots, which come first.
            Self::DownUp => CLIMBING.split_at(1).1,
            Self::Nue => &["ignore-links", "throttled avoid", "throttled weigh", "seed"],
            Self::File => &["lfts"],
            Self::Dor | Self::Torus | Self::Lash | Self::Dragonfly => {
                &["port-order", "ignore-links", "throttled avoid", "throttled weigh", "seed"]
            }
            // What the engines heed that it may take.
            Self::Auto => &[
                "roots",
                "ids",
                "compute-nodes",
                "io-nodes",
                "hop-weights",
                "port-order",
                "routing-order",
                "ignore-links",
                "throttled avoid",
                "throttled weigh",
                "seed",
            ],
        }
    }

    /// What it needs, guarantees and costs.
    pub const fn description(self) -> Description {
        match self {
            Self::MinHop => Description {
                needs: "a fabric of any shape",
                guarantees: "every route is as short as possible; deadlock is possible on shapes with rings, so verify the tables",
                virtual_lanes: "1",
                cost: "O(cables x switches x diameter / 64 + switches x LIDs)",
            },
            Self::UpDown => Description {
                needs: "a fabric of any shape; finds the roots itself, or takes a list",
                guarantees: "no deadlock, switch-to-switch traffic included; shortest routes between the hosts of a tree, \
                             longer ones and crowded cables near the top elsewhere",
                virtual_lanes: "1",
                cost: "O(cables x switches x diameter / 64 + switches x LIDs)",
            },
            Self::DownUp => Description {
                needs: "a fabric of any shape; needs no roots",
                guarantees: "no deadlock, switch-to-switch traffic included; switches without hosts are above those with; \
                             shortest routes between the hosts of a tree that has them on its leaves",
                virtual_lanes: "1",
                cost: "O(cables x switches x diameter / 64 + switches x LIDs)",
            },
            Self::FatTree => Description {
                needs: "a tree, whatever it lost and however uneven it is; takes lists of roots, compute nodes and I/O nodes",
                guarantees: "no deadlock, switch-to-switch traffic included; shortest routes between hosts; evenly spread, without \
                             contention in shifts while the tree is whole",
                virtual_lanes: "1",
                cost: "O(cables x switches x diameter / 64 + switches x LIDs)",
            },
            Self::Lash => Description {
                needs: "a fabric of any shape; switches with as many VLs as it finds to be needed",
                guarantees: "shortest routes, one way and one SL for each pair of switches, the same SL there and back; no deadlock",
                virtual_lanes: "as many as it finds to be needed, up to --max-vls",
                cost: "O(cables x switches + VLs x switches^2 x diameter + switches x LIDs)",
            },
            Self::Sssp => Description {
                needs: "a fabric of any shape",
                guarantees: "shortest routes, evenly spread; deadlock is possible on shapes with rings",
                virtual_lanes: "1",
                cost: "O(cables x LIDs)",
            },
            Self::Dfsssp => Description {
                needs: "a fabric of any shape; switches with as many VLs as it finds to be needed",
                guarantees: "shortest routes, evenly spread; no deadlock",
                virtual_lanes: "as many as it finds to be needed, up to --max-vls",
                cost: "O(cables x LIDs + routes)",
            },
            Self::Nue => Description {
                needs: "a connected fabric of any shape",
                guarantees: "no deadlock on any number of VLs, evenly spread; shortest routes as far as the VLs have room, else detours; \
                             on trees the routes of up-down",
                virtual_lanes: "1 and up to --max-vls, as long as more make routes shorter",
                cost: "O(cables x LIDs + VLs x switches x edges)",
            },
            Self::Dor => Description {
                needs: "a mesh, torus, hypercube or HyperX; losses, too, as far as it can tell the coordinates",
                guarantees: "shortest routes in the order of the dimensions; no deadlock on whole meshes, hypercubes and HyperX; round \
                             losses the proof often fails, but on HyperX",
                virtual_lanes: "1",
                cost: "O(cables x switches + switches x LIDs)",
            },
            Self::Torus => Description {
                needs: "a torus, mesh or hypercube, with up to four dimensions that are rings of five switches or more; losses, too, as \
                        far as it can tell the coordinates",
                guarantees: "shortest routes in the order of the dimensions; no deadlock while nothing is lost; round a lost cable the \
                             proof can fail, round a lost switch often",
                virtual_lanes: "2 where a ring has five switches or more, else 1",
                cost: "O(cables x switches + switches x LIDs)",
            },
            Self::Dragonfly => Description {
                needs: "a dragonfly with groups of three switches or more; losses, too, as far as it can tell the groups (of four \
                        switches, hardly any); SL2VL in the switches",
                guarantees: "three hops at most in a whole dragonfly, evenly spread, and few more round losses; no deadlock",
                virtual_lanes: "2",
                cost: "O(cables x switches + switches x LIDs)",
            },
            Self::File => Description {
                needs: "tables of this fabric in a file (--lfts), with their SLs and SL2VL tables if they need any",
                guarantees: "what the file has, nothing more",
                virtual_lanes: "as the file says; 1 without SLs",
                cost: "O(switches x LIDs)",
            },
            Self::Auto => Description {
                needs: "nothing; it takes the engine for the shape of the fabric, and after it those that route any shape, and says why",
                guarantees: "what the engine guarantees that it takes",
                virtual_lanes: "as that engine, up to --max-vls",
                cost: "that engine's, and O(switches x neighbours^3) for the shape, less for trees",
            },
        }
    }
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// There is no engine of this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no engine \"{0}\"; there are: {names}", names = Engine::ALL.map(Engine::name).join(", "))]
pub struct UnknownEngine(pub String);

impl FromStr for Engine {
    type Err = UnknownEngine;

    fn from_str(name: &str) -> Result<Self, UnknownEngine> {
        Self::ALL.into_iter().find(|engine| engine.name() == name).ok_or_else(|| UnknownEngine(name.to_owned()))
    }
}
