import { tokenOf } from "../helper.js";
import type { Client } from "../live/client.js";
import { type Audience, audiences, partOf, type Person } from "./cast.js";
import type { House } from "./house.js";
import { Mirror } from "./mirror.js";
import type { Stage } from "./stage.js";

/** A connection, and the state of its client; none if it is not logged in. */
export interface Watcher {
  readonly client: Client;
  readonly mirror: Mirror | undefined;
}

/** The users of the world, who may log in again. */
export const citizens: readonly Audience[] = audiences.filter(
  (name) => !["foreigner", "banned", "stranger"].includes(name),
);

/** The connections of a row. */
export class Seats {
  readonly #house: House;
  readonly #stage: Stage;
  readonly #callerEnters: boolean;
  readonly #note: (audience: Audience, fault: string) => void;
  readonly #watchers = new Map<Audience, Watcher>();
  readonly #clients: Client[] = [];

  /**
   * @param callerEnters whether the caller is in the room.
   * @param note takes the faults.
   */
  constructor(
    house: House,
    stage: Stage,
    callerEnters: boolean,
    note: (audience: Audience, fault: string) => void,
  ) {
    this.#house = house;
    this.#stage = stage;
    this.#callerEnters = callerEnters;
    this.#note = note;
  }

  of(name: Audience): Watcher {
    return this.#watchers.get(name)!;
  }

  /** Connects audiences, and waits until each has got the pushes about the others. */
  async fill(names: readonly Audience[] = audiences): Promise<void> {
    await Promise.all(
      names.map(async (name) => {
        const watcher = await this.seat(name);
        this.#watchers.set(name, watcher);
      }),
    );
    await this.settled();
    for (const { client, mirror } of this.#watchers.values()) {
      for (const frame of await client.all()) mirror?.pushed(frame);
    }
  }

  /** Connects an audience, once more if it is connected. */
  async seat(name: Audience): Promise<Watcher> {
    const { world, foreignWorld, room } = this.#stage;
    const isForeign = name === "foreigner";
    const client = await this.#connect(isForeign ? foreignWorld : world);
    client.onFault = (fault) => this.#note(name, fault);
    if (name === "stranger") return { client, mirror: undefined };
    const person: Person | "foreigner" = name === "second" ? "me" : name;
    const token = tokenOf(
      this.#stage.keyFor(person),
      this.#stage.claimsOf(person),
    );
    const [answer] = await client.login({ token });
    if (name === "banned") {
      if (answer !== "error") this.#note(name, "may log in");
      return { client, mirror: undefined };
    }
    if (answer === "error") throw new Error(`${name} may not log in`);
    const mirror = new Mirror(client, room);
    await this.#enter(name, client, mirror);
    return { client, mirror };
  }

  /** The nodes take turns. */
  async #connect(world: string): Promise<Client> {
    const { servers } = this.#house;
    const at = this.#clients.length % servers.length;
    const client = await servers[at]!.connect(world);
    this.#clients.push(client);
    return client;
  }

  async #enter(name: Audience, client: Client, mirror: Mirror): Promise<void> {
    if (this.#enters(name)) await mirror.follow(client);
    else if (citizens.includes(name)) {
      await client.do("room.enter", { room: this.#stage.lobby });
    }
  }

  #enters(name: Audience): boolean {
    if (name === "me") return this.#callerEnters;
    return name === "second" || partOf(name).enters === true;
  }

  /** Waits until the consequences of earlier actions are sent. */
  settled(): Promise<void> {
    return this.#house.fence.passed(this.#stage.world);
  }

  clear(): void {
    for (const { ws } of this.#clients) ws.terminate();
  }
}
