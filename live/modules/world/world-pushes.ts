import type { FastifyBaseLogger } from "fastify";
import { LRUCache } from "lru-cache";
import { type Clock, detach } from "../../../db/runtime.js";
import type { Outboxes } from "../../delivery/outbox.js";
import type { Piece, Pushes } from "../../delivery/push.js";
import type { Arrivals } from "../../people/arrivals.js";
import type { Hub } from "../../people/hub.js";
import { jsonOf } from "../../rules/encoding.js";
import {
  changeOf,
  type Differences,
  type LessenedView,
  type Losses,
  type Seen,
  type SentState,
} from "../../rules/sent-state.js";
import type { Counting, SentCrowds } from "../../rules/shapes.js";
import { View, type WorldState, type WorldStates } from "../../rules/world-state.js";
import type { Connection } from "../../socket/connection.js";
import { frameAround, textFrame } from "../../socket/frame.js";
import type { Login } from "../../socket/login-state.js";
import { TokenBucket } from "../../socket/pace.js";

/** How many bytes a second a connection gets of the states of its world, on average. */
const STATE_BYTES_PER_SECOND = 64 * 1024;

/** After how many milliseconds connections whose rate is exhausted are looked at again. */
const RETRY_DELAY_MS = 300;

/** How many views have their frames kept while they are sent. Each may be large. */
const KEPT_VIEWS = 16;

/** What pushing the state of a world needs. */
export interface WorldPushPorts {
  readonly clock: Clock;
  readonly hub: Hub;
  readonly states: WorldStates;
  readonly log: FastifyBaseLogger;
  readonly outboxes: Outboxes;
  readonly pushes: Pushes;
  readonly arrivals: Arrivals;
  readonly crowdsIn: (world: string, counting: Counting) => SentCrowds;
  /** Ends the subscriptions to channels that a connection may not see any more. */
  readonly keepChannels: (connection: Connection, view: View) => void;
  /** Sends connections their channels again, as they may read more of them. */
  readonly listAgain: (connections: readonly Connection[]) => Promise<void>;
}

/** What is pushed: a view, or one without rights that were lost for a while. */
type Sent = View | LessenedView;

/** One pass over connections. Frames that many of them share are encoded once. */
class Pass {
  readonly states = new LRUCache<Sent, Buffer>({ max: KEPT_VIEWS });
  readonly changes = new LRUCache<Sent, Map<SentState, Buffer | undefined>>({ max: KEPT_VIEWS });

  /** The connections that may read the chat of some room again. */
  readonly regaining: Connection[] = [];
  readonly #regains = new Map<View, Map<View, boolean>>();

  /** @param hints whether users who may change settings get a push even if they see no difference. */
  constructor(readonly hints: boolean) {}

  /** Notes by which view a client knows its channels. @param losses since then. */
  list(connection: Connection, view: View, losses: Losses | undefined): void {
    const login = connection.login!;
    const { listed = view } = login;
    login.listed = view;
    const lost = losses?.roomsWithout("room:chat.read") ?? [];
    if (lost.some((room) => view.reads(room))) {
      this.regaining.push(connection);
      return;
    }
    if (listed === view) return;
    const known = this.#regains.get(view) ?? new Map<View, boolean>();
    this.#regains.set(view, known);
    let regains = known.get(listed);
    if (regains === undefined) {
      known.set(listed, (regains = view.regains(listed)));
    }
    if (regains) this.regaining.push(connection);
  }
}

/**
 * Pushes the state of a world: all of it, or the differences from the last push, as the
 * client asked at login. A client that is not due for a push yet gets the latest state
 * once it is.
 */
export class WorldPushes {
  readonly #ports: WorldPushPorts;
  readonly #waiting = new Map<string, Set<Connection>>();

  constructor(ports: WorldPushPorts) {
    this.#ports = ports;
  }

  /** The last user has left a world. */
  forget(world: string): void {
    this.#waiting.delete(world);
  }

  /**
   * Sends a state to connections, and takes them out of rooms that they may not see any more.
   * @param everybody whether it also goes to clients that did not ask for changes.
   */
  async send(
    state: WorldState,
    connections: Iterable<Connection>,
    everybody = true,
  ): Promise<void> {
    const ports = this.#ports;
    const world = state.world.value.id;
    const pass = new Pass(everybody);
    await ports.pushes.each(connections, (connection, login) => {
      if (!everybody && !login.changes) return undefined;
      // The next push has any change since then; no user loses a room that came with it.
      const present = ports.states.present(world);
      const view = connection.viewOf(present ?? state);
      if (present) this.#keepRights(connection, view);
      if (isDue(ports.clock, connection, login))
        return this.#pieceFor(connection, login, view, pass);
      this.sendSoon(connection);
      return undefined;
    });
    detach(ports.listAgain(pass.regaining));
  }

  /** Whether a client that asked for changes has got a room, or is about to get it. */
  knows({ login }: Connection, room: string): boolean {
    return login!.changes && (login!.sentState?.has(room) ?? true);
  }

  /** The schedule of a room was pushed by itself to the people in it. */
  scheduled(people: readonly Connection[], room: string, schedule_data: object): void {
    const next = new Map<SentState, SentState>();
    for (const { login } of people) {
      const sentState = login?.sentState;
      const json = sentState?.room(room);
      if (!sentState || !json) continue;
      if (!next.has(sentState)) {
        const known = JSON.parse(json) as object;
        next.set(sentState, sentState.with(room, jsonOf({ ...known, schedule_data })));
      }
      login.sentState = next.get(sentState)!;
    }
  }

  /** A room was pushed by itself. @param json undefined if it was deleted. */
  pushed(connection: Connection, room: string, json: string | undefined): void {
    const { login } = connection;
    if (login?.sentState) login.sentState = login.sentState.with(room, json);
  }

  #pieceFor(connection: Connection, login: Login, view: View, pass: Pass): Piece | undefined {
    const { sentState, losses } = login;
    // Otherwise, the answer to the login will have this state.
    if (login.changes && !sentState) return undefined;
    login.losses = undefined;
    const lessened = losses && view.without(losses);
    // Meanwhile something may have been withheld, so the client has to see both.
    const frames = [lessened, view].flatMap((sent, i, all) => {
      if (!sent) return [];
      if (!login.changes) return this.#wholeFrame(sent, pass);
      const base = i === 0 ? sentState : (all[0]?.sentState ?? sentState);
      return this.#changeFrame(base!, sent, pass) ?? [];
    });
    if (login.changes) login.sentState = view.sentState;
    pass.list(connection, view, losses);
    this.#waiting.get(connection.world)?.delete(connection);
    if (frames.length === 0) return undefined;
    const bytes = frames.length === 1 ? frames[0]! : Buffer.concat(frames);
    login.states!.spend(bytes.length);
    return { bytes, frames: frames.length, isState: true };
  }

  #wholeFrame(sent: Sent, { states }: Pass): Buffer {
    let frame = states.get(sent);
    if (!frame) states.set(sent, (frame = this.#state(sent)));
    return frame;
  }

  #changeFrame(sentState: SentState, sent: Sent, pass: Pass): Buffer | undefined {
    let known = pass.changes.get(sent);
    if (!known) pass.changes.set(sent, (known = new Map()));
    if (!known.has(sentState)) {
      const hints = pass.hints && sent instanceof View && sent.mayUpdate;
      known.set(sentState, this.#changes(sentState, sent, hints));
    }
    return known.get(sentState);
  }

  /** The push of a state to one connection; undefined if it knows all of it. */
  frameFor(connection: Connection, state: WorldState): Buffer | undefined {
    const view = connection.viewOf(state);
    const login = connection.login!;
    if (!login.changes) return this.#state(view);
    const { sentState } = login;
    if (!sentState) return undefined;
    login.sentState = view.sentState;
    return this.#changes(sentState, view, false);
  }

  #state(view: Sent): Buffer {
    const crowds = this.#crowds(view, "words");
    const pieces = frameAround('["world.updated",', view.json(crowds), "]");
    return Buffer.concat(pieces);
  }

  /** @param always whether an empty change is sent, too. */
  #changes(sentState: SentState, view: Sent, always: boolean): Buffer | undefined {
    const differences = sentState.differences(view);
    if (!differences && !always) return undefined;
    const crowds = this.#crowds(view, "counts");
    return textFrame(`["world.changed",${changeOf(differences ?? nothing, view, crowds)}]`);
  }

  #crowds({ state }: Seen, counting: Counting) {
    return this.#ports.crowdsIn(state.world.value.id, counting);
  }

  /** Takes a connection out of rooms that it may not see any more. */
  #keepRights(connection: Connection, view: View): void {
    const { hub } = this.#ports;
    for (const id of [...connection.rooms]) {
      if (!view.sees(id)) this.#ports.arrivals.leaveRoom(connection, id);
      else hub.enter(connection, id, view.watches(id));
    }
    this.#ports.keepChannels(connection, view);
  }

  /** Sends the state to a connection when it is due for one. */
  sendSoon(connection: Connection): void {
    const { world } = connection;
    const waiting = this.#waiting.get(world);
    if (waiting) waiting.add(connection);
    else this.#waiting.set(world, new Set([connection]));
    this.#lookAgain(world);
  }

  #lookAgain(world: string): void {
    const options = { interval: RETRY_DELAY_MS, collects: true };
    this.#ports.outboxes.at(world).later("slow readers", () => this.#look(world), options);
  }

  /** Sends the state to the connections that waited and are due now. */
  #look(world: string): void {
    const waiting = this.#waiting.get(world);
    if (!waiting) return;
    const due: Connection[] = [];
    for (const connection of waiting) {
      const { ended, login } = connection;
      if (ended || !login) waiting.delete(connection);
      else if (isDue(this.#ports.clock, connection, login)) due.push(connection);
    }
    if (due.length > 0) {
      this.#ports.pushes.push({ world }, async () => {
        const state = await this.#ports.states.get(world);
        // Some may have got a state meanwhile.
        const left = due.filter((connection) => waiting.has(connection));
        if (state) await this.send(state, left);
      });
    }
    if (waiting.size > 0) this.#lookAgain(world);
    else this.#waiting.delete(world);
  }
}

const nothing: Differences = { rooms: [], removed: [] };

/** Whether a connection has read what it got, and its rate allows for more. */
function isDue(clock: Clock, connection: Connection, login: Login): boolean {
  login.states ??= new TokenBucket(STATE_BYTES_PER_SECOND, 1, clock);
  return login.states.wait === 0 && connection.unsent <= STATE_BYTES_PER_SECOND;
}
