import type { Store } from "../../../db/contract/store.js";
import { addSession } from "./program.js";
import { ABSENT, ada, type Contract } from "./setup.js";

const MINUTE = 60_000;
const NINE = Date.parse("2027-03-01T09:00:00Z");

const addRoom = async (store: Store) =>
  (await store.rooms.create("demo", { name: "Stage" })).value.id;

export async function attendanceContract(contract: Contract): Promise<void> {
  await contract("how many people were in a room", async (t, store, open) => {
    const other = await open();
    const room = await addRoom(store);
    const sample = (at: number, people: number, by = store) =>
      by.attendance.sample("demo", at * MINUTE, [
        ...[{ room: ABSENT, people: 9 }],
        { room, people },
      ]);
    await sample(60, 5);
    await sample(60, 7, other);
    await sample(60, 2);
    await sample(61, 1);
    await sample(65, 3);
    await store.attendance.sample("none", 0, [{ room, people: 1 }]);
    const counts = async (from: number, every: number, limit = 9) =>
      (
        await other.attendance.counts("demo", room, {
          ...{ from: from * MINUTE, span: every * MINUTE, limit },
        })
      ).map(({ at, people }) => [at / MINUTE, people]);
    t.strictSame(await counts(0, 1), [
      ...[
        [60, 7],
        [61, 1],
      ],
      [65, 3],
    ]);
    t.strictSame(await counts(61, 1, 1), [[61, 1]]);
    t.strictSame(await counts(0, 5), [
      [60, 7],
      [65, 3],
    ]);
    await store.attendance.prune("demo", { counts: 61 * MINUTE, visits: 0 });
    t.strictSame(await counts(0, 10), [[60, 3]]);
    await store.rooms.delete("demo", room);
    t.strictSame(await counts(0, 1), []);
  });

  await contract("who was in a room, by session", async (t, store, open) => {
    const { attendance } = store;
    const other = (await open()).attendance;
    const room = await addRoom(store);
    const { session } = await addSession(store, {
      ...{ title: "Talk", room_id: room, state: "public" },
      starts_at: new Date(NINE).toISOString(),
      ends_at: new Date(NINE + 30 * MINUTE).toISOString(),
    });
    const { id: user } = await store.users.enter("demo", ada);
    const bob = (
      await store.users.enter("demo", {
        ...{ tokenId: "bob", traits: new Set<string>() },
      })
    ).id;
    const stay = (from: number, to: number, who = user) => ({
      ...{
        user: who,
        room,
        from: NINE + from * MINUTE,
        to: NINE + to * MINUTE,
      },
    });
    const visits = async (after?: { user: string; session: string }) =>
      (await attendance.visits("demo", room, after, 9)).map(
        ({ user: who, title, first, last, seconds }) => [
          ...[who === user, title, (first - NINE) / MINUTE],
          ...[(last - NINE) / MINUTE, seconds / 60],
        ],
      );
    await attendance.note("demo", [
      ...[stay(-5, -5), stay(-5, 10), stay(1, 2, ABSENT)],
      { ...stay(1, 2), room: ABSENT },
    ]);
    await other.note("demo", [stay(5, 20), stay(8, 12)]);
    await other.note("demo", [stay(25, 40), stay(31, 32, bob)]);
    await other.note("none", [stay(1, 2)]);
    const all = await visits();
    t.strictSame(
      all.filter(([isAda]) => isAda),
      [
        [true, null, -5, 40, 15],
        [true, "Talk", 0, 30, 25],
      ],
      "time that two processes note counts once",
    );
    t.equal(all.length, 3);
    const [first] = await attendance.visits("demo", room, undefined, 1);
    t.strictSame(await visits(first), all.slice(1), "a page");
    await store.program.deleteSession("demo", session.value.id);
    t.strictSame(
      (await visits()).map(([, title]) => title),
      [null, null, null],
    );
    await attendance.prune("demo", { counts: 0, visits: NINE + 35 * MINUTE });
    t.strictSame(await visits(), [[true, null, -5, 40, 15]]);
    await store.users.erase("demo", { user_id: user });
    t.strictSame(await visits(), [], "erased with the user");
    await attendance.note("demo", [stay(50, 51)]);
    t.strictSame(await visits(), [], "and not noted later");
  });
}
