import type { FastifyBaseLogger } from "fastify";
import { LRUCache } from "lru-cache";
import { type Clock, detach } from "../../../db/runtime.js";
import type { Outboxes } from "../../delivery/outbox.js";
import type { SocketChunk, PushPipeline } from "../../delivery/push.js";
import type { Arrivals } from "../../people/arrivals.js";
import type { Hub } from "../../people/hub.js";
import { jsonOf } from "../../rules/encoding.js";
import {
  changeOf,
  type Differences,
  type ReducedView,
  type Losses,
  type Seen,
  type SentState,
} from "../../rules/sent-state.js";
import type { Counting, SentCrowds } from "../../rules/shapes.js";
import { View, type LiveWorldState, type WorldStates } from "../../rules/world-state.js";
import type { Connection } from "../../socket/connection.js";
import { frameAround, textFrame } from "../../socket/frame.js";
import type { Login } from "../../socket/login-state.js";
import { TokenBucket } from "../../socket/pace.js";

/** Average rate limit for the world states sent to a connection, in bytes per second. */
const STATE_BYTES_PER_SECOND = 64 * 1024;

/** Delay before connections with an exhausted rate limit are checked again, in milliseconds. */
const RETRY_DELAY_MS = 300;

/** Number of views whose frames are cached during a pass. The frames of a view may be large. */
const KEPT_VIEWS = 16;

/** Ports of the world pushes. */
export interface WorldPushPorts {
  readonly clock: Clock;
  readonly hub: Hub;
  readonly states: WorldStates;
  readonly log: FastifyBaseLogger;
  readonly outboxes: Outboxes;
  readonly pushes: PushPipeline;
  readonly arrivals: Arrivals;
  readonly crowdsIn: (world: string, counting: Counting) => SentCrowds;
  /** Ends the subscriptions to channels that a connection's user may no longer see. */
  readonly keepChannels: (connection: Connection, view: View) => void;
  /** Re-sends channel lists to connections whose users may read more channels than before. */
  readonly listAgain: (connections: readonly Connection[]) => Promise<void>;
}

/** The pushed state: a view, or a view without rights that were temporarily lost. */
type Sent = View | ReducedView;

/** One pass over connections. Frames that many connections share are encoded once. */
class Pass {
  readonly states = new LRUCache<Sent, Buffer>({ max: KEPT_VIEWS });
  readonly changes = new LRUCache<Sent, Map<SentState, Buffer | undefined>>({ max: KEPT_VIEWS });

  /** Connections that have regained the right to read the chat of some room. */
  readonly regaining: Connection[] = [];
  readonly #regains = new Map<View, Map<View, boolean>>();

  /** @param hints whether users who may change settings receive a push even if they see no difference. */
  constructor(readonly hints: boolean) {}

  /**
   * Records the view that determines the channels known to a client, and whether the client's user
   * has regained the right to read a room's chat.
   * @param losses the rights lost since the last push.
   */
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
 * Pushes a world's state: in full, or as differences from the last push, depending on the client's
 * request at login. A client that is not yet due for a push receives the latest state once it is
 * due.
 */
export class WorldPushes {
  readonly #ports: WorldPushPorts;
  readonly #waiting = new Map<string, Set<Connection>>();

  constructor(ports: WorldPushPorts) {
    this.#ports = ports;
  }

  /** Drops the waiting connections of a world that everyone has left. */
  forget(world: string): void {
    this.#waiting.delete(world);
  }

  /**
   * Sends a state to connections, and removes the connections from rooms that their users may no
   * longer see.
   * @param everybody whether the state is also sent to clients that did not request changes at
   * login.
   */
  async send(
    state: LiveWorldState,
    connections: Iterable<Connection>,
    everybody = true,
  ): Promise<void> {
    const ports = this.#ports;
    const world = state.world.value.id;
    const pass = new Pass(everybody);
    await ports.pushes.each(connections, (connection, login) => {
      if (!everybody && !login.changes) return undefined;
      // If the state is stale, the next push has the newer changes. Nobody may lose a room that was
      // added by these newer changes.
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

  /** Whether a client that requested changes at login has received a room, or is about to. */
  knows({ login }: Connection, room: string): boolean {
    return login!.changes && (login!.sentState?.has(room) ?? true);
  }

  /** Records a room's schedule data that was pushed separately to the people in the room. */
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

  /**
   * Records a room that was pushed separately.
   * @param json undefined if the room was deleted.
   */
  pushed(connection: Connection, room: string, json: string | undefined): void {
    const { login } = connection;
    if (login?.sentState) login.sentState = login.sentState.with(room, json);
  }

  #pieceFor(connection: Connection, login: Login, view: View, pass: Pass): SocketChunk | undefined {
    const { sentState, losses } = login;
    // The login response, which is still being built, will have this state.
    if (login.changes && !sentState) return undefined;
    login.losses = undefined;
    const lessened = losses && view.without(losses);
    // Pushes may have been withheld while rights were lost, so the client must receive both states.
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

  /**
   * Returns the push of a state to one connection, or undefined if the client already knows the
   * whole state or is about to receive it in the login response.
   */
  frameFor(connection: Connection, state: LiveWorldState): Buffer | undefined {
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

  /** @param always whether to return a frame even if there are no differences. */
  #changes(sentState: SentState, view: Sent, always: boolean): Buffer | undefined {
    const differences = sentState.differences(view);
    if (!differences && !always) return undefined;
    const crowds = this.#crowds(view, "counts");
    return textFrame(`["world.changed",${changeOf(differences ?? nothing, view, crowds)}]`);
  }

  #crowds({ state }: Seen, counting: Counting) {
    return this.#ports.crowdsIn(state.world.value.id, counting);
  }

  /** Removes a connection from rooms and channels that its user may no longer see. */
  #keepRights(connection: Connection, view: View): void {
    const { hub } = this.#ports;
    for (const id of [...connection.rooms]) {
      if (!view.sees(id)) this.#ports.arrivals.leaveRoom(connection, id);
      else hub.enter(connection, id, view.watches(id));
    }
    this.#ports.keepChannels(connection, view);
  }

  /** Sends the latest state to a connection once the connection is due for a push. */
  sendSoon(connection: Connection): void {
    const { world } = connection;
    const waiting = this.#waiting.get(world);
    if (waiting) waiting.add(connection);
    else this.#waiting.set(world, new Set([connection]));
    this.#recheck(world);
  }

  #recheck(world: string): void {
    const options = { interval: RETRY_DELAY_MS, collects: true };
    this.#ports.outboxes.at(world).later("slow readers", () => this.#look(world), options);
  }

  /** Sends the state to the waiting connections that are due now. */
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
        // Some of these connections may have received a state in the meantime.
        const left = due.filter((connection) => waiting.has(connection));
        if (state) await this.send(state, left);
      });
    }
    if (waiting.size > 0) this.#recheck(world);
    else this.#waiting.delete(world);
  }
}

const nothing: Differences = { rooms: [], removed: [] };

/** Whether a connection is due for a push: its unsent data is small, and its rate limit allows a push. */
function isDue(clock: Clock, connection: Connection, login: Login): boolean {
  login.states ??= new TokenBucket(STATE_BYTES_PER_SECOND, 1, clock);
  return login.states.wait === 0 && connection.unsent <= STATE_BYTES_PER_SECOND;
}
