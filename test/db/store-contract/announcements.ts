import type { AnnouncementState } from "../../../db/contract/announcements.js";
import { worldOf } from "../../helper.js";
import { ABSENT, type Contract, fails } from "./setup.js";

export async function announcementContract(contract: Contract): Promise<void> {
  await contract("announcements are kept", async (t, store, open) => {
    const { announcements } = store;
    await store.worlds.create(worldOf("other"));
    t.strictSame(await announcements.list("demo"), []);
    const made = [
      await announcements.create("demo", { text: "one" }),
      await announcements.create("demo", {
        text: "🎪",
        show_until: 5000,
        state: "active",
      }),
      await announcements.create("demo", { text: "", state: "archived" }),
    ];
    t.match(made[0], { text: "one", show_until: null, state: "draft" });
    t.match(made[1], { text: "🎪", show_until: 5000, state: "active" });
    t.match(made[0]?.id, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    t.strictSame(await announcements.list("demo"), made, "the oldest first");
    t.strictSame(await (await open()).announcements.list("demo"), made);
    t.strictSame(await announcements.list("other"), []);
    await fails(t, announcements.create("none", { text: "x" }), "absent");
    await store.worlds.delete("demo");
    t.strictSame(await announcements.list("demo"), []);
  });

  await contract("an announcement goes forward", async (t, store) => {
    const { announcements } = store;
    await store.worlds.create(worldOf("other"));
    const states: AnnouncementState[] = ["draft", "active", "archived"];
    for (const from of states) {
      for (const to of states) {
        const draft = { text: "x", state: from };
        const before = await announcements.create("demo", draft);
        const { id } = before;
        const forward = states.indexOf(to) === states.indexOf(from) + 1;
        const after = { ...before, text: "y", state: forward ? to : from };
        const changes = { text: "y", state: to };
        const name = `${from} to ${to}`;
        t.strictSame(
          await announcements.update("demo", id, changes),
          { before, after },
          name,
        );
        t.strictSame((await announcements.list("demo")).at(-1), after, name);
      }
    }
    const first = (await announcements.list("demo"))[0]!;
    const timed = { ...first, show_until: 7 };
    const set = announcements.update("demo", first.id, { show_until: 7 });
    t.strictSame(await set, { before: first, after: timed });
    const unset = announcements.update("demo", first.id, { show_until: null });
    t.strictSame((await unset).after, { ...first, show_until: null });
    t.equal((await announcements.list("demo"))[0]?.id, first.id, "in place");
    const seen = (await announcements.list("demo"))[0]!;
    const races = await Promise.allSettled(
      ["one", "two", "three"].map((text) =>
        announcements.update("demo", seen.id, { text }, seen),
      ),
    );
    const won = races.filter(({ status }) => status === "fulfilled");
    t.equal(won.length, 1, "of writers who saw the same, one wins");
    const late = announcements.update("demo", seen.id, { text: "four" }, seen);
    await fails(t, late, "changed");
    await fails(t, announcements.update("demo", ABSENT, {}), "absent");
    await fails(t, announcements.update("other", first.id, {}), "absent");
  });
}
