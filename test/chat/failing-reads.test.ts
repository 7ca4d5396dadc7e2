import t from "tap";
import {
  type Store,
  StoreError,
  type StoreProblem,
} from "../../db/contract/store.js";
import { until } from "../helper.js";
import { type Client, type Json, soon } from "../live/client.js";
import { defaultPermissionConfig } from "../../schemas/plain/permissions.js";
import { type Pair, startPair } from "./pair.js";

// Each read that a write of another server causes fails once. Rights hold all the same,
// and no client keeps what is over.

type Method = (...args: unknown[]) => Promise<unknown>;

/** The calls of a store, each of which may fail. */
class Calls {
  /** Those since {@link begin}, by the name of their method. */
  readonly seen = new Set<string>();
  /** How often one has failed. */
  failures = 0;
  #fails: (name: string) => StoreProblem | undefined = () => undefined;

  constructor(store: Store) {
    for (const [part, methods] of Object.entries(store)) {
      if (typeof methods !== "object") continue;
      for (const [method, call] of Object.entries(methods as object)) {
        const name = `${part}.${method}`;
        const original = call as Method;
        Object.assign(methods as object, {
          [method]: async (...args: unknown[]) => {
            this.seen.add(name);
            const problem = this.#fails(name);
            if (!problem) return original(...args);
            this.failures++;
            throw new StoreError(problem, "It fails in this test.");
          },
        });
      }
    }
  }

  /** From now on, a method fails as often as is said; none does by default. */
  begin(name?: string, problem: StoreProblem = "busy", times = 1): void {
    this.seen.clear();
    this.failures = 0;
    this.#fails = (called) =>
      called === name && times-- > 0 ? problem : undefined;
  }
}

/** The users of a row, and its place. `boss` writes on one server, `ann` listens on the other. */
interface Scene {
  readonly pair: Pair;
  readonly boss: Client;
  readonly ann: Client;
  readonly room: string;
  /** Loses what the servers tell each other meanwhile. */
  readonly missed: (act: () => Promise<unknown>) => Promise<void>;
}

interface Row {
  readonly what: string;
  /** @returns the write, and a promise of its consequence. */
  readonly prepare: (scene: Scene) => Promise<{
    act: () => Promise<unknown>;
    follows: () => Promise<unknown>;
    undo?: () => Promise<unknown>;
  }>;
  /** The reads that decide whether ann may read on in the room: until they succeed, she may not. */
  readonly decidedBy?: readonly string[];
  /** The reads that it causes; by default, the ones when nothing fails. */
  readonly reads?: readonly string[];
}

/** Reads that happen all the time. */
const REGULAR = ["log.heads", "chat.mark"];

const RULES = defaultPermissionConfig;

const ROOM = {
  module_config: [
    { type: "chat.native", config: {} },
    { type: "question", config: { active: true, requires_moderation: false } },
    { type: "poll", config: { active: true } },
  ],
};

const archived = (name: "question" | "poll", id: string) => (data: Json) =>
  data[name].id === id && data[name].state === "archived";

const ask = async ({ boss, ann, room }: Scene): Promise<string> => {
  const { question } = await boss.do("question.ask", { room, content: "Why?" });
  const { id } = question;
  await ann.next("question.created_or_updated", (it) => it.question.id === id);
  await ann.do("question.list", { room });
  return id as string;
};

const open = async ({ boss, ann, room }: Scene): Promise<string> => {
  const options = [{ content: "Yes" }];
  const draft = { room, content: "Which?", state: "open", options };
  const { id } = (await boss.do("poll.create", draft)).poll as { id: string };
  await ann.next("poll.created_or_updated", (it) => it.poll.id === id);
  await ann.do("poll.list", { room });
  return id;
};

const announce = async ({ boss, ann }: Scene, more: object = {}) => {
  const draft = { text: "Lunch", state: "active", ...more };
  const { announcement } = await boss.do("announcement.create", draft);
  const { id } = announcement;
  await ann.next("announcement.created_or_updated", (it) => it.id === id);
  return id as string;
};

const isOver = (id: string) => (data: Json) =>
  data.id === id && data.is_visible === false;

const rows: Row[] = [
  {
    what: "a ban",
    decidedBy: ["users.getMany"],
    prepare: async ({ boss, ann }) => ({
      act: () => boss.do("user.ban", { id: ann.id }),
      follows: () => soon(ann.closed),
    }),
  },
  {
    what: "a ban whose hint is lost",
    decidedBy: ["users.getMany"],
    prepare: async ({ pair, ann, missed }) => ({
      act: () =>
        missed(() => pair.one.store.users.moderate("demo", ann.id, "banned")),
      follows: () => soon(ann.closed),
    }),
  },
  {
    what: "a world that closes",
    decidedBy: ["worlds.get", "rooms.all"],
    prepare: async ({ pair, ann }) => ({
      act: () =>
        pair.one.store.worlds.configure("demo", {
          permission_config: { ...RULES, "world.view": ["admin"] },
        }),
      follows: async () => {
        t.match(await ann.next("error"), { code: "auth.denied" });
        await soon(ann.closed);
      },
      undo: () =>
        pair.one.store.worlds.configure("demo", { permission_config: RULES }),
    }),
  },
  {
    what: "a room that closes",
    decidedBy: ["worlds.get", "rooms.all"],
    prepare: async ({ pair, ann, room }) => ({
      act: () =>
        pair.one.store.rooms.update("demo", room, {
          permission_config: { "room.view": ["admin"] },
        }),
      follows: () =>
        ann.next("world.updated", ({ rooms }) =>
          rooms.every(({ id }: Json) => id !== room),
        ),
    }),
  },
  {
    what: "a question that is hidden",
    prepare: async (scene) => {
      const { boss, ann, room } = scene;
      const id = await ask(scene);
      const state = "archived";
      return {
        act: () => boss.do("question.update", { room, id, state }),
        follows: () =>
          ann.next("question.created_or_updated", archived("question", id)),
      };
    },
  },
  {
    what: "a question whose hiding is lost on the bus",
    prepare: async (scene) => {
      const { boss, ann, room, missed } = scene;
      const id = await ask(scene);
      const state = "archived";
      return {
        act: () =>
          missed(() => boss.do("question.update", { room, id, state })),
        follows: () =>
          ann.next("question.created_or_updated", archived("question", id)),
      };
    },
  },
  {
    what: "a question that is deleted",
    prepare: async (scene) => {
      const { boss, ann, room } = scene;
      const id = await ask(scene);
      return {
        act: () => boss.do("question.delete", { room, id }),
        follows: () => ann.next("question.deleted", (it) => it.id === id),
      };
    },
  },
  {
    what: "a poll that is hidden",
    prepare: async (scene) => {
      const { boss, ann, room } = scene;
      const id = await open(scene);
      const state = "archived";
      return {
        act: () => boss.do("poll.update", { room, id, state }),
        follows: () =>
          ann.next("poll.created_or_updated", archived("poll", id)),
      };
    },
  },
  {
    what: "a poll whose hiding is lost on the bus",
    prepare: async (scene) => {
      const { boss, ann, room, missed } = scene;
      const id = await open(scene);
      const state = "archived";
      return {
        act: () => missed(() => boss.do("poll.update", { room, id, state })),
        follows: () =>
          ann.next("poll.created_or_updated", archived("poll", id)),
      };
    },
  },
  {
    what: "an announcement that is archived",
    prepare: async (scene) => {
      const { boss, ann } = scene;
      const id = await announce(scene);
      const state = "archived";
      return {
        act: () => boss.do("announcement.update", { id, state }),
        follows: () => ann.next("announcement.created_or_updated", isOver(id)),
      };
    },
  },
  {
    what: "an announcement that ends by itself",
    reads: ["announcements.list"],
    prepare: async (scene) => {
      const { ann } = scene;
      const show_until = new Date(Date.now() + 400).toISOString();
      const id = await announce(scene, { show_until });
      return {
        act: async () => {},
        follows: () => ann.next("announcement.created_or_updated", isOver(id)),
      };
    },
  },
  {
    what: "a direct channel that appears",
    prepare: async ({ boss, ann }) => ({
      act: () =>
        boss.do("chat.direct.create", { users: [ann.id], hide: false }),
      follows: () => ann.next("chat.channels"),
    }),
  },
];

void t.test("each read of a listener fails once", async (t) => {
  const pair = await startPair(t);
  const { one, two } = pair;
  const calls = new Calls(two.app.live.store);
  const named = (uid: string, ...traits: string[]) => ({
    ...{ uid, traits },
    profile: { display_name: uid },
  });
  async function missed(act: () => Promise<unknown>): Promise<void> {
    pair.link = () => [];
    await act();
    await new Promise(setImmediate);
    pair.link = (message) => [message];
  }

  let count = 0;
  /** Carries out a row. @returns the reads that it caused. */
  async function run(row: Row, fails?: string, problem?: StoreProblem) {
    const name = `Room ${++count}`;
    const { value } = await one.store.rooms.create("demo", { ...ROOM, name });
    const room = value.id;
    // Others each time, as rates belong to people.
    const boss = await one.person(named(`boss ${count}`, "admin"));
    const ann = await two.person(named(`ann ${count}`));
    const witness = await two.person(named(`witness ${count}`, "admin"));
    const clients = [boss, ann, witness];
    for (const client of clients) {
      await client.do("room.enter", { room });
      await client.do("chat.subscribe", { channel: room });
    }
    await boss.do("chat.join", { channel: room });
    await until(() => one.app.live.presence.countIn("demo", room) === 3);
    const scene = { pair, boss, ann, room, missed };
    const { act, follows, undo } = await row.prepare(scene);
    await ann.all();
    let heard = false;
    ann.ws.on("message", (data) => {
      heard ||= (data as Buffer).includes('"secret"');
    });
    calls.begin(fails, problem);
    await act();
    let hasFollowed = false;
    const following = follows().finally(() => (hasFollowed = true));
    // What is read because of something else need not be read this time.
    if (fails) await until(() => calls.failures > 0 || hasFollowed);
    const hasFailed = calls.failures > 0;
    const content = { type: "text", body: "secret" };
    const secret = { channel: room, event_type: "channel.message", content };
    if (fails) await boss.do("chat.send", secret);
    await following;
    const seen = [...calls.seen];
    calls.begin();
    if (fails) {
      const isSecret = (data: Json) => data.content.body === "secret";
      await witness.next("chat.event", isSecret);
      if (hasFailed && row.decidedBy?.includes(fails)) {
        t.notOk(heard, "ann reads nothing more");
      }
    }
    await undo?.();
    for (const client of clients) client.close();
    await soon(Promise.all(clients.map(({ closed }) => closed)));
    return seen.filter((name) => !REGULAR.includes(name));
  }

  for (const row of rows) {
    await t.test(row.what, async (t) => {
      const { reads = await run(row) } = row;
      for (const [i, read] of reads.entries()) {
        const problem = i % 2 === 0 ? "busy" : "unusable";
        await t.resolves(run(row, read, problem), `${read} is ${problem}`);
      }
    });
  }
});
