import { randomUUID } from "node:crypto";
import { createSigner } from "fast-jwt";
import type { EngineChoice } from "../db/choice.js";
import { openEngines } from "../db/open.js";
import {
  type PermissionConfig,
  defaultPermissionConfig,
} from "../schemas/plain/permissions.js";
import type { RoomRecord } from "../schemas/documents/world-document.js";
import type { World } from "../schemas/worlds.js";

/** The number of callers, each with a token of its own. */
export const CALLERS = 64;

/** Rooms that only some callers may see, in the event that has such rooms. */
export const BACKSTAGE: PermissionConfig = { "room.view": ["backstage"] };

/** The size of a world. */
export interface EventSize {
  rooms: number;
  /** Whether every other room is {@link BACKSTAGE}. */
  halfHidden?: boolean;
}

/** A world of a benchmark. */
export const benchWorld = (id: string): World => ({
  id,
  title: `The ${id}`,
  domain: `${id}.example.org`,
  config: {
    theme: { colors: { primary: "#3a6ea5" } },
    JWT_secrets: [
      {
        issuer: `${id}-issuer`,
        audience: `${id}-audience`,
        secret: `${id}-`.padEnd(48, "s"),
      },
    ],
  },
  permission_config: defaultPermissionConfig,
});

/** The nth room of a world, of about 250 bytes, in the order of lists. */
function roomOf(n: number, halfHidden: boolean): RoomRecord {
  return {
    id: randomUUID(),
    name: `Room ${String(n).padStart(6, "0")}`,
    description: "Where people meet.",
    module_config: [
      {
        type: n % 10 === 0 ? "livestream.native" : "chat.native",
        config: { volatile: true },
      },
    ],
    permission_config: halfHidden && n % 2 ? BACKSTAGE : {},
    sorting_priority: Math.floor(n / 100),
    revision: 1,
  };
}

/** Fills a new data folder with worlds, or a database that is chosen instead. */
export async function fill(
  dataDir: string,
  worlds: Record<string, EventSize>,
  choice: EngineChoice = {},
): Promise<void> {
  const engines = await openEngines({ dataDir, serves: false, ...choice });
  try {
    await Promise.all(
      Object.entries(worlds).map(([id, { rooms, halfHidden = false }]) =>
        engines.store.worlds.import({
          world: { ...benchWorld(id), revision: 1 },
          rooms: Array.from({ length: rooms }, (_, n) => roomOf(n, halfHidden)),
        }),
      ),
    );
  } finally {
    await engines.close();
  }
}

/**
 * Authorization headers of callers of a world.
 * @param options.traits their traits beside `roles`.
 * @param options.roles by default the roles with all rights.
 * @param options.named whether their tokens have a `uid`; true by default.
 */
export function callersOf(
  id: string,
  {
    count = CALLERS,
    traits = [],
    roles = ["admin", "api"],
    named = true,
  }: {
    count?: number;
    traits?: string[];
    roles?: string[];
    named?: boolean;
  } = {},
): string[] {
  const [key] = benchWorld(id).config.JWT_secrets;
  const sign = createSigner({ key: key!.secret, algorithm: "HS256" });
  return Array.from(
    { length: count },
    (_, n) =>
      `Bearer ${sign({
        iss: key!.issuer,
        aud: key!.audience,
        exp: Math.floor(Date.now() / 1000) + 24 * 3600,
        ...(named && { uid: `person-${n}` }),
        traits: [...roles, ...traits],
      })}`,
  );
}
