import { createHash } from "node:crypto";
import { issuersOf } from "../../db/rules/world-rows.js";
import type { TokenIssuer } from "../../schemas/issuers.js";
import type { World, WorldKey } from "../../schemas/worlds.js";
import { seal, unseal } from "../auth/sealed.js";
import type { Report } from "./report.js";

/** The address of a report, with the rights of the person who asked for it. */
interface Sealed extends Report {
  /** The id of that person. */
  readonly user: string;
  readonly traits: readonly string[];
  /** In milliseconds since 1970. */
  readonly ends: number;
}

/** What proved who that person is. */
type Key = WorldKey | TokenIssuer;

const digestOf = (key: Key): string =>
  createHash("sha256").update(JSON.stringify(key)).digest("base64url");

/**
 * Seals a report, as a part of an address.
 * @param of.key of the person's token; without one they came as a guest.
 */
export const sealReport = (
  world: World,
  { key, ...report }: Sealed & { readonly key?: Key | undefined },
): string =>
  seal(world, "report 1", [], {
    ...report,
    ...(key && { key: digestOf(key) }),
  });

/** The report in an address; undefined if it is none, is over, or its key was removed. */
export function unsealReport(world: World, sealed: string): Sealed | undefined {
  const found = unseal<Sealed & { key?: string }>(
    world,
    "report 1",
    [],
    sealed,
  );
  if (found?.key === undefined) return found;
  const { config } = world;
  const keys: readonly Key[] = [...config.JWT_secrets, ...issuersOf(config)];
  return keys.some((key) => digestOf(key) === found.key) ? found : undefined;
}
