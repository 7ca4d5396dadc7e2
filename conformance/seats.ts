import { type Audience, audiences, partOf, type Person } from "./cast.js";
import type { Client } from "./client.js";
import { Mirror } from "./mirror.js";
import type { Site } from "./site.js";
import type { Stage } from "./stage.js";

/** A connection, and the state of its client; none if it is not logged in. */
export interface Watcher {
  readonly client: Client;
  readonly mirror: Mirror | undefined;
}

/** The audiences that are not logged in. */
const unknown: readonly Audience[] = ["banned", "stranger"];

/** The users of the world; each may log in again. */
export const citizens: readonly Audience[] = audiences.filter(
  (name) => name !== "foreigner" && !unknown.includes(name),
);

/** The connections of a row. */
export class Seats {
  readonly #site: Site;
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
    site: Site,
    stage: Stage,
    callerEnters: boolean,
    note: (audience: Audience, fault: string) => void,
  ) {
    this.#site = site;
    this.#stage = stage;
    this.#callerEnters = callerEnters;
    this.#note = note;
  }

  of(name: Audience): Watcher {
    return this.#watchers.get(name)!;
  }

  /** Connects audiences, and waits until each has got the pushes about the others. */
  async fill(names: readonly Audience[] = audiences): Promise<void> {
    await this.#fill(names.filter((name) => !unknown.includes(name)));
    const clients = names
      .filter((name) => citizens.includes(name))
      .map((name) => this.of(name).client);
    await this.#site.gathered(this.#stage, clients);
    // Last, because servers end connections that do not log in.
    await this.#fill(names.filter((name) => unknown.includes(name)));
    for (const { client, mirror } of this.#watchers.values()) {
      for (const frame of await client.all()) mirror?.pushed(frame);
    }
  }

  async #fill(names: readonly Audience[]): Promise<void> {
    await Promise.all(
      names.map(async (name) => {
        this.#watchers.set(name, await this.seat(name));
      }),
    );
  }

  /** Connects an audience, once more if it is connected. */
  async seat(name: Audience): Promise<Watcher> {
    const { world, foreignWorld, room } = this.#stage;
    const isForeign = name === "foreigner";
    const client = await this.#connect(isForeign ? foreignWorld! : world);
    client.onFault = (fault) => this.#note(name, fault);
    if (name === "stranger") return { client, mirror: undefined };
    const person: Person | "foreigner" = name === "second" ? "me" : name;
    const token = this.#stage.tokenOf(person);
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

  async #connect(world: string): Promise<Client> {
    const client = await this.#site.connect(world, this.#clients.length);
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
    const open = this.#clients.filter((client) => client.isOpen);
    return this.#site.settled(this.#stage, open);
  }

  clear(): void {
    for (const { ws } of this.#clients) ws.terminate();
  }
}
