import { createHmac } from "node:crypto";
import t from "tap";
import type { Store } from "../../../db/contract/store.js";
import type { PermissionConfig } from "../../../schemas/plain/permissions.js";
import type { World, WorldChanges, WorldKey } from "../../../schemas/worlds.js";
import { keyOf, rules, tokenOf, worldOf } from "../../support/helper.js";
import { makeKey } from "../../support/provider.js";
import { startServer } from "../../support/server.js";

// Authorization of callers, and changes after their token was verified.

const issuer = { issuer: "https://login.example.org", traits: { always: ["admin", "api"] } };
const another = await makeKey("ES256", "a");
const { jwk, sign } = await makeKey("ES256", "a");

/** The initial time, in seconds since 1970. */
const start = 1_800_000_000;
const exp = start + 1000;
const claims = { uid: "eve", traits: ["admin", "api"], exp };

const issuerOf = (id: string) => ({ ...issuer, audience: `${id}-foyer`, jwks: { keys: [jwk] } });

/** Returns a world that accepts tokens signed by its key, and by an external issuer. */
const worldNamed = (id: string) =>
  worldOf(id, {
    config: { JWT_secrets: [keyOf(id)], JWT_issuers: [issuerOf(id)] },
    permission_config: rules({}),
  });

const keys = (...JWT_secrets: WorldKey[]) => ({ config: { JWT_secrets } });

interface Scene {
  store: Store;
  room: string;
  user: string;
  /** Sets the clock, in seconds since 1970. */
  at: (seconds: number) => void;
}

interface Row {
  name: string;
  /** The Authorization header; defaults to an administrator's. */
  as?: string;
  /** The Authorization header after the change. */
  then?: string;
  /** Makes a change after the token has been verified. */
  change?: (scene: Scene) => unknown;
  /** The status codes for GET and PATCH of a room. */
  expect: [number, number];
}

const admitted = { expect: [200, 200] as [number, number] };
const unknown = { expect: [401, 401] as [number, number] };
const forbidden = { expect: [403, 403] as [number, number] };
const reads = { expect: [200, 403] as [number, number] };

/** Signs claims that libraries refuse to sign. */
function signed(key: WorldKey, changes: object): string {
  const { issuer: iss, audience: aud, secret } = key;
  const text = [{ alg: "HS256" }, { ...claims, iss, aud, ...changes }]
    .map((part) => Buffer.from(JSON.stringify(part)).toString("base64url"))
    .join(".");
  return `${text}.${createHmac("sha256", secret).update(text).digest("base64url")}`;
}

/** Replaces a token's claims, but keeps its signature. */
function forged(token: string): string {
  const [head, , signature] = token.split(".");
  const body = JSON.stringify({ ...claims, uid: "root" });
  return [head, Buffer.from(body).toString("base64url"), signature].join(".");
}

const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/** Changes the last character of a token's signature to one that decodes to the same bytes. */
const respelled = (token: string) =>
  token.slice(0, -1) + DIGITS[DIGITS.indexOf(token.at(-1)!) ^ 1]!;

/** Returns the rows for a world, which may refer to a second one. */
function rowsOf(world: string, other: WorldKey, foreign: string): Row[] {
  const key = keyOf(world);
  const token = tokenOf(key, claims);
  const bearer = `Bearer ${token}`;
  const byOther = `Bearer ${foreign}`;
  const beside = `${world}-other`;
  const half = `Bearer ${signed(key, { exp: exp + 0.5 })}`;
  const early = `Bearer ${signed(key, { nbf: start - 5 })}`;
  const screen = `Bearer ${tokenOf(key, { ...claims, uid: undefined, kiosk: "k" })}`;
  const time =
    (...seconds: number[]) =>
    ({ at }: Scene) =>
      seconds.forEach(at);
  const update =
    (...changes: WorldChanges[]) =>
    async ({ store }: Scene) => {
      for (const change of changes) await store.worlds.update(world, change);
    };
  const ruled = (rule: PermissionConfig) => update({ permission_config: rules(rule) });
  const moderate =
    (...states: ("banned" | "silenced" | "")[]) =>
    async ({ store, user }: Scene) => {
      for (const state of states) await store.users.moderate(world, user, state);
    };
  const replace =
    (next: World) =>
    async ({ store }: Scene) => {
      await store.worlds.delete(world);
      await store.worlds.create(next);
    };
  const moveKey = async (scene: Scene) => {
    await update(keys(other))(scene);
    await scene.store.worlds.update(beside, keys(key));
  };
  /** Changes settings of the external issuer. */
  const issuing = (changes: object) =>
    update({ config: { JWT_issuers: [{ ...issuerOf(world), ...changes }] } });
  const hide = { permission_config: { "room.view": ["x"] } };
  return [
    { name: "nothing changes", ...admitted },
    { name: "the scheme in small letters", as: `bearer ${token}`, ...admitted },
    { name: "two spaces", as: `Bearer  ${token}`, ...admitted },
    { name: "a point follows", then: `${bearer}.`, ...unknown },
    { name: "padding follows", then: `${bearer}=`, ...unknown },
    { name: "another token follows", then: `${bearer} x`, ...unknown },
    { name: "a list of tokens", then: `${bearer},${token}`, ...unknown },
    { name: "something precedes", then: `Bearer x${token}`, ...unknown },
    { name: "the signature with other claims", then: `Bearer ${forged(token)}`, ...unknown },
    { name: "the signature spelled otherwise", then: `Bearer ${respelled(token)}`, ...unknown },
    { name: "no header", then: "", ...unknown },
    { name: "a client", then: "Client eve", ...unknown },
    { name: "the last millisecond", change: time(exp - 0.001), ...admitted },
    { name: "its end", change: time(exp), ...unknown },
    { name: "after its end", change: time(exp + 60), ...unknown },
    {
      name: "a fraction of a second, before it ends",
      as: half,
      change: time(exp + 0.499),
      ...admitted,
    },
    { name: "a fraction of a second", as: half, change: time(exp + 0.5), ...unknown },
    { name: "its beginning", as: early, change: time(start - 5), ...admitted },
    {
      name: "the clock is set to before its beginning",
      as: early,
      change: time(start - 5.001),
      ...unknown,
    },
    { name: "the clock is set back after its end", change: time(exp, start), ...admitted },
    { name: "another title", change: update({ title: "B" }), ...admitted },
    { name: "another secret", change: update(keys({ ...key, secret: other.secret })), ...unknown },
    { name: "another issuer", change: update(keys({ ...key, issuer: "x" })), ...unknown },
    { name: "another audience", change: update(keys({ ...key, audience: "x" })), ...unknown },
    { name: "one more key", change: update(keys(other, key)), ...admitted },
    { name: "the key left and came back", change: update(keys(other), keys(key)), ...admitted },
    { name: "the key moves to another world", change: moveKey, ...forbidden },
    { name: "a token of another world", then: `Bearer ${tokenOf(other, claims)}`, ...forbidden },
    { name: "the world is deleted", change: ({ store }) => store.worlds.delete(world), ...unknown },
    {
      name: "a new world has its id and its key",
      change: replace(worldNamed(world)),
      ...forbidden,
    },
    { name: "a new world has its id", change: replace(worldOf(world, keys(other))), ...unknown },
    { name: "the user is silenced", change: moderate("silenced"), ...reads },
    { name: "the user is banned", change: moderate("banned"), ...forbidden },
    { name: "the user is banned and forgiven", change: moderate("banned", ""), ...admitted },
    {
      name: "no user has the name any more",
      change: ({ store, user }) => store.users.erase(world, { user_id: user }),
      ...admitted,
    },
    { name: "the world does not admit calls", change: ruled({ "world.api": ["x"] }), ...forbidden },
    { name: "the world takes a right", change: ruled({ "room.update": ["x"] }), ...reads },
    {
      name: "the room is hidden",
      change: ({ store, room }) => store.rooms.update(world, room, hide),
      ...forbidden,
    },
    {
      name: "the room is deleted",
      change: ({ store, room }) => store.rooms.delete(world, room),
      ...forbidden,
    },
    { name: "the token of a screen", then: screen, ...forbidden },
    { name: "another issuer's", as: byOther, ...admitted },
    { name: "the end of another issuer's", as: byOther, change: time(exp), ...unknown },
    {
      name: "the other issuer has another key",
      as: byOther,
      change: issuing({ jwks: { keys: [another.jwk] } }),
      ...unknown,
    },
    {
      name: "the other issuer gives other traits",
      as: byOther,
      change: issuing({ traits: { always: [] } }),
      ...forbidden,
    },
    {
      name: "no other issuer",
      as: byOther,
      change: update({ config: { JWT_issuers: [] } }),
      ...unknown,
    },
  ];
}

const foreignTokenFor = (world: string): Promise<string> =>
  sign({ iss: issuer.issuer, aud: issuerOf(world).audience, sub: "eve", exp });

void t.test("each caller is decided on anew", async (t) => {
  let clock = start;
  t.intercept(Date, "now", { value: () => clock * 1000 });
  const { call, store } = await startServer(t, { worlds: [] });

  /**
   * Reads and updates a room.
   * @returns both status codes.
   */
  async function ask(url: string, as: string) {
    const asked = { url, ...(as && { as }) };
    const got = await call(asked);
    const patched = await call({ ...asked, method: "PATCH", body: { description: "B" } });
    return [got.status, patched.status];
  }

  const { length } = rowsOf("none", keyOf("none"), "");
  for (let i = 0; i < length; i++) {
    clock = start;
    const world = `w${i}`;
    const foreign = await foreignTokenFor(world);
    const other = keyOf(`${world}-other`);
    const row = rowsOf(world, other, foreign)[i]!;
    const { as = `Bearer ${tokenOf(keyOf(world), claims)}`, then = as } = row;
    const { name, change = () => {}, expect } = row;
    await store.worlds.create(worldNamed(world));
    await store.worlds.create(worldOf(`${world}-other`));
    const { value: room } = await store.rooms.create(world, { name: "A" });
    const user = await store.users.enter(world, {
      tokenId: as.includes(foreign) ? `${issuer.issuer}#eve` : "eve",
      traits: new Set<string>(),
    });
    const url = `/api/v1/worlds/${world}/rooms/${room.id}/`;
    // The first call verifies the token; the second one finds it in the cache.
    await ask(url, as);
    t.strictSame(await ask(url, as), [200, 200], `${name}: before`);

    const at = (seconds: number) => (clock = seconds);
    await change({ store, room: room.id, user: user.id, at });
    t.strictSame(await ask(url, then), expect, name);
    t.strictSame(await ask(url, then), expect, `${name}: again`);
  }
});
