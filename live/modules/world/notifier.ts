import type { InviteStore } from "../../../db/contract/invite-store.js";
import type { UserStore, WorldStore } from "../../../db/contract/store.js";
import type { Clock } from "../../../db/runtime.js";
import type { Scope } from "../../../schemas/plain/permissions.js";
import type { PermissionConfig } from "../../../schemas/rules.js";
import type { World } from "../../../schemas/worlds.js";
import type { Outboxes } from "../../delivery/outbox.js";
import type { FrameFor, Pushes, Send, PushTask } from "../../delivery/push.js";
import type { EntryHandlers } from "../../module.js";
import type { Gathering, Hub } from "../../people/hub.js";
import { encoded } from "../../rules/encoding.js";
import { isInvited, mayInRoom } from "../../rules/rights.js";
import { objectIn, ownUser, publicUser, scheduleOf } from "../../rules/shapes.js";
import { oncePer } from "../../rules/shared-reads.js";
import type { WorldState, WorldStates } from "../../rules/world-state.js";
import type { Connection } from "../../socket/connection.js";
import {
  applyModeration,
  isGone,
  reasonToEnd,
  type RightsFrame,
  throwOut,
} from "../../socket/endings.js";
import { pushFrame, textFrame } from "../../socket/frame.js";
import { WorldPushes, type WorldPushPorts } from "./world-pushes.js";

/** What telling of a world needs. */
export interface NotifierPorts extends WorldPushPorts {
  readonly store: EnforcementPorts["store"] & { readonly worlds: WorldStore };
}

/**
 * Tells people what changed. Every change comes here as an event, whether it was
 * made by REST, by a command or over a websocket, in this process or in another.
 */
export class Notifier {
  readonly #ports: NotifierPorts;
  /** The worlds with a change to send, and whether it goes to all clients. Else only to those that asked for changes. */
  readonly #pending = new Map<string, boolean>();
  /** Where the schedule of each world is, as it was pushed last; as JSON once it was read. */
  readonly #pretalx = new Map<string, { text?: string }>();
  readonly #pushes: WorldPushes;
  readonly #enforcement: Enforcement;

  /** What it does with each entry. */
  readonly handlers: EntryHandlers;

  constructor(ports: NotifierPorts) {
    this.#ports = ports;
    this.#pushes = new WorldPushes(ports);
    this.#enforcement = new Enforcement({
      ...ports,
      rightsFrame: (...args) => this.frameFor(...args),
    });
    const refresh = ({ world }: { world: string }) =>
      this.#changed(world, () => this.#refresh(world));
    const moderated = ({ world, user }: { world: string; user: string }) =>
      this.#moderated(world, user);
    this.handlers = {
      "world.created": refresh,
      "world.updated": refresh,
      "world.deleted": refresh,
      "room.created": refresh,
      "room.updated": refresh,
      "rooms.reordered": refresh,
      noted: ({ world, act }) => {
        if (act === "invite.ended") this.#ifSeen(world, () => this.#refresh(world, false));
      },
      "room.opened": ({ world, room }) => this.#changed(world, () => this.#opened(world, room)),
      "room.scheduled": ({ world, room }) => this.scheduled(world, room),
      "room.deleted": ({ world, room, rules, by }) =>
        this.#changed(world, () => {
          this.#enforcement.checkRights(world);
          this.#deleted(world, room, rules);
          if (!by.connection) this.#refresh(world);
        }),
      "user.updated": ({ world, user, by }) =>
        this.#ifSeen(world, () => {
          this.#userUpdated(world, user, by.connection);
          const own = [...this.#ports.hub.of(world, user)];
          // A screen may have to show another room.
          const isScreen = own.some(({ login }) => login?.scope);
          if (isScreen) this.#enforcement.compare(world, own);
        }),
      "user.moderated": moderated,
      "user.erased": moderated,
    };
  }

  /** Rights first: what the process knows of the world is old from here on. */
  #changed(world: string, tell: () => void): void {
    this.#ports.states.forget(world);
    this.#ifSeen(world, tell);
  }

  #ifSeen(world: string, tell: () => void): void {
    if (this.#ports.hub.in(world).size > 0) tell();
  }

  #moderated(world: string, user: string): void {
    this.#ifSeen(world, () =>
      this.#enforcement.compare(world, [...this.#ports.hub.of(world, user)]),
    );
  }

  /** Tells everybody of a world that it has changed, soon. */
  #refresh(world: string, forAll = true): void {
    this.#pending.set(world, forAll || (this.#pending.get(world) ?? false));
    const send = () => {
      const toAll = this.#pending.get(world)!;
      this.#pending.delete(world);
      this.#enforcement.checkRights(world);
      const tell: PushTask = (send, _, people) => this.#tell(world, toAll, send, people);
      this.#ports.pushes.push({ world }, tell);
    };
    const options = { interval: COALESCED, collects: true };
    this.#ports.outboxes.at(world).later("world", send, options);
  }

  async #tell(world: string, forAll: boolean, send: Send, people: Gathering): Promise<void> {
    const state = await this.#ports.states.get(world);
    if (!state) return;
    await this.#pushes.send(state, [...people.all], forAll);
    if (forAll) await this.#tellSchedule(world, state, send);
  }

  /** The push that brings a connection its new rights; undefined for none. */
  frameFor(connection: Connection, state: WorldState): Buffer | undefined {
    return this.#pushes.frameFor(connection, state);
  }

  /** Tells a connection soon what its user may do now, and what was lost meanwhile. */
  tellSoon(connection: Connection): void {
    this.#pushes.sendSoon(connection);
  }

  async #tellSchedule(world: string, state: WorldState, send: Send): Promise<void> {
    const pretalx = pretalxOf(state.world.value);
    const told = this.#pretalx.get(world);
    if (told?.text === undefined || told.text === pretalx.text) return;
    await send(pushFrame("world.schedule.updated", pretalx));
    told.text = pretalx.text;
  }

  #opened(world: string, id: string): void {
    const frames = new Map<string, Buffer>();
    const frameFor: FrameFor = (connection, view) => {
      const room = view.room(id);
      if (room === undefined || this.#pushes.knows(connection, id)) return undefined;
      const sent = connection.login!.changes ? `${room.slice(0, -1)},"count":0}` : room;
      let frame = frames.get(sent);
      if (!frame) {
        frame = textFrame(`["room.create",${sent}]`);
        frames.set(sent, frame);
      }
      this.#pushes.pushed(connection, id, room);
      return frame;
    };
    this.#ports.pushes.push({ world }, async (send) => {
      await send(frameFor);
      // Its place in the order may be another one.
      this.#refresh(world, false);
    });
  }

  /** A room has other schedule data now, by itself or by its sessions. */
  scheduled(world: string, room: string): void {
    this.#changed(world, () => this.#pushSchedule(world, room));
  }

  #pushSchedule(world: string, id: string): void {
    const { pushes, states } = this.#ports;
    pushes.push({ world }, async (_, __, people) => {
      const state = await states.get(world);
      const room = state?.room(id);
      if (!state || !room) return;
      const schedule_data = scheduleOf(room);
      const frame = pushFrame("room.schedule", { room: id, schedule_data });
      const inRoom = [...people.inRoom(id)];
      await pushes.walk(state, inRoom, (_, view) => (view.sees(id) ? frame : undefined));
      this.#pushes.scheduled(inRoom, id, schedule_data);
      // Connections elsewhere get it only if they asked for all changes.
      this.#refresh(world, false);
    });
  }

  /** @param rules that the room had: only users who saw it get the push. */
  #deleted(world: string, id: string, rules: PermissionConfig): void {
    const { arrivals, pushes } = this.#ports;
    const room = { id, permission_config: rules };
    const frame = pushFrame("room.delete", { id });
    const frameFor: FrameFor = (connection, { state }) => {
      const { login } = connection;
      const sees = mayInRoom(login!, "room.view", state.world.value, room);
      // Others lost the right to see it: the next change of the world says that it is gone.
      if (!sees) return undefined;
      this.#pushes.pushed(connection, id, undefined);
      return frame;
    };
    pushes.push({ world }, async (send, _, people) => {
      for (const connection of [...people.inRoom(id)]) {
        arrivals.leaveRoom(connection, id);
      }
      await send(frameFor);
    });
  }

  #userUpdated(world: string, id: string, by: string | undefined): void {
    const { clock, pushes, store } = this.#ports;
    const tell = async (send: Send) => {
      const user = await store.users.get(world, id);
      if (!user) return;
      let frame: Buffer | undefined;
      await send((connection, { state }) => {
        if (connection.id === by) return undefined;
        // Only the user itself writes its client state.
        const shape = by === undefined ? publicUser : ownUser;
        const sent = shape(user, state.world.value, clock.date());
        return (frame ??= pushFrame("user.updated", sent));
      });
    };
    pushes.push({ world, user: id }, tell, { queue: world });
  }

  /** The last connection of a world has ended. */
  unwatch(world: string): void {
    this.#pretalx.delete(world);
    this.#pushes.forget(world);
  }

  /** Watches a world with connections. */
  async watch(world: string): Promise<void> {
    const told = this.#pretalx.get(world) ?? {};
    this.#pretalx.set(world, told);
    if (told.text !== undefined) return;
    const found = await this.#ports.store.worlds.get(world);
    if (found) told.text ??= pretalxOf(found.value).text;
  }
}

/** Where the schedule of a world is. */
const pretalxOf = oncePer(({ config }: World) => encoded(objectIn(config, "pretalx") ?? {}));

/**
 * Changes of a world are looked at and sent together, at most once in this time, in milliseconds.
 * A second full of changes then makes four pushes, the last change included.
 */
export const COALESCED = 300;

/** Names one comparison of users with the store. */
type Comparison = object;

/** The ports of the enforcement of rights. */
interface EnforcementPorts {
  readonly clock: Clock;
  readonly hub: Hub;
  readonly outboxes: Outboxes;
  readonly pushes: Pushes;
  readonly states: WorldStates;
  readonly store: { readonly users: UserStore; readonly invites: InviteStore };
  /** The push that brings a connection its new rights; undefined for none. */
  readonly rightsFrame: RightsFrame;
}

/**
 * Takes from connections what their users may not have any more, in the queue of the world, so
 * before all pushes that come later. If the store is slow, their pushes wait.
 */
class Enforcement {
  readonly #ports: EnforcementPorts;
  /** The last comparison of each connection's user that was asked for. */
  readonly #compared = new WeakMap<Connection, Comparison>();

  constructor(ports: EnforcementPorts) {
    this.#ports = ports;
  }

  /**
   * Pushes nothing to these connections until all that is in the queue of their world has ended.
   * @param since when their users may have lost a right.
   */
  #hold(world: string, connections: Iterable<Connection>, since: number): void {
    const ended = this.#ports.outboxes.ended(world);
    if (!ended) return;
    for (const connection of connections) connection.holdUntil(since, ended);
  }

  /**
   * Before any later push of a world, each connection notes the rights that its user has lost,
   * or ends. If that takes long, nothing is pushed until then.
   */
  checkRights(world: string): void {
    const { clock, outboxes, hub } = this.#ports;
    const people = hub.gathering(world);
    if (!people) return;
    const since = clock.now() - COALESCED;
    outboxes.at(world).enforce(
      () => this.#checkLogins(world, people),
      () => this.#hold(world, people.all, since),
      () => people.isOver,
    );
  }

  async #checkLogins(world: string, people: Gathering): Promise<void> {
    const { clock, pushes, states } = this.#ports;
    const state = await states.get(world);
    const connections = [...people.all];
    const uninvited = await this.#uninvited(world, state, connections);
    await pushes.each(connections, (connection, { identity, scope }) => {
      const reason =
        reasonToEnd(identity, state?.world, clock.date(), scope) ??
        (uninvited.has(scope) ? "auth.invalid_token" : undefined);
      if (reason) throwOut(connection, reason);
      // What waits in the connection may have become too old to be sent.
      else connection.viewOf(state!);
      return undefined;
    });
  }

  /** The scopes of connections whose links have ended. */
  async #uninvited(
    world: string,
    state: WorldState | undefined,
    connections: readonly Connection[],
  ): Promise<ReadonlySet<Scope | undefined>> {
    const scopes = new Set(connections.map(({ login }) => login?.scope));
    const ended = new Set<Scope | undefined>();
    const now = this.#ports.clock.date();
    const ends = new Map<string, boolean>();
    for (const scope of scopes) {
      if (scope?.kind !== "anonymous") continue;
      let isOver = ends.get(scope.token);
      if (isOver === undefined) {
        const { invites } = this.#ports.store;
        const invite = await invites.find(world, scope.token);
        isOver = !isInvited(invite, state?.room(scope.room), now);
        ends.set(scope.token, isOver);
      }
      if (isOver) ended.add(scope);
    }
    return ended;
  }

  /**
   * Compares the users of connections with the store. Until then nothing is pushed to
   * them: banned users get nothing that was sent after that.
   */
  compare(world: string, connections: Connection[]): void {
    const { clock, outboxes } = this.#ports;
    const comparison: Comparison = {};
    for (const connection of connections) {
      this.#compared.set(connection, comparison);
    }
    const isLast = (connection: Connection) => this.#compared.get(connection) === comparison;
    const compare = () => this.#compareNow(world, connections, isLast);
    const isOver = () => connections.every(({ ended }) => ended);
    outboxes.at(world).enforce(compare, () => {}, isOver);
    this.#hold(world, connections, clock.now());
  }

  /**
   * Makes connections of users who were banned, silenced or erased load everything again.
   * @param isLast whether no later entry is about the user of a connection.
   */
  async #compareNow(
    world: string,
    connections: Connection[],
    isLast: (connection: Connection) => boolean,
  ): Promise<void> {
    const logins = connections.flatMap((connection) => {
      const { login } = connection;
      return login ? [{ connection, login }] : [];
    });
    const ids = [...new Set(logins.map(({ login }) => login.user))];
    const users = await this.#ports.store.users.getMany(world, ids);
    // A ban counts also while the rooms cannot be read.
    let fault: { error: unknown } | undefined;
    const reading = this.#ports.states.get(world);
    const state = await reading.catch((error: unknown) => {
      fault = { error };
      return undefined;
    });
    const byId = new Map(users.map((user) => [user.id, user]));
    for (const { connection, login } of logins) {
      // The login may have failed meanwhile.
      if (connection.login !== login) continue;
      const user = byId.get(login.user);
      // An entry that came while the store was read may be a ban: its own comparison
      // says what holds, and until then the user gets nothing.
      if (!isGone(user) && !isLast(connection)) continue;
      applyModeration(connection, user, state, this.#ports.rightsFrame);
    }
    // What needs the state is done when it can be read.
    if (fault) throw fault.error;
  }
}
