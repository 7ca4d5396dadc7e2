import { defaultPermissionConfig } from "../../../../schemas/plain/permissions.js";
import { type Past, SharedDatabase } from "../database.js";
import { Network } from "../network.js";
import { Random, mockClockAndRandom } from "../random.js";
import { type Cluster, NO_FAULTS, ORIGIN, ProcessTime, Timeline } from "../timeline.js";
import { Client, type Who } from "./client.js";
import { Node } from "./node.js";
import { Oracle } from "./oracle.js";

const WORLD = "sample";

/** Room names, with the modules and rules of each room. */
const ROOMS: [name: string, modules: string[], rules: object][] = [
  ["Stage", ["chat.native", "question", "poll"], {}],
  ["Backstage", ["chat.native", "poll"], { "room.view": ["staff"] }],
  ["Lobby", ["chat.native volatile", "question"], {}],
  ["Hall", ["chat.native", "question moderated"], {}],
];

/** Parses a module as {@link ROOMS} writes it. */
function moduleOf(text: string) {
  const [type = "", how] = text.split(" ");
  const config = {
    ...(type === "chat.native" ? { volatile: how === "volatile" } : {}),
    ...(type === "question" && { active: true, requires_moderation: how === "moderated" }),
    ...(type === "poll" && { active: true }),
  };
  return { type, config };
}

/** The people who connect. Each has a right that some of the others lack. */
export const PEOPLE: Who[] = [
  { client_id: "guest-1" },
  { client_id: "guest-2" },
  ...["admin", "mod", "staff", "", "", "mod staff"].map((traits, i) => ({
    uid: `user-${i}`,
    traits: traits.split(" ").filter((trait) => trait !== ""),
    profile: { display_name: `User ${i}` },
  })),
];

/** A person who may see the viewers of rooms. */
const MODERATOR = PEOPLE[3]!;

/** The parameters of a {@link House}. The seed determines everything that happens there. */
export interface People {
  readonly seed: number;
  readonly nodes: number;
  readonly clients: number;
  readonly hasProgram: boolean;
}

/** A simulated server with its processes and clients, which records every violation. */
export class House implements Cluster {
  readonly world = WORLD;
  readonly timeline = new Timeline();
  readonly random: Random;
  readonly database: SharedDatabase;
  readonly network: Network;
  readonly oracle: Oracle;
  readonly nodes: Node[] = [];
  readonly clients: Client[] = [];
  faults = NO_FAULTS;
  /** Whether there are sessions, and clients request the program. */
  readonly hasProgram: boolean;
  /** Violations found so far; there must be none at the end. */
  readonly violations: string[] = [];
  readonly #restore: () => void;
  #names = 0;
  #secrets = 0;

  private constructor(
    { seed, hasProgram }: People,
    readonly trace: (line: string) => void,
  ) {
    this.random = new Random(seed);
    this.hasProgram = hasProgram;
    const { timeline, random } = this;
    this.#restore = mockClockAndRandom(random, () => ORIGIN + Math.floor(timeline.now));
    this.database = new SharedDatabase(new ProcessTime(timeline));
    this.network = new Network(timeline, random, () => this.faults);
    this.oracle = new Oracle(this);
  }

  /**
   * Creates the world, and starts processes and clients.
   * @param trace receives a line for each frame.
   */
  static async open(people: People, trace: (line: string) => void): Promise<House> {
    const house = new House(people, trace);
    const furnished = house.#furnish();
    await house.timeline.runUntil(0);
    await furnished;
    house.#fill(people);
    return house;
  }

  close(): void {
    for (const node of this.nodes) node.close();
    this.#restore();
  }

  #fill({ seed, nodes, clients }: People): void {
    for (let i = 0; i < nodes; i++) this.nodes.push(this.#newNode());
    for (let i = 0; i < clients; i++) {
      const who = PEOPLE[i % PEOPLE.length]!;
      const changes = i % 3 !== 2;
      const hasOneRoom = who === MODERATOR;
      this.clients.push(
        new Client(this, `client ${i}`, who, changes, seed + i, undefined, hasOneRoom),
      );
    }
    for (const client of this.clients) client.connect();
  }

  /**
   * Returns a unique text. @param kind the kind of object that contains it, from which the oracle
   * infers who may read it.
   */
  secret(kind: "m" | "q" | "p" | "a" | "r"): string {
    return `«${kind}${++this.#secrets}»`;
  }

  after(delay: number, act: () => void): void {
    this.timeline.at(this.timeline.now + delay, act);
  }

  complain(what: string): void {
    const at = Math.round(this.timeline.now);
    this.violations.push(`at ${at} ms: ${what}`);
  }

  /** Picks the process for the next connection. */
  nodeFor(random: Random): Node | undefined {
    const alive = this.nodes.filter(({ time }) => !time.isOver);
    return alive.length > 0 ? random.pick(alive) : undefined;
  }

  /** Returns the id of a user, now or in a past state. */
  userOf(who: Who, { users }: Pick<Past, "users"> = this.database.present): string | undefined {
    for (const user of users.values()) {
      const isThis = "uid" in who ? user.token_id === who.uid : user.client_id === who.client_id;
      if (isThis) return user.id;
    }
    return undefined;
  }

  /** Whether a client has been able to read an event ever since it happened. */
  mayAlwaysRead(client: Client, channel: string, { tag }: { tag: number }): boolean {
    const { past, commit } = this.database;
    for (let i = this.database.commitOf(tag); i <= commit; i++) {
      if (!this.oracle.mayRead(client, channel, past[i]!)) return false;
    }
    return true;
  }

  /** Kills a process, and starts another one later. */
  kill(index: number, pause: number): void {
    const node = this.nodes[index % this.nodes.length]!;
    if (node.time.isOver) return;
    node.kill();
    this.after(pause, () => {
      this.nodes[index % this.nodes.length] = this.#newNode();
    });
  }

  #newNode(): Node {
    return new Node(this, `process-${++this.#names}`);
  }

  async #furnish(): Promise<void> {
    const { worlds, rooms, announcements } = this.database.store;
    await worlds.create({
      id: WORLD,
      title: "Sample",
      config: { JWT_secrets: [] },
      permission_config: { ...defaultPermissionConfig, "chat.moderate": [["admin", "mod"]] },
      domain: "sample.example.org",
    });
    let sorting_priority = 0;
    for (const [, modules, permission_config] of ROOMS) {
      await rooms.create(WORLD, {
        name: this.secret("r"),
        module_config: modules.map(moduleOf),
        permission_config: permission_config as never,
        sorting_priority: ++sorting_priority,
      });
    }
    await announcements.create(WORLD, { text: this.secret("a"), state: "active" });
  }
}
