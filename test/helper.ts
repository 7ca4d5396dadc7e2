import { createSigner, type SignerOptions } from "fast-jwt";
import type { FastifyInstance } from "fastify";
import type { Test } from "tap";
import { createApp } from "../app.js";
import { loadConfig } from "../config.js";
import { LocalFiles } from "../db/local-files.js";
import { openSqliteStore } from "../db/sqlite/index.js";
import type { Store } from "../db/store.js";
import {
  defaultPermissionConfig,
  type PermissionConfig,
} from "../schemas/permissions.js";
import type { World, WorldKey } from "../schemas/worlds.js";

/** A key for a world: tests make as many as they like, all different. */
export const keyOf = (id: string): WorldKey => ({
  issuer: `${id}-issuer`,
  audience: `${id}-audience`,
  secret: `${id}-secret-`.padEnd(40, "x"),
});

/** A world as `foyer world create` makes it, with whatever a test wants different. */
export const worldOf = (id: string, overrides: Partial<World> = {}): World => ({
  id,
  title: `The ${id}`,
  domain: `${id}.example.org`,
  config: { JWT_secrets: [keyOf(id)] },
  permission_config: defaultPermissionConfig,
  ...overrides,
});

/** Signs a token. Claims that are undefined are left out. */
export function tokenOf(
  key: WorldKey,
  claims: Record<string, unknown> = {},
  options: Partial<SignerOptions & { key: string }> = {},
): string {
  const sign = createSigner({
    key: key.secret,
    algorithm: "HS256",
    ...options,
  });
  return sign({
    iss: key.issuer,
    aud: key.audience,
    exp: Math.floor(Date.now() / 1000) + 3600,
    ...claims,
  });
}

/** A token for the world `id` with these traits. */
export const bearer = (id: string, ...traits: string[]): string =>
  `Bearer ${tokenOf(keyOf(id), { traits })}`;

/** Who may do everything in the world `id`. */
export const admin = (id: string): string => bearer(id, "admin", "api");

export interface Request {
  method?: string;
  url: string;
  /** The Authorization header. */
  as?: string | undefined;
  headers?: Record<string, string>;
  /** Sent as JSON, unless it is a string or bytes, which go out as they are. */
  body?: unknown;
}

export interface Answer {
  status: number;
  headers: Record<string, string | undefined>;
  /** The JSON of the body; undefined when it is empty. */
  body: unknown;
  text: string;
}

export interface TestServer {
  app: FastifyInstance;
  store: Store;
  dataDir: string;
  call: (request: Request) => Promise<Answer>;
}

/**
 * An application with a real database in a temporary folder, closed with the test.
 * @param worlds what is in it; one world `demo` unless a test says otherwise.
 */
export async function serve(
  t: Test,
  worlds: World[] = [worldOf("demo")],
): Promise<TestServer> {
  const dataDir = t.testdir();
  const store = openSqliteStore(dataDir);
  const app = createApp({
    config: loadConfig({}),
    store,
    files: new LocalFiles(dataDir),
  });
  t.teardown(() => app.close());
  for (const world of worlds) await store.worlds.create(world);
  await app.ready();
  return { app, store, dataDir, call: (request) => call(app, request) };
}

/** Sends one request into the application, without a socket. */
export async function call(
  app: FastifyInstance,
  { method = "GET", url, as, headers = {}, body }: Request,
): Promise<Answer> {
  const raw = typeof body === "string" || body instanceof Uint8Array;
  const answer = await app.inject({
    method: method as "GET",
    url,
    headers: {
      host: "localhost:8375",
      ...(as !== undefined && { authorization: as }),
      ...(body !== undefined && { "content-type": "application/json" }),
      ...headers,
    },
    ...(body !== undefined && {
      payload: raw ? Buffer.from(body) : JSON.stringify(body),
    }),
  });
  const text = answer.body;
  return {
    status: answer.statusCode,
    headers: answer.headers as Answer["headers"],
    body: text === "" ? undefined : (JSON.parse(text) as unknown),
    text,
  };
}

/** Rules that differ from the defaults in some keys. */
export const rules = (changes: PermissionConfig): PermissionConfig => ({
  ...defaultPermissionConfig,
  ...changes,
});
