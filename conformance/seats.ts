import { setTimeout as delay } from "node:timers/promises";
import { type Audience, audiences, partOf, type Person } from "./cast.js";
import type { Client } from "./client.js";
import { differences, Mirror } from "./mirror.js";
import type { Row } from "./row.js";
import type { Stage } from "./stage.js";

/** A connection and its mirrored state, which is undefined without a login. */
export interface Watcher {
  readonly client: Client;
  readonly mirror: Mirror | undefined;
}

/** The audiences that never log in. */
const unknown: readonly Audience[] = ["banned", "stranger"];

/** Applies the pushes received so far. */
export async function takeAll({ client, mirror }: Watcher): Promise<void> {
  for (const frame of await client.all()) mirror?.pushed(frame);
}

/** The audiences that can log in to the world a second time. */
export const citizens: readonly Audience[] = audiences.filter(
  (name) => name !== "foreigner" && !unknown.includes(name),
);

/** Maximum time by which a node may lag behind rights granted on another node, in milliseconds. */
const MAX_RIGHTS_LAG_MS = 1000;

/** A row's connections. */
export class Seats {
  readonly #stage: Stage;
  /** Which of the caller's connections enter the room; both by default. */
  #entering: "neither" | "second" | undefined;
  readonly #note: (audience: Audience, fault: string) => void;
  readonly #watchers = new Map<Audience, Watcher>();
  readonly #clients: Client[] = [];

  /** @param note receives faults. */
  constructor(stage: Stage, note: (audience: Audience, fault: string) => void) {
    this.#stage = stage;
    this.#note = note;
  }

  /** Prepares a row and connects its audiences. */
  async prepare(row: Row, names: readonly Audience[]): Promise<void> {
    const stage = this.#stage;
    await stage.furnish();
    if (row.before?.joined !== false) await stage.join("me");
    if ("act" in row) await row.prepare?.(stage);
    else stage.payload = (await row.payload?.(stage)) ?? null;
    await stage.ready();
    this.#entering = row.before?.enters;
    await this.fill(names);
  }

  of(name: Audience): Watcher {
    return this.#watchers.get(name)!;
  }

  /** Connects audiences, and waits until each audience has received the pushes about the other audiences. */
  async fill(names: readonly Audience[] = audiences): Promise<void> {
    await this.#fill(names.filter((name) => !unknown.includes(name)));
    const clients = names
      .filter((name) => citizens.includes(name))
      .map((name) => this.of(name).client);
    await this.#stage.server.gathered(this.#stage.place, clients);
    // Last, because servers close connections that do not log in.
    await this.#fill(names.filter((name) => unknown.includes(name)));
    for (const watcher of this.#watchers.values()) await takeAll(watcher);
  }

  async #fill(names: readonly Audience[]): Promise<void> {
    await Promise.all(
      names.map(async (name) => {
        this.#watchers.set(name, await this.seat(name));
      }),
    );
  }

  /** Opens a connection for an audience, even if the audience already has a connection. */
  async seat(name: Audience): Promise<Watcher> {
    const { world, foreignWorld, room } = this.#stage;
    const isForeign = name === "foreigner";
    const visited = isForeign ? foreignWorld! : world;
    if (name === "stranger") {
      return { client: await this.#connect(visited, name), mirror: undefined };
    }
    const client = await this.#logIn(visited, name);
    if (name === "banned") return { client, mirror: undefined };
    const mirror = new Mirror(client, room);
    await this.#enter(name, client, mirror);
    return { client, mirror };
  }

  /**
   * Logs an audience in. Retries, because one of several nodes may learn a row's initial rights
   * slightly later than the other nodes.
   * @throws {Error} if the audience may not log in.
   */
  async #logIn(world: string, name: Audience): Promise<Client> {
    const person = name === "second" ? "me" : name;
    const limit = this.#stage.server.isCertain ? 0 : MAX_RIGHTS_LAG_MS;
    const deadline = performance.now() + limit;
    for (;;) {
      const client = await this.#connect(world, name);
      const token = this.#stage.tokenOf(person as Person | "foreigner");
      const [answer, data] = await client.login({ token });
      const isRefused = answer === "error";
      if (name === "banned") {
        if (!isRefused) this.#note(name, "may log in");
        return client;
      }
      if (!isRefused) return client;
      if (performance.now() >= deadline) {
        throw new Error(`${name} may not log in: ${JSON.stringify(data)}`);
      }
      client.close();
      await delay(100);
    }
  }

  async #connect(world: string, name: Audience): Promise<Client> {
    const client = await this.#stage.server.connect(world, this.#clients.length);
    client.onFault = (fault) => this.#note(name, fault);
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
    if (name === "me") return this.#entering === undefined;
    if (name === "second") return this.#entering !== "neither";
    return partOf(name).enters === true;
  }

  /**
   * Compares an audience's pushed state with the state of a new login. Skips parts that the
   * audience did not query or has left.
   * @returns the differences in each part.
   */
  behind(name: Audience, fresh: Mirror): [part: string, differences: string[]][] {
    const old = this.of(name).mirror!;
    const expected = fresh.doubting(old).picture();
    const known = old.doubting(fresh).picture();
    return Object.keys(expected)
      .filter((part) => known[part] !== undefined)
      .map((part) => [part, differences(known[part], expected[part], false, part)]);
  }

  /** Waits until the effects of earlier actions have been sent. */
  settled(): Promise<void> {
    const open = this.#clients.filter((client) => client.isOpen);
    return this.#stage.server.settled(this.#stage.place, open);
  }

  clear(): void {
    for (const { ws } of this.#clients) ws.terminate();
  }
}
