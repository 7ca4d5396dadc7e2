import type { WorldStore } from "../../../db/contract/store.js";
import type { PermissionConfig } from "../../../schemas/rules.js";
import type { World } from "../../../schemas/worlds.js";
import type { FrameFor, Send, Tell } from "../../delivery/push.js";
import type { EntryHandlers } from "../../module.js";
import type { Gathering } from "../../people/hub.js";
import { encoded } from "../../rules/encoding.js";
import { mayInRoom } from "../../rules/rights.js";
import { objectIn, ownUser, publicUser, scheduleOf } from "../../rules/shapes.js";
import { oncePer } from "../../rules/shared-reads.js";
import type { WorldState } from "../../rules/world-state.js";
import type { Connection } from "../../socket/connection.js";
import { pushFrame, textFrame } from "../../socket/frame.js";
import { COALESCED, Enforcement, type EnforcementPorts } from "./enforcement.js";
import { WorldPushes, type WorldPushPorts } from "./pushes.js";

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
      const tell: Tell = (send, _, people) => this.#tell(world, toAll, send, people);
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
    const { doors, pushes } = this.#ports;
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
        doors.leaveRoom(connection, id);
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
