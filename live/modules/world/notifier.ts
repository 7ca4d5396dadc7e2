import type { EntryHandlers } from "../../module.js";
import type { UserStore, WorldStore } from "../../../db/contract/store.js";
import type { World } from "../../../schemas/worlds.js";
import type { Connection, Login } from "../../socket/connection.js";
import { encoded } from "../../rules/encoding.js";
import {
  applyModeration,
  isGone,
  reasonToEnd,
  throwOut,
} from "../../socket/endings.js";
import { textFrame } from "../../socket/frame.js";
import { broadcast } from "../../people/hub.js";
import { oncePer } from "../../rules/once.js";
import type { PermissionConfig } from "../../../schemas/rules.js";
import { mayInRoom } from "../../rules/rights.js";
import {
  objectIn,
  ownUser,
  publicUser,
  scheduleOf,
} from "../../rules/shapes.js";
import { inSlices } from "../../delivery/slices.js";
import { WorldPushes, type WorldPushPorts } from "./pushes.js";
import type { WorldState } from "../../rules/world-state.js";

/**
 * Changes of a world are sent together, at most once in this time, in milliseconds.
 * A second full of changes is told four times then, the last one included.
 */
const COALESCED = 300;

/** A change of a world that is not sent yet. */
interface Pending {
  /** Whether it also goes to clients that did not ask for changes. */
  forAll: boolean;
}

/** Names one comparison of users with the store. */
type Comparison = object;

/** What telling of a world needs. */
export interface NotifierPorts extends WorldPushPorts {
  readonly store: { readonly users: UserStore; readonly worlds: WorldStore };
}

/**
 * Tells people what changed. Every change comes here as an event, whether it was
 * made by REST, by a command or over a websocket, in this process or in another.
 */
export class Notifier {
  readonly #ports: NotifierPorts;
  readonly #pending = new Map<string, Pending>();
  /** Where the schedule of each world is, as people were told last; as JSON. */
  readonly #pretalx = new Map<string, string>();
  readonly #pushes: WorldPushes;
  /** The last comparison of each connection's user that was asked for. */
  readonly #compared = new WeakMap<Connection, Comparison>();

  /** What it does with each entry. */
  readonly handlers: EntryHandlers;

  constructor(ports: NotifierPorts) {
    this.#ports = ports;
    this.#pushes = new WorldPushes(ports);
    const refresh = ({ world }: { world: string }) =>
      this.#changed(world, () => this.#refresh(world));
    const moderated = ({ world, user }: { world: string; user: string }) =>
      this.#moderated(world, user);
    this.handlers = {
      "world.created": refresh,
      "world.updated": refresh,
      "world.deleted": refresh,
      "world.reset": ({ world }) => ports.states.forget(world),
      "room.created": refresh,
      "room.updated": refresh,
      "rooms.reordered": refresh,
      "room.opened": ({ world, room }) =>
        this.#changed(world, () => this.#opened(world, room)),
      "room.scheduled": ({ world, room }) =>
        this.#changed(world, () => this.#scheduled(world, room)),
      "room.deleted": ({ world, room, rules, by }) =>
        this.#changed(world, () => {
          this.#deleted(world, room, rules);
          if (!by.connection) this.#refresh(world);
        }),
      "user.updated": ({ world, user, by }) =>
        this.#ifSeen(world, () =>
          this.#userUpdated(world, user, by.connection),
        ),
      "user.moderated": moderated,
      "user.erased": moderated,
    };
  }

  close(): void {
    this.#pushes.close();
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
      this.#compare(world, [...this.#ports.hub.of(world, user)]),
    );
  }

  /** Does something with a world as it is, after everything that was asked for before. */
  #with(world: string, act: (state: WorldState) => Promise<void> | void): void {
    const ports = this.#ports;
    ports.effects.inOrder(world, async () => {
      const state = await ports.states.get(world);
      if (state) await act(state);
    });
  }

  /** Tells everybody of a world that it has changed, soon. */
  #refresh(world: string, next: Pending = { forAll: true }): void {
    const pending = this.#pending.get(world);
    if (pending) {
      pending.forAll ||= next.forAll;
      return;
    }
    this.#pending.set(world, next);
    this.#ports.clock.after(COALESCED, () => {
      const { effects, hub } = this.#ports;
      this.#pending.delete(world);
      effects.enforce(
        world,
        () => this.#checkLogins(world),
        () => this.#hold(world, hub.in(world)),
      );
      effects.inOrder(world, () => this.#tell(world, next));
    });
  }

  /** Pushes nothing to these connections until all effects of their world have ended. */
  #hold(world: string, connections: Iterable<Connection>): void {
    const ended = this.#ports.effects.ended(world);
    if (!ended) return;
    for (const connection of connections) connection.holdUntil(ended);
  }

  /** Ends the connections of users who may not stay in a world. */
  async #checkLogins(world: string): Promise<void> {
    const ports = this.#ports;
    const state = await ports.states.get(world);
    const connections = [...ports.hub.in(world)];
    await this.#withEach(connections, (connection, { identity }) => {
      const reason = reasonToEnd(identity, state?.world, ports.clock.date());
      if (reason) throwOut(connection, reason);
    });
  }

  async #tell(world: string, { forAll }: Pending): Promise<void> {
    const ports = this.#ports;
    const state = await ports.states.get(world);
    if (!state) return;
    const connections = [...ports.hub.in(world)];
    await this.#pushes.send(state, connections, forAll);
    if (forAll) this.#tellSchedule(world, state);
  }

  /** The push that brings a connection its new rights; undefined for none. */
  frameFor(connection: Connection, state: WorldState): Buffer | undefined {
    return this.#pushes.frameFor(connection, state);
  }

  /** Tells a connection soon what its user may do now, and what was lost meanwhile. */
  tellSoon(connection: Connection): void {
    this.#pushes.sendSoon(connection);
  }

  #tellSchedule(world: string, state: WorldState): void {
    const pretalx = pretalxOf(state.world.value);
    const told = this.#pretalx.get(world);
    if (told === undefined || told === pretalx.text) return;
    this.#pretalx.set(world, pretalx.text);
    broadcast(this.#ports.hub.in(world), "world.schedule.updated", pretalx);
  }

  #opened(world: string, id: string): void {
    this.#with(world, (state) => {
      const frames = new Map<string, Buffer>();
      return this.#withEach([...this.#ports.hub.in(world)], (connection) => {
        const room = connection.viewOf(state).room(id);
        if (room === undefined || this.#pushes.knows(connection, id)) return;
        const sent = connection.login!.changes
          ? `${room.slice(0, -1)},"count":0}`
          : room;
        let frame = frames.get(sent);
        if (!frame) {
          frame = textFrame(`["room.create",${sent}]`);
          frames.set(sent, frame);
        }
        connection.push(frame);
        this.#pushes.pushed(connection, id, room);
      });
      // Its place in the order may be another one.
      this.#refresh(world, { forAll: false });
    });
  }

  #scheduled(world: string, id: string): void {
    this.#with(world, (state) => {
      const room = state.room(id);
      if (!room) return;
      const schedule_data = scheduleOf(room);
      broadcast(
        this.#ports.hub.inRoom(world, id),
        "room.schedule",
        { room: id, schedule_data },
        (connection) => connection.viewOf(state).sees(id),
      );
      this.#pushes.scheduled(world, id, schedule_data);
      // Connections elsewhere get it only if they asked for all changes.
      this.#refresh(world, { forAll: false });
    });
  }

  /** @param rules that the room had: only users who saw it get the push. */
  #deleted(world: string, id: string, rules: PermissionConfig): void {
    this.#ports.effects.inOrder(world, async () => {
      const { hub } = this.#ports;
      for (const connection of [...hub.inRoom(world, id)]) {
        this.#ports.doors.leaveRoom(connection, id);
      }
      const state = await this.#ports.states.get(world);
      if (!state) return;
      const room = { permission_config: rules };
      broadcast(hub.in(world), "room.delete", { id }, (connection) => {
        const { login } = connection;
        const sees = mayInRoom(login!, "room.view", state.world.value, room);
        // Others lost the right to see it: the next change of the world says that it is gone.
        if (sees) this.#pushes.pushed(connection, id, undefined);
        return sees;
      });
    });
  }

  #userUpdated(world: string, id: string, by: string | undefined): void {
    this.#with(world, async (state) => {
      const user = await this.#ports.store.users.get(world, id);
      if (!user) return;
      const now = this.#ports.clock.date();
      broadcast(
        this.#ports.hub.of(world, id),
        "user.updated",
        // Only the user itself writes its client state.
        by === undefined
          ? publicUser(user, state.world.value, now)
          : ownUser(user, state.world.value, now),
        (connection) => connection.id !== by,
      );
    });
  }

  /**
   * Compares the users of connections with the store. Until then nothing is pushed to
   * them: whoever was banned gets nothing that was sent after that.
   */
  #compare(world: string, connections: Connection[]): void {
    const { effects } = this.#ports;
    const comparison: Comparison = {};
    for (const connection of connections) {
      this.#compared.set(connection, comparison);
    }
    const isLast = (connection: Connection) =>
      this.#compared.get(connection) === comparison;
    const compare = () => this.#compareNow(world, connections, isLast);
    effects.enforce(world, compare, () => {});
    this.#hold(world, connections);
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
      applyModeration(connection, user, state, (...args) =>
        this.frameFor(...args),
      );
    }
    // What needs the state is done when it can be read.
    if (fault) throw fault.error;
  }

  /** Does something with connections that are still logged in, and lets requests be served meanwhile. */
  #withEach(
    connections: readonly Connection[],
    act: (connection: Connection, login: Login) => void,
  ): Promise<void> {
    return inSlices(this.#ports.clock, connections, (connection) => {
      const { ended, login } = connection;
      if (!ended && login) act(connection, login);
    });
  }

  /** Nobody is in a world any more. */
  unwatch(world: string): void {
    this.#pretalx.delete(world);
    this.#pushes.forget(world);
  }

  /** Watches a world that somebody is in. */
  async watch(world: string): Promise<void> {
    if (this.#pretalx.has(world)) return;
    const found = await this.#ports.store.worlds.get(world);
    if (!found || this.#pretalx.has(world)) return;
    this.#pretalx.set(world, pretalxOf(found.value).text);
  }
}

/** Where the schedule of a world is. */
const pretalxOf = oncePer(({ config }: World) =>
  encoded(objectIn(config, "pretalx") ?? {}),
);
