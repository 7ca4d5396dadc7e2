import type { InvitationStore } from "../../../db/contract/invitation-store.js";
import { isGone, type Store, type UserStore, type WorldStore } from "../../../db/contract/store.js";
import { changesGrant, endOf } from "../../../db/rules/invitation-rows.js";
import type { ProgramStore } from "../../../db/contract/program-store.js";
import { speakersAtDoor } from "../../../db/rules/doors.js";
import type { Clock } from "../../../db/runtime.js";
import type { Scope } from "../../../schemas/plain/permissions.js";
import type { PermissionConfig } from "../../../schemas/rules.js";
import type { World } from "../../../schemas/worlds.js";
import type { Outboxes } from "../../delivery/outbox.js";
import type { FrameFor, PushPipeline, Send, PushTask } from "../../delivery/push.js";
import type { EntryHandlers } from "../../module.js";
import type { Gathering, Hub } from "../../people/hub.js";
import { encoded } from "../../rules/encoding.js";
import { isInvited, mayInRoom } from "../../rules/rights.js";
import { objectIn, ownUser, publicUser, scheduleOf } from "../../rules/shapes.js";
import { oncePer } from "../../rules/shared-reads.js";
import type { LiveWorldState, WorldStates } from "../../rules/world-state.js";
import type { Connection } from "../../socket/connection.js";
import {
  applyInvitation,
  applyModeration,
  reasonToEnd,
  type RightsFrame,
  endWithError,
} from "../../socket/endings.js";
import { pushFrame, textFrame } from "../../socket/frame.js";
import { PhaseTimer } from "./phase-timer.js";
import { WorldPushes, type WorldPushPorts } from "./world-pushes.js";

/** Ports of the notifier. */
export interface NotifierPorts extends WorldPushPorts {
  readonly store: EnforcementPorts["store"] & { readonly worlds: WorldStore };
}

/**
 * Notifies people of changes. Every change arrives as an event, whether it was made over REST, by a
 * command-line tool or over a websocket, in this process or in another.
 */
export class Notifier {
  readonly #ports: NotifierPorts;
  /**
   * The worlds with a pending change: true if the change goes to all clients, false if it goes only
   * to clients that requested changes at login.
   */
  readonly #pending = new Map<string, boolean>();
  /** The schedule location last pushed for each world, as JSON once it has been read. */
  readonly #pretalx = new Map<string, { text?: string }>();
  readonly #pushes: WorldPushes;
  readonly #enforcement: Enforcement;
  readonly #phases: PhaseTimer;

  readonly handlers: EntryHandlers;

  constructor(ports: NotifierPorts) {
    this.#ports = ports;
    this.#pushes = new WorldPushes(ports);
    this.#enforcement = new Enforcement({
      ...ports,
      rightsFrame: (...args) => this.frameFor(...args),
    });
    const checkSoon = ({ world }: { world: string }) =>
      this.#ifSeen(world, () => this.#checkSoon(world));
    this.#phases = new PhaseTimer(ports, (world) => checkSoon({ world }));
    const refresh = ({ world }: { world: string }) =>
      this.#changed(world, () => {
        this.#phases.look(world);
        this.#refresh(world);
      });
    const moderated = ({ world, user }: { world: string; user: string }) =>
      this.#moderated(world, user);
    const invited: EntryHandlers["invitation.updated"] = (entry) => {
      if (changesGrant(entry)) this.#invited(entry);
    };
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
          // A screen may have to show a different room.
          const isScreen = own.some(({ login }) => login?.scope);
          if (isScreen) this.#enforcement.recheckUsers(world, own);
        }),
      "user.moderated": moderated,
      "user.erased": moderated,
      "invitation.updated": invited,
      "invitation.deleted": invited,
      // A speaker may enter when others may not.
      "speaker.updated": checkSoon,
      "speaker.deleted": checkSoon,
      "program.imported": checkSoon,
    };
  }

  /**
   * Handles a change to a world: first invalidates the world's cached state, which determines
   * rights and is now stale.
   */
  #changed(world: string, tell: () => void): void {
    this.#ports.states.forget(world);
    this.#ifSeen(world, tell);
  }

  #ifSeen(world: string, tell: () => void): void {
    if (this.#ports.hub.in(world).size > 0) tell();
  }

  #moderated(world: string, user: string): void {
    this.#ifSeen(world, () =>
      this.#enforcement.recheckUsers(world, [...this.#ports.hub.of(world, user)]),
    );
  }

  #invited({ world, invitation }: { world: string; invitation: string }): void {
    this.#ifSeen(world, () => {
      const own = [...this.#ports.hub.in(world)].filter(
        ({ login }) => login?.identity.invitation?.id === invitation,
      );
      if (own.length > 0) this.#enforcement.recheckInvitation(world, invitation, own);
    });
  }

  /** Schedules a check of who may stay in a world. */
  #checkSoon(world: string): void {
    const check = () => this.#enforcement.checkRights(world);
    const options = { interval: COALESCED, collects: true };
    this.#ports.outboxes.at(world).later("access", check, options);
  }

  /**
   * Schedules a push of a changed world's state to everyone in that world.
   * @param forAll whether the push also goes to clients that did not request changes at login.
   */
  #refresh(world: string, forAll = true): void {
    this.#pending.set(world, forAll || (this.#pending.get(world) ?? false));
    const send = () => {
      const toAll = this.#pending.get(world)!;
      this.#pending.delete(world);
      this.#enforcement.checkRights(world);
      const tell: PushTask = (send, _, people) => this.#notify(world, toAll, send, people);
      this.#ports.pushes.push({ world }, tell);
    };
    const options = { interval: COALESCED, collects: true };
    this.#ports.outboxes.at(world).later("world", send, options);
  }

  async #notify(world: string, forAll: boolean, send: Send, people: Gathering): Promise<void> {
    const state = await this.#ports.states.get(world);
    if (!state) return;
    await this.#pushes.send(state, [...people.all], forAll);
    if (forAll) await this.#pushPretalx(world, state, send);
  }

  /** Returns the push that notifies a connection of its new rights, or undefined if no push is needed. */
  frameFor(connection: Connection, state: LiveWorldState): Buffer | undefined {
    return this.#pushes.frameFor(connection, state);
  }

  /**
   * Schedules a push of the current rights of a connection's user. The push also covers rights that
   * were lost temporarily.
   */
  notifySoon(connection: Connection): void {
    this.#pushes.sendSoon(connection);
  }

  async #pushPretalx(world: string, state: LiveWorldState, send: Send): Promise<void> {
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
      // The room's position may differ from the position that `room.create` implies.
      this.#refresh(world, false);
    });
  }

  /** Pushes a room's new schedule data, whether it was set directly or follows from the room's sessions. */
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
      // Connections outside the room receive the schedule data only if their clients requested
      // changes at login.
      this.#refresh(world, false);
    });
  }

  /** @param rules the room's last rules: only users who could see the room receive the push. */
  #deleted(world: string, id: string, rules: PermissionConfig): void {
    const { arrivals, pushes } = this.#ports;
    const room = { id, permission_config: rules };
    const frame = pushFrame("room.delete", { id });
    const frameFor: FrameFor = (connection, { state }) => {
      const { login } = connection;
      const sees = mayInRoom(login!, "room.view", state.world.value, room);
      // Other users had already lost the right to see the room. Their clients learn from the
      // world's next push that the room is gone.
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
        // The client state is sent only if users changed it themselves over a connection.
        const shape = by === undefined ? publicUser : ownUser;
        const sent = shape(user, state.world.value, clock.date());
        return (frame ??= pushFrame("user.updated", sent));
      });
    };
    pushes.push({ world, user: id }, tell, { queue: world });
  }

  /** Drops the state of a world whose last connection has ended. */
  unwatch(world: string): void {
    this.#pretalx.delete(world);
    this.#phases.unwatch(world);
    this.#pushes.forget(world);
  }

  /** Stops all timers. */
  stop(): void {
    this.#phases.close();
  }

  /** Starts watching a world that has connections. */
  async watch(world: string): Promise<void> {
    this.#phases.watch(world);
    const told = this.#pretalx.get(world) ?? {};
    this.#pretalx.set(world, told);
    if (told.text !== undefined) return;
    const found = await this.#ports.store.worlds.get(world);
    if (found) told.text ??= pretalxOf(found.value).text;
  }
}

/** Returns the location of a world's schedule. */
const pretalxOf = oncePer(({ config }: World) => encoded(objectIn(config, "pretalx") ?? {}));

/**
 * Changes to a world are checked and sent in batches, at most once per this interval, in
 * milliseconds. Continuous changes over one second therefore cause four pushes, including the push
 * for the last change.
 */
export const COALESCED = 300;

/** Identifies one comparison of users with the store. */
type Comparison = object;

/** Ports for enforcing rights. */
interface EnforcementPorts {
  readonly clock: Clock;
  readonly hub: Hub;
  readonly outboxes: Outboxes;
  readonly pushes: PushPipeline;
  readonly states: WorldStates;
  readonly store: {
    readonly users: UserStore;
    readonly invites: Store["invites"];
    readonly invitations: Pick<InvitationStore, "standing">;
    readonly program: Pick<ProgramStore, "get">;
  };
  /** Builds the push that notifies a connection of its new rights, or returns undefined if no push is needed. */
  readonly rightsFrame: RightsFrame;
}

/**
 * Revokes the rights that connected users have lost. Runs in the world's queue, and therefore
 * before all later pushes. If the store is slow, pushes to the affected users wait.
 */
class Enforcement {
  readonly #ports: EnforcementPorts;
  /** The comparison last requested for each connection's user. */
  readonly #compared = new WeakMap<Connection, Comparison>();

  constructor(ports: EnforcementPorts) {
    this.#ports = ports;
  }

  /**
   * Holds pushes to connections in a world until everything in the world's queue has run.
   * @param since the earliest time at which the connections' users may have lost a right.
   */
  #hold(world: string, connections: Iterable<Connection>, since: number): void {
    const ended = this.#ports.outboxes.ended(world);
    if (!ended) return;
    for (const connection of connections) connection.holdUntil(since, ended);
  }

  /**
   * Makes each connection in a world record the rights that its user has lost, or ends the
   * connection, before any later push. If the check takes too long, pushes are held until the check
   * is done.
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
    const { clock, pushes, states, store } = this.#ports;
    const state = await states.get(world);
    const now = clock.date();
    const speakers = await speakersAtDoor(store.program, state?.world.value, now);
    const connections = [...people.all];
    const uninvited = await this.#uninvited(world, state, connections);
    const ended = await this.#endedWithEvent(world, state, connections);
    await pushes.each(connections, (connection, login) => {
      const reason =
        reasonToEnd(login, state?.world, clock.date(), speakers) ??
        (uninvited.has(login.scope) ? "auth.invalid_token" : undefined) ??
        (ended.has(login.identity.invitation?.id) ? "auth.expired_token" : undefined);
      if (reason) endWithError(connection, reason);
      // Records lost rights. Held pushes that relied on these rights may by now be too old to be
      // sent.
      else connection.viewOf(state!);
      return undefined;
    });
  }

  /** Returns the invitations of connections that have ended because the event's end has moved. */
  async #endedWithEvent(
    world: string,
    state: LiveWorldState | undefined,
    connections: readonly Connection[],
  ): Promise<ReadonlySet<string | undefined>> {
    const { clock, store } = this.#ports;
    const ended = new Set<string | undefined>();
    const end = state && endOf({ ends: "event", expires_at: null }, state.world.value.config);
    if (!end || end > clock.date()) return ended;
    for (const id of new Set(connections.map(({ login }) => login?.identity.invitation?.id))) {
      if (id === undefined) continue;
      const standing = await store.invitations.standing(world, id);
      if (standing?.ends === "event") ended.add(id);
    }
    return ended;
  }

  /** Returns the scopes of connections whose links are no longer valid. */
  async #uninvited(
    world: string,
    state: LiveWorldState | undefined,
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
   * Compares the users of connections with the store. Until the comparison is done, pushes to these
   * users are held, so that banned users receive nothing sent after the ban.
   */
  recheckUsers(world: string, connections: Connection[]): void {
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
   * Ends the connections of an invitation that no longer stands, and makes clients log in again if
   * it grants something else. Until that is done, pushes to these connections are held.
   */
  recheckInvitation(world: string, id: string, connections: Connection[]): void {
    const { clock, outboxes, states, store } = this.#ports;
    const check = async () => {
      const standing = await store.invitations.standing(world, id);
      const state = await states.get(world);
      for (const connection of connections) {
        const { login } = connection;
        // The login may have failed while the store was read.
        if (!login) continue;
        if (state) applyInvitation(connection, login, standing, state.world.value, clock.date());
        else endWithError(connection, "world.unknown_world");
      }
    };
    const isOver = () => connections.every(({ ended }) => ended);
    outboxes.at(world).enforce(check, () => {}, isOver);
    this.#hold(world, connections, clock.now());
  }

  /**
   * Makes the connections of banned, silenced or erased users reload everything.
   * @param isLast whether no later entry concerns the connection's user.
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
    // A ban takes effect even if the rooms cannot be read.
    let fault: { error: unknown } | undefined;
    const reading = this.#ports.states.get(world);
    const state = await reading.catch((error: unknown) => {
      fault = { error };
      return undefined;
    });
    const byId = new Map(users.map((user) => [user.id, user]));
    for (const { connection, login } of logins) {
      // The login may have failed while the store was read.
      if (connection.login !== login) continue;
      const user = byId.get(login.user);
      // An entry that arrived during the read may be a ban. The check that it triggers decides,
      // and until then the user receives nothing.
      if (!isGone(user) && !isLast(connection)) continue;
      applyModeration(connection, user, state, this.#ports.rightsFrame);
    }
    // The part of the comparison that needs the state is retried until the state can be read.
    if (fault) throw fault.error;
  }
}
