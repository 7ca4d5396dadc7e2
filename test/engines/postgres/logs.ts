import { setTimeout as sleep } from "node:timers/promises";
import { INDEX } from "../../../db/log/entries.js";
import { keyOf, until, worldOf } from "../../helper.js";
import { chatting, message } from "../../db/store-contract/chat-setup.js";
import { emptyDatabase, openNode, type Part } from "./setup.js";

/** The logs of worlds that several nodes write. */
export const logs: Part = async (t, server) => {
  await t.test("entries of two nodes have no gaps, ever", async (t) => {
    const url = await emptyDatabase(server);
    const nodes = [await openNode(t, url, 8), await openNode(t, url, 8)];
    const reader = await openNode(t, url);
    const { worlds } = nodes[0]!;
    await worlds.create(worldOf("demo"));
    const { room, ada } = await chatting(nodes[0]!);
    await reader.events.follow("demo");
    const first = reader.events.reached("demo");
    const followed: number[] = [];
    reader.events.subscribe((event) => {
      if ("seq" in event && event.world === "demo") followed.push(event.seq);
    });

    let isOver = false;
    const gaps: unknown[] = [];
    const watching = (async () => {
      while (!isOver) {
        const { entries } = await reader.log.since("demo", first, 10_000);
        const [head] = await reader.log.heads(["demo"]);
        const gap = entries.findIndex(({ seq }, i) => seq !== first + i + 1);
        if (gap >= 0) gaps.push(entries[gap]);
        if (head!.seq < first + entries.length) gaps.push(head);
        await sleep(2);
      }
    })();
    const writes = Array.from({ length: 300 }, (_, i) => {
      const { rooms, chat, worlds } = nodes[i % 2]!;
      return [
        () => chat.send("demo", room, message(ada, `${i}`)),
        () => rooms.create("demo", { name: `${i}` }),
        () => rooms.update("demo", "absent", {}).catch(() => {}),
        () => worlds.configure("demo", { title: `${i}` }),
        () => worlds.configure("other", { title: `${i}` }),
      ][i % 5]!();
    });
    await Promise.all(writes);
    isOver = true;
    await watching;
    t.strictSame(gaps, []);
    const { entries } = await reader.log.since("demo", first, 10_000);
    t.equal(entries.length, 180, "one for each write");
    await until(() => followed.length >= 180);
    t.strictSame(
      followed,
      entries.map(({ seq }) => seq),
      "a node hears of them all without a bus",
    );
    const tags = new Set(entries.map(({ tag }) => tag));
    t.equal(tags.size, 180);
    const [head] = await reader.log.heads(["demo"]);
    const { seq, tag } = entries.at(-1)!;
    t.strictSame(head, { seq, tag });
    const after = await reader.log.since("demo", seq - 10, 4);
    t.equal(after.tag, entries.at(-11)!.tag);
    t.strictSame(after.entries, entries.slice(-10, -6), "in slices, too");
  });

  await t.test("worlds that are found otherwise, at once", async (t) => {
    const url = await emptyDatabase(server);
    const nodes = [await openNode(t, url), await openNode(t, url)];
    const [head] = await nodes[0]!.log.heads([INDEX]);
    const ids = Array.from({ length: 20 }, (_, i) => `w${i}`);
    await Promise.all(
      ids.map((id, i) => nodes[i % 2]!.worlds.create(worldOf(id))),
    );
    await Promise.all(
      ids.map((id, i) =>
        nodes[i % 2]!.worlds.update(id, {
          config: { JWT_secrets: [keyOf(`new-${id}`)] },
        }),
      ),
    );
    await nodes[0]!.worlds.update("w0", { title: "found as before" });
    const { entries } = await nodes[1]!.log.since(INDEX, head!.seq, 100);
    t.strictSame(
      entries.map(({ seq }) => seq - head!.seq),
      Array.from({ length: 40 }, (_, i) => i + 1),
    );
  });

  await t.test("what entries hid is erased", async (t) => {
    const url = await emptyDatabase(server);
    const node = await openNode(t, url);
    const { worlds, questions, log } = node;
    await worlds.create(worldOf("demo"));
    const { room, ada, bob } = await chatting(node);
    const ask = async (content: string) => {
      const draft = { sender: ada, content, state: "visible" } as const;
      return (await questions.create("demo", room, draft)).id;
    };
    const hide = (id: string) =>
      questions.update("demo", room, id, { state: "archived" }, bob);
    const hidden = async () =>
      (await log.since("demo", 0, 1000)).entries.flatMap((entry) =>
        "hidden" in entry ? entry.hidden : [],
      );
    const [first, second] = [await ask("first"), await ask("second")];
    await hide(first);
    t.match(await hidden(), [{ content: "first" }]);
    // In one transaction.
    await Promise.all([
      worlds.configure("demo", { title: "a" }),
      hide(second),
      questions.delete("demo", room, second),
    ]);
    t.strictSame(await hidden(), []);
    const third = await ask("third");
    await hide(third);
    await log.prune("demo", 0);
    t.match(await hidden(), [{ content: "third" }], "it is young");
    await server.run(
      "UPDATE log SET at = at - 3600000",
      new URL(url).pathname.slice(1),
    );
    await log.prune("demo", 0);
    t.strictSame(await hidden(), []);
  });

  await t.test("old entries are pruned, also of deleted worlds", async (t) => {
    const url = await emptyDatabase(server);
    const { worlds, log, db } = await openNode(t, url);
    for (const id of ["demo", "gone"]) {
      await worlds.create(worldOf(id));
      await worlds.configure(id, { title: "a" });
    }
    await worlds.delete("gone");
    const [head, gone] = await log.heads(["demo", "gone"]);
    const count = (world: string) =>
      db.sql.value("SELECT count(*) FROM log WHERE world_id = $1", [world]);
    t.equal(await log.prune(INDEX, 0), false);
    t.equal(await count("gone"), 3, "a follower may still have to read them");
    await db.sql.run("UPDATE log SET at = at - 3600001");
    await log.prune(INDEX, 0);
    t.equal(await count("gone"), 0);
    t.equal(await count("demo"), 2);
    await log.prune("demo", Date.now());
    t.equal(await count("demo"), 0);
    t.strictSame(await log.heads(["demo", "gone"]), [head, gone]);
    t.strictSame(
      await log.since("demo", head!.seq, 10),
      { tag: head!.tag, entries: [] },
      "the last one is known",
    );
    t.equal((await log.since("demo", head!.seq - 1, 10)).tag, undefined);
    await worlds.create(worldOf("gone"));
    const [again] = await log.heads(["gone"]);
    t.equal(again!.seq, gone!.seq + 1, "no number is given twice");
  });
};
