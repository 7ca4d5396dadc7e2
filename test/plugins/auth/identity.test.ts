import t from "tap";
import { stillHolds } from "../../../plugins/auth/identity.js";
import { keyOf, serve, tokenOf, worldOf } from "../../helper.js";

const now = () => Math.floor(Date.now() / 1000);

void t.test("the identity of a caller, without HTTP", async (t) => {
  const { app } = await serve(t, [worldOf("demo"), worldOf("other")]);
  const exp = now() + 60;
  const token = tokenOf(keyOf("demo"), {
    uid: 7,
    traits: ["crew"],
    profile: { name: "Ada" },
    exp,
  });
  for (const time of ["first", "again"]) {
    const { identity, world } = await app.identify({ token }, "demo");
    t.match(identity, {
      tokenId: "7",
      traits: new Set(["crew"]),
      profile: { name: "Ada" },
      expires: exp,
      key: keyOf("demo"),
    });
    t.equal(identity.clientId, undefined, time);
    t.equal(world.value.id, "demo", time);
  }
  const guest = await app.identify({ clientId: "laptop-1" }, "demo");
  t.strictSame(guest.identity, { clientId: "laptop-1", traits: new Set() });
  t.equal(guest.world.value.id, "demo");
});

void t.test("for how long it holds", async (t) => {
  const { app, store } = await serve(t);
  const exp = now() + 60;
  const identities = await Promise.all(
    [
      { token: tokenOf(keyOf("demo")) },
      { token: tokenOf(keyOf("demo"), { exp }) },
      { clientId: "a" },
    ].map(async (who) => (await app.identify(who, "demo")).identity),
  );
  const hold = async () => {
    const world = (await store.worlds.get("demo"))!;
    return identities.map((identity) => stillHolds(identity, world));
  };
  t.strictSame(await hold(), [true, true, true]);
  await store.worlds.update("demo", { title: "Another" });
  t.strictSame(await hold(), [true, true, true], "another version");
  t.intercept(Date, "now", { value: () => exp * 1000 });
  t.strictSame(await hold(), [true, false, true], "the clock");
  const { issuer, audience } = keyOf("demo");
  const secret = "y".repeat(40);
  await store.worlds.update("demo", {
    config: { JWT_secrets: [{ issuer, audience, secret }] },
  });
  t.strictSame(await hold(), [false, false, true], "another secret");
});
