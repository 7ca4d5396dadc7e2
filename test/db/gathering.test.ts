import { setImmediate, setTimeout as delay } from "node:timers/promises";
import t, { type Test } from "tap";
import { worldOf } from "../helper.js";
import { allEvents, chatting, message } from "./store-contract/chat-setup.js";
import { openStore } from "../database.js";
import { testdir } from "../testdir.js";

// What crowds write shares transactions.

/** How long these writes gather, in milliseconds. */
const WINDOW = 8;

/** A store with a chat in it, which counts its transactions. */
async function counting(t: Test) {
  const dataDir = testdir(t);
  let transactions = 0;
  const onAppended = () => {
    transactions++;
    return undefined;
  };
  const store = openStore(t, dataDir, { onAppended });
  await store.worlds.create(worldOf("demo"));
  const chat = await chatting(store);
  return { store, ...chat, transactions: () => transactions };
}

void t.test("messages in a stream share transactions", async (t) => {
  const { store, room, say, transactions } = await counting(t);
  const before = transactions();
  const begin = performance.now();
  const sent: ReturnType<typeof say>[] = [];
  for (let i = 0; i < 50; i += 2) {
    sent.push(say(String(i)), say(String(i + 1)));
    await delay(1);
  }
  const ids = (await Promise.all(sent)).map(({ event }) => event.id);
  const windows = (performance.now() - begin) / WINDOW;
  const count = transactions() - before;
  t.ok(count <= windows + 2, `${count} transactions in ${windows} windows`);
  t.strictSame(
    ids,
    ids.toSorted((a, b) => a - b),
    "in their order",
  );
  const events = await allEvents(store, room);
  t.strictSame(
    events.slice(-50).map(({ id }) => id),
    ids,
  );
});

void t.test("a write that waits", async (t) => {
  const cases: [
    name: string,
    end: (
      kit: Awaited<ReturnType<typeof counting>>,
      t: Test,
    ) => Promise<unknown>,
  ][] = [
    [
      "leaves with one that does not",
      ({ store }) => store.worlds.update("demo", { title: "New" }),
    ],
    ["leaves before the store closes", ({ store }) => store.close()],
    [
      "does not share the fate of its company",
      async ({ store, room, eve }, t) => {
        const refused = store.chat.send("demo", room, message(eve));
        t.match(await refused.catch((error: unknown) => error), {
          problem: "denied",
        });
      },
    ],
  ];
  for (const [name, end] of cases) {
    await t.test(name, async (t) => {
      const kit = await counting(t);
      // After a quiet moment, the first one leaves at once.
      await delay(2 * WINDOW);
      const before = kit.transactions();
      const first = kit.say("first");
      // Now it is on its way, and the next one comes before its result.
      await setImmediate();
      const waiting = kit.say("second");
      const ended = end(kit, t);
      await first;
      t.match(await waiting, { event: { content: /second/ } });
      await ended;
      // The thread may find the first one and the others at the same time.
      const count = kit.transactions() - before;
      t.ok(count <= 2, `${count} transactions`);
    });
  }
});
