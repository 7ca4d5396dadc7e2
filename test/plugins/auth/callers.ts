import { createHmac } from "node:crypto";
import type { Store } from "../../../db/contract/store.js";
import type { WorldKey } from "../../../schemas/worlds.js";
import { keyOf, rules, tokenOf, worldOf } from "../../helper.js";
import { makeKey } from "./issuer.js";

// Callers, and what may change after their token was verified. two-ways.test.ts has the test.

export const issuer = {
  issuer: "https://login.example.org",
  traits: { always: ["admin", "api"] },
};
const another = await makeKey("ES256", "a");
const { jwk, sign } = await makeKey("ES256", "a");

/** The clock at the beginning, in seconds since 1970. */
export const start = 1_800_000_000;
const exp = start + 1000;
export const claims = { uid: "eve", traits: ["admin", "api"], exp };

const issuerOf = (id: string) => ({
  ...issuer,
  audience: `${id}-foyer`,
  jwks: { keys: [jwk] },
});

/** A world that accepts tokens of its own, and of another issuer. */
export const worldNamed = (id: string) =>
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
  /** The header; of an administrator by default. */
  as?: string;
  /** The header from the change on. */
  then?: string;
  /** What changes after the token was verified. */
  change?: (scene: Scene) => unknown;
  /** The answers to the GET and the PATCH of a room. */
  expect: [number, number];
  /** Whether the guard admits the GET at once. */
  atOnce?: boolean;
}

const admitted = { expect: [200, 200] as [number, number], atOnce: true };
const unknown: [number, number] = [401, 401];
const forbidden: [number, number] = [403, 403];

/** A token with claims that libraries refuse to sign. */
function signed(key: WorldKey, changes: object): string {
  const { issuer: iss, audience: aud, secret } = key;
  const text = [{ alg: "HS256" }, { ...claims, iss, aud, ...changes }]
    .map((part) => Buffer.from(JSON.stringify(part)).toString("base64url"))
    .join(".");
  return `${text}.${createHmac("sha256", secret).update(text).digest("base64url")}`;
}

/** Other claims with the signature of a token. */
function forged(token: string): string {
  const [head, , signature] = token.split(".");
  const body = JSON.stringify({ ...claims, uid: "root" });
  return [head, Buffer.from(body).toString("base64url"), signature].join(".");
}

const DIGITS =
  "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/** A token whose signature has another last character, which stands for the same bytes. */
const respelled = (token: string) =>
  token.slice(0, -1) + DIGITS[DIGITS.indexOf(token.at(-1)!) ^ 1]!;

/** The rows for a world, and one beside it. */
export function rowsOf(world: string, other: WorldKey, foreign: string): Row[] {
  const key = keyOf(world);
  const token = tokenOf(key, claims);
  const bearer = `Bearer ${token}`;
  /** The other issuer, with some of its settings different. */
  const issuing = (changes: object) => ({
    config: { JWT_issuers: [{ ...issuerOf(world), ...changes }] },
  });
  return [
    { name: "nothing changes", ...admitted },
    { name: "the scheme in small letters", as: `bearer ${token}`, ...admitted },
    { name: "two spaces", as: `Bearer  ${token}`, ...admitted },
    { name: "a point follows", then: `${bearer}.`, expect: unknown },
    { name: "padding follows", then: `${bearer}=`, expect: unknown },
    { name: "another token follows", then: `${bearer} x`, expect: unknown },
    { name: "a list of tokens", then: `${bearer},${token}`, expect: unknown },
    { name: "something precedes", then: `Bearer x${token}`, expect: unknown },
    {
      name: "the signature with other claims",
      then: `Bearer ${forged(token)}`,
      expect: unknown,
    },
    {
      name: "the signature spelled otherwise",
      then: `Bearer ${respelled(token)}`,
      expect: unknown,
    },
    { name: "no header", then: "", expect: unknown },
    { name: "a client", then: "Client eve", expect: unknown },
    {
      name: "the last millisecond",
      change: ({ at }) => at(exp - 0.001),
      ...admitted,
    },
    { name: "its end", change: ({ at }) => at(exp), expect: unknown },
    {
      name: "after its end",
      change: ({ at }) => at(exp + 60),
      expect: unknown,
    },
    {
      name: "a fraction of a second, before it ends",
      as: `Bearer ${signed(key, { exp: exp + 0.5 })}`,
      change: ({ at }) => at(exp + 0.499),
      ...admitted,
    },
    {
      name: "a fraction of a second",
      as: `Bearer ${signed(key, { exp: exp + 0.5 })}`,
      change: ({ at }) => at(exp + 0.5),
      expect: unknown,
    },
    {
      name: "its beginning",
      as: `Bearer ${signed(key, { nbf: start - 5 })}`,
      change: ({ at }) => at(start - 5),
      ...admitted,
    },
    {
      name: "the clock is set to before its beginning",
      as: `Bearer ${signed(key, { nbf: start - 5 })}`,
      change: ({ at }) => at(start - 5.001),
      expect: unknown,
    },
    {
      name: "the clock is set back after its end",
      change: ({ at }) => {
        at(exp);
        at(start);
      },
      ...admitted,
    },
    {
      name: "another title",
      change: ({ store }) => store.worlds.update(world, { title: "B" }),
      ...admitted,
    },
    {
      name: "another secret",
      change: ({ store }) =>
        store.worlds.update(world, keys({ ...key, secret: other.secret })),
      expect: unknown,
    },
    {
      name: "another issuer",
      change: ({ store }) =>
        store.worlds.update(world, keys({ ...key, issuer: "x" })),
      expect: unknown,
    },
    {
      name: "another audience",
      change: ({ store }) =>
        store.worlds.update(world, keys({ ...key, audience: "x" })),
      expect: unknown,
    },
    {
      name: "one more key",
      change: ({ store }) => store.worlds.update(world, keys(other, key)),
      ...admitted,
    },
    {
      name: "the key left and came back",
      change: async ({ store }) => {
        await store.worlds.update(world, keys(other));
        await store.worlds.update(world, keys(key));
      },
      ...admitted,
    },
    {
      name: "the key moves to another world",
      change: async ({ store }) => {
        await store.worlds.update(world, keys(other));
        await store.worlds.update(`${world}-other`, keys(key));
      },
      expect: forbidden,
    },
    {
      name: "a token of another world",
      then: `Bearer ${tokenOf(other, claims)}`,
      expect: forbidden,
    },
    {
      name: "the world is deleted",
      change: ({ store }) => store.worlds.delete(world),
      expect: unknown,
    },
    {
      name: "a new world has its id and its key",
      change: async ({ store }) => {
        await store.worlds.delete(world);
        await store.worlds.create(worldNamed(world));
      },
      expect: forbidden,
    },
    {
      name: "a new world has its id",
      change: async ({ store }) => {
        await store.worlds.delete(world);
        await store.worlds.create(worldOf(world, keys(other)));
      },
      expect: unknown,
    },
    {
      name: "the user is silenced",
      change: ({ store, user }) =>
        store.users.moderate(world, user, "silenced"),
      expect: [200, 403],
      atOnce: true,
    },
    {
      name: "the user is banned",
      change: ({ store, user }) => store.users.moderate(world, user, "banned"),
      expect: forbidden,
    },
    {
      name: "the user is banned and forgiven",
      change: async ({ store, user }) => {
        await store.users.moderate(world, user, "banned");
        await store.users.moderate(world, user, "");
      },
      ...admitted,
    },
    {
      name: "no user has the name any more",
      change: ({ store, user }) => store.users.erase(world, { user_id: user }),
      ...admitted,
    },
    {
      name: "the world does not admit calls",
      change: ({ store }) =>
        store.worlds.update(world, {
          permission_config: rules({ "world.api": ["x"] }),
        }),
      expect: forbidden,
    },
    {
      name: "the world takes a right",
      change: ({ store }) =>
        store.worlds.update(world, {
          permission_config: rules({ "room.update": ["x"] }),
        }),
      expect: [200, 403],
      atOnce: true,
    },
    {
      name: "the room is hidden",
      change: ({ store, room }) =>
        store.rooms.update(world, room, {
          permission_config: { "room.view": ["x"] },
        }),
      expect: forbidden,
    },
    {
      name: "the room is deleted",
      change: ({ store, room }) => store.rooms.delete(world, room),
      expect: forbidden,
    },
    {
      name: "the token of a screen",
      then: `Bearer ${tokenOf(key, { ...claims, uid: undefined, kiosk: "k" })}`,
      expect: forbidden,
    },
    { name: "another issuer's", as: `Bearer ${foreign}`, ...admitted },
    {
      name: "the end of another issuer's",
      as: `Bearer ${foreign}`,
      change: ({ at }) => at(exp),
      expect: unknown,
    },
    {
      name: "the other issuer has another key",
      as: `Bearer ${foreign}`,
      change: ({ store }) =>
        store.worlds.update(world, issuing({ jwks: { keys: [another.jwk] } })),
      expect: unknown,
    },
    {
      name: "the other issuer gives other traits",
      as: `Bearer ${foreign}`,
      change: ({ store }) =>
        store.worlds.update(world, issuing({ traits: { always: [] } })),
      expect: forbidden,
    },
    {
      name: "no other issuer",
      as: `Bearer ${foreign}`,
      change: ({ store }) =>
        store.worlds.update(world, { config: { JWT_issuers: [] } }),
      expect: unknown,
    },
  ];
}

/** A token of the other issuer. */
export const foreignTokenFor = (world: string): Promise<string> =>
  sign({
    ...{ iss: issuer.issuer, aud: issuerOf(world).audience, sub: "eve", exp },
  });
