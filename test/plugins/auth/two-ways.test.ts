import t from "tap";
import type { Store } from "../../../db/contract/store.js";
import { keyOf, serve, tokenOf, worldOf } from "../../helper.js";
import {
  claims,
  foreignTokenFor,
  issuer,
  rowsOf,
  start,
  worldNamed,
} from "./callers.js";

// The guard decides at once on callers whom it knows, and by promises on others. Both ways must
// decide alike, above all when something has changed since the token was verified.

void t.test("each caller is decided on alike", async (t) => {
  let clock = start;
  t.intercept(Date, "now", { value: () => clock * 1000 });
  let mayAtOnce = true;
  let admissions = 0;
  const { call, store } = await serve(t, [], {
    wrap: (store) => {
      const atOnce: Store["atOnce"] = (look) => {
        const result = store.atOnce!(look);
        if (result === true) admissions++;
        return result;
      };
      return Object.create(store, {
        atOnce: { get: () => (mayAtOnce ? atOnce : undefined) },
      }) as Store;
    },
  });
  // PostgreSQL has one way only.
  if (!store.atOnce) return t.pass("there is one way");

  /** Asks for a room and changes it. */
  async function ask(url: string, as: string, atOnce: boolean) {
    mayAtOnce = atOnce;
    admissions = 0;
    const asked = { url, ...(as && { as }) };
    const got = await call(asked);
    const isAtOnce = admissions > 0;
    const body = { description: "B" };
    const patched = await call({ ...asked, method: "PATCH", body });
    const answers = [got, patched].map(({ status, headers, text }) => {
      const { date: _, "x-request-id": __, ...others } = headers;
      return { status, headers: others, text };
    });
    return { answers, statuses: answers.map(({ status }) => status), isAtOnce };
  }

  const { length } = rowsOf("none", keyOf("none"), "");
  for (let i = 0; i < length; i++) {
    clock = start;
    const world = `w${i}`;
    const foreign = await foreignTokenFor(world);
    const other = keyOf(`${world}-other`);
    const row = rowsOf(world, other, foreign)[i]!;
    const { as = `Bearer ${tokenOf(keyOf(world), claims)}`, then = as } = row;
    const { name, change = () => {}, expect, atOnce = false } = row;
    await store.worlds.create(worldNamed(world));
    await store.worlds.create(worldOf(`${world}-other`));
    const { value: room } = await store.rooms.create(world, { name: "A" });
    const user = await store.users.enter(world, {
      tokenId: as.includes(foreign) ? `${issuer.issuer}#eve` : "eve",
      traits: new Set<string>(),
    });
    const url = `/api/v1/worlds/${world}/rooms/${room.id}/`;
    // The first call verifies the token, and the second one finds it.
    await ask(url, as, true);
    const before = await ask(url, as, true);
    t.match(
      before,
      { statuses: [200, 200], isAtOnce: true },
      `${name}: before`,
    );

    const at = (seconds: number) => (clock = seconds);
    await change({ store, room: room.id, user: user.id, at });
    const first = await ask(url, then, true);
    const again = await ask(url, then, true);
    const slow = await ask(url, then, false);
    t.notOk(slow.isAtOnce);
    t.strictSame(slow.statuses, expect, `${name}: by promises`);
    t.equal(again.isAtOnce, atOnce, `${name}: whether at once`);
    t.strictSame(again.answers, slow.answers, `${name}: the same answers`);
    t.strictSame(first.statuses, slow.statuses, `${name}: the first time, too`);
  }
  return undefined;
});
