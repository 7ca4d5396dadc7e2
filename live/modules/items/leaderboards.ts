import type { Player, PollStore } from "../../../db/contract/poll-store.js";
import type { UserStore } from "../../../db/contract/store.js";
import type { Clock } from "../../../db/runtime.js";
import type { Commands } from "../../../schemas/live/index.js";
import type { World } from "../../../schemas/worlds.js";
import type { EntryHandlers } from "../../module.js";
import type { Sendable } from "../../rules/encoding.js";
import { publicUser } from "../../rules/shapes.js";
import { SharedReads } from "../../rules/shared-reads.js";

/** Number of players on a leaderboard. */
const MAX_PLAYERS = 20;

/** Maximum number of cached leaderboards, and their size, in characters of JSON. */
const MAX_BOARDS = 256;
const MAX_SIZE = 16 * 1024 * 1024;

type Leaderboard = Commands["poll.leaderboard"]["result"];

/** Everyone who has answered quizzes in a room. */
interface Board {
  readonly best: readonly Player[];
  /** Substitutes for players without a display name, by user. */
  readonly guests: ReadonlyMap<string, string>;
  readonly places: ReadonlyMap<string, NonNullable<Leaderboard["me"]>>;
}

/** Ports of {@link Leaderboards}. */
export interface LeaderboardPorts {
  readonly clock: Clock;
  readonly store: { readonly polls: PollStore; readonly users: UserStore };
  /** Whether this process has received all entries that were committed to a world's log at least a second ago. */
  readonly isCurrent: (world: string) => boolean;
}

/**
 * The best players in the closed quizzes of each room. Cached, because a crowd requests them when a
 * quiz ends.
 */
export class Leaderboards {
  readonly #ports: LeaderboardPorts;
  readonly #boards: SharedReads<{ world: string; room: string }, Board>;
  readonly handlers: EntryHandlers;

  constructor(ports: LeaderboardPorts) {
    this.#ports = ports;
    const boards = new SharedReads<{ world: string; room: string }, Board>({
      isCurrent: ports.isCurrent,
      scopeOf: ({ room }) => room,
      most: MAX_BOARDS,
      mostSize: MAX_SIZE,
      mostEach: MAX_SIZE,
      sizeOf: ({ places }) => 1000 + 100 * places.size,
    });
    this.#boards = boards;
    const ofRoom = ({ room }: { room: string }) => boards.forgetScope(room);
    const ofWorld = ({ world }: { world: string }) => this.forget(world);
    this.handlers = {
      "poll.saved": ofRoom,
      "poll.deleted": ofRoom,
      "room.deleted": ofRoom,
      "user.updated": ofWorld,
      "user.moderated": ofWorld,
      "user.erased": ofWorld,
      "world.deleted": ofWorld,
    };
  }

  /** Returns a room's leaderboard for a user. */
  async of(world: World, room: string, me: string): Promise<Sendable<Leaderboard>> {
    const { store, clock } = this.#ports;
    const key = { world: world.id, room };
    const board = await this.#boards.get(`${world.id} ${room}`, key, async () =>
      boardOf(await store.polls.players(world.id, room)),
    );
    const ids = board.best.flatMap(({ user }) => user ?? []);
    const users = new Map((await store.users.getMany(world.id, ids)).map((one) => [one.id, one]));
    const now = clock.date();
    const own = board.places.get(me);
    return {
      players: board.best.map(({ user, points, time }) => {
        const found = user !== null && !board.guests.has(user) ? users.get(user) : undefined;
        return {
          user: found
            ? publicUser(found, world, now)
            : { name: board.guests.get(user ?? "") ?? GUEST },
          points,
          seconds: time / 1000,
        };
      }),
      ...(own && { me: own }),
    };
  }

  /** Forgets a world's leaderboards. */
  forget(world: string): void {
    this.#boards.forgetWorld(world);
  }
}

/**
 * The name shown for players without a display name, followed by a number, and for erased players.
 */
const GUEST = "Guest";

/**
 * @param players best first.
 */
function boardOf(players: readonly Player[]): Board {
  const places = new Map<string, { place: number; points: number }>();
  let place = 1;
  for (const [i, { user, points, time }] of players.entries()) {
    const last = players[i - 1];
    if (last && (last.points !== points || last.time !== time)) place = i + 1;
    if (user !== null) places.set(user, { place, points });
  }
  // Players are numbered by their first answers, so that a guest keeps the same number in later
  // quizzes.
  const unnamed = players
    .flatMap(({ user, isNamed, first }) => (user === null || isNamed ? [] : { user, first }))
    .sort((a, b) => a.first - b.first);
  const guests = new Map(unnamed.map(({ user }, i) => [user, `${GUEST} ${i + 1}`]));
  return { best: players.slice(0, MAX_PLAYERS), guests, places };
}
