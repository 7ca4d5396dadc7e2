import { mkdtemp, rm } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { FastifyBaseLogger, FastifyInstance } from "fastify";
import { createApp } from "./app.js";
import type { Config } from "./config.js";
import { draftWorld, findWorld, signToken, type TokenOptions } from "./db/world-management.js";
import type { SetupKey } from "./plugins/setup.js";
import { compileValidator } from "./schemas/validate.js";
import { World } from "./schemas/worlds.js";
export type { TokenOptions } from "./db/world-management.js";
export type { World } from "./schemas/worlds.js";

/** Options that override the defaults of a test server. */
export interface TestServerOptions {
  /** Without a `dataDir`, the data is stored in a temporary folder that `close` deletes. */
  config?: Partial<Config>;
  /** By default, nothing is logged. */
  logger?: FastifyBaseLogger;
  /** The key of the first event's setup link; none by default. */
  setup?: SetupKey;
}

/** A world for a test. Only its id is required. If `config` has no keys, a key is generated. */
export type TestWorld = Pick<World, "id"> &
  Partial<Omit<World, "id" | "config">> & { config?: Record<string, unknown> };

/** A server in this process, with its own database. */
export interface TestServer {
  /** The Fastify instance: `app.inject` sends requests without a socket. */
  readonly app: FastifyInstance;
  /** The server's URL: `http://127.0.0.1:<port>`. */
  readonly baseUrl: string;
  /**
   * Creates a world.
   * @throws {InvalidData} if the API would respond with 400; its `faults` give the reasons.
   * @throws {StoreError} if another world has the id or the domain.
   */
  createWorld(world: TestWorld): Promise<World>;
  /**
   * Signs a token with the world's current first key.
   * @throws {StoreError} `absent` if there is no such world.
   */
  token(world: string, options?: TokenOptions): Promise<string>;
  /** Stops the server and deletes its temporary folder. */
  close(): Promise<void>;
}

const checkWorld = compileValidator(World);

/**
 * Starts a complete server in this process, for the tests of programs that use Foyer. The server
 * ignores environment variables, and listens on a free port of 127.0.0.1.
 */
export async function startTestServer({
  config,
  logger,
  setup,
}: TestServerOptions = {}): Promise<TestServer> {
  const temporary =
    config?.dataDir === undefined ? await mkdtemp(join(tmpdir(), "foyer-test-")) : undefined;
  const app = createApp({
    config: { ...config, dataDir: config?.dataDir ?? temporary! },
    ...(logger && { logger }),
    ...(setup && { setup }),
  });
  const close = async () => {
    await app.close();
    if (temporary) await rm(temporary, { recursive: true, force: true });
  };
  try {
    await app.listen({ host: "127.0.0.1", port: 0 });
  } catch (error) {
    await close();
    throw error;
  }
  const { port } = app.server.address() as AddressInfo;
  return {
    app,
    baseUrl: `http://127.0.0.1:${port}`,
    close,
    async createWorld({ id, title, domain, config = {}, permission_config }) {
      const draft = draftWorld({
        id,
        title: title ?? id,
        domain: domain ?? `${id}.localhost`,
      });
      const world = {
        ...draft,
        config: { ...draft.config, ...config },
        ...(permission_config && { permission_config }),
      };
      const fault = checkWorld(world);
      if (fault) throw fault;
      return (await app.store.worlds.create(world)).value;
    },
    async token(id, options) {
      return signToken(await findWorld(app.store, id), options);
    },
  };
}
