import { defaultPermissionConfig } from "../../../schemas/plain/permissions.js";
import { Random } from "../random.js";
import { Database, type Past } from "../store/database.js";
import { announcementStore, roomStore, worldStore } from "../store/places.js";
import type { StoreFaults } from "../store/store.js";
import { ORIGIN, Timeline } from "../timeline.js";
import { Client, type Who } from "./client.js";
import { type BusFaults, Network } from "./network.js";
import { Node } from "./node.js";
import { Oracle } from "./oracle.js";

/** All faults, each as a probability. */
export type Faults = StoreFaults & BusFaults;

export const NO_FAULTS: Faults = {
  ...{ failed: 0, doubtful: 0, slow: 0 },
  ...{ lost: 0, doubled: 0, late: 0 },
};

const WORLD = "sample";

/** Room names, with what is in the room, and who may do what there. */
const ROOMS: [name: string, modules: string[], rules: object][] = [
  ["Stage", ["chat.native", "question", "poll"], {}],
  ["Backstage", ["chat.native", "poll"], { "room.view": ["staff"] }],
  ["Lobby", ["chat.native volatile", "question"], {}],
  ["Hall", ["chat.native", "question moderated"], {}],
];

/** A module as the scenario names it. */
function moduleOf(text: string) {
  const [type = "", how] = text.split(" ");
  const config = {
    ...(type === "chat.native" ? { volatile: how === "volatile" } : {}),
    ...(type === "question" && {
      active: true,
      requires_moderation: how === "moderated",
    }),
    ...(type === "poll" && { active: true }),
  };
  return { type, config };
}

/** Who comes. Each has a right that some of the others lack. */
export const PEOPLE: Who[] = [
  { client_id: "guest-1" },
  { client_id: "guest-2" },
  ...["admin", "mod", "staff", "", "", "mod staff"].map((traits, i) => ({
    uid: `user-${i}`,
    traits: traits.split(" ").filter((trait) => trait !== ""),
    profile: { display_name: `User ${i}` },
  })),
];

/** One who may see the viewers of rooms. */
const MODERATOR = PEOPLE[3]!;

/** The simulated server with its processes and its clients, and everything that it complains of. */
export class House {
  readonly world = WORLD;
  readonly timeline = new Timeline();
  readonly random: Random;
  readonly database: Database;
  readonly network: Network;
  readonly oracle: Oracle;
  readonly nodes: Node[] = [];
  readonly clients: Client[];
  faults = NO_FAULTS;
  /** Whether there are sessions, and clients ask for the program. */
  readonly hasProgram: boolean;
  /** Violations, which must never happen. */
  readonly violations: string[] = [];
  /** All that was sent to clients, in short: two runs of one seed have the same. */
  digest = 0;
  #names = 0;
  #secrets = 0;

  /**
   * @param trace gets a line for each frame.
   */
  constructor(
    {
      seed,
      nodes,
      clients,
      hasProgram,
    }: { seed: number; nodes: number; clients: number; hasProgram: boolean },
    readonly trace: (line: string) => void,
  ) {
    this.random = new Random(seed);
    this.hasProgram = hasProgram;
    const { timeline, random } = this;
    const date = () => ORIGIN + Math.floor(timeline.now);
    this.database = new Database(random, date);
    this.network = new Network(timeline, random, () => this.faults);
    this.oracle = new Oracle(this);
    this.#furnish();
    for (let i = 0; i < nodes; i++) this.nodes.push(this.#newNode());
    this.clients = Array.from({ length: clients }, (_, i) => {
      const who = PEOPLE[i % PEOPLE.length]!;
      const changes = i % 3 !== 2;
      const hasOneRoom = who === MODERATOR;
      return new Client(
        ...([this, `client ${i}`, who, changes, seed + i] as const),
        ...([undefined, hasOneRoom] as const),
      );
    });
    for (const client of this.clients) client.connect();
  }

  /** A text that is in nothing else. @param kind what it is in: the oracle knows who may read it. */
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

  /** Takes note of a frame. */
  note(text: string): void {
    let hash = this.digest;
    for (let i = 0; i < text.length; i++) {
      hash = (Math.imul(hash, 31) + text.charCodeAt(i)) | 0;
    }
    this.digest = hash;
  }

  /** The process to which the next connection goes. */
  nodeFor(random: Random): Node | undefined {
    const alive = this.nodes.filter(({ time }) => !time.isOver);
    return alive.length > 0 ? random.pick(alive) : undefined;
  }

  /** The id of a user, now or in a state of the past. */
  userOf(
    who: Who,
    { users }: Pick<Past, "users"> = this.database.tables,
  ): string | undefined {
    for (const user of users.values()) {
      const isThis =
        "uid" in who
          ? user.token_id === who.uid
          : user.client_id === who.client_id;
      if (isThis) return user.id;
    }
    return undefined;
  }

  /** Whether a client could read an event ever since it happened. */
  mayAlwaysRead(client: Client, channel: string, event: number): boolean {
    const { past, commit } = this.database;
    for (let i = this.commitOf(event); i <= commit; i++) {
      if (!this.oracle.mayRead(client, channel, past[i]!)) return false;
    }
    return true;
  }

  /** The commit of an event. */
  commitOf(event: number): number {
    const entries = this.database.tables.log.get(WORLD) ?? [];
    const entry = entries.find(({ seq }) => seq === event);
    return entry ? this.database.commitOf(entry.tag) : 0;
  }

  /** A process dies, and another one starts later. */
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

  #furnish(): void {
    this.database.write((tx) => {
      worldStore.create!(tx, {
        id: WORLD,
        title: "Sample",
        config: { JWT_secrets: [] },
        permission_config: {
          ...defaultPermissionConfig,
          "chat.moderate": [["admin", "mod"]],
        },
        domain: "sample.example.org",
      });
      ROOMS.forEach(([, modules, permission_config], i) =>
        roomStore.create!(tx, WORLD, {
          name: this.secret("r"),
          module_config: modules.map(moduleOf),
          permission_config: permission_config as never,
          sorting_priority: i + 1,
        }),
      );
      const text = this.secret("a");
      announcementStore.create!(tx, WORLD, { text, state: "active" });
    });
  }
}
