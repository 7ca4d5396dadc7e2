import { createHash } from "node:crypto";
import { issuersOf } from "../../db/rules/world-rows.js";
import type { World } from "../../schemas/worlds.js";
import { seal, unseal } from "./sealed.js";
import type { ProvenBy, SealedReport } from "../../db/results/reports.js";

const digestOf = (key: ProvenBy): string =>
  createHash("sha256").update(JSON.stringify(key)).digest("base64url");

/**
 * Seals a report, as a part of an address.
 * @param of.key of the person's token; without one they came as a guest.
 */
export const sealReport = (
  world: World,
  { key, ...report }: SealedReport & { readonly key?: ProvenBy | undefined },
): string =>
  seal(world, "report 1", [], {
    ...report,
    ...(key && { key: digestOf(key) }),
  });

/** The report in an address; undefined if it is none, is over, or its key was removed. */
export function unsealReport(
  world: World,
  sealed: string,
): SealedReport | undefined {
  const found = unseal<SealedReport & { key?: string }>(
    world,
    "report 1",
    [],
    sealed,
  );
  if (found?.key === undefined) return found;
  const { config } = world;
  const keys: readonly ProvenBy[] = [
    ...config.JWT_secrets,
    ...issuersOf(config),
  ];
  return keys.some((key) => digestOf(key) === found.key) ? found : undefined;
}
