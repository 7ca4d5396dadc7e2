import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from "node:crypto";
import type { ProvenBy, SealedReport } from "../../db/results/index.js";
import { issuersOf } from "../../db/rules/world-rows.js";
import type { World } from "../../schemas/worlds.js";

/** A value that expires. */
interface Ending {
  /** Expiry, in milliseconds since 1970. */
  readonly ends: number;
}

/** The purpose of a seal. A value sealed for one purpose cannot be unsealed for another. */
export type SealUse = "sign-in cookie 1" | "report 1" | "passkey 1";

const CIPHER = "aes-256-gcm";
const IV = 12;
const TAG = 16;

/**
 * Derives a world's sealing key from the world's first key, so that all workers and nodes share the
 * sealing key and nothing else has to be stored.
 */
const keyOf = ({ config }: World, use: SealUse): Buffer =>
  Buffer.from(hkdfSync("sha256", config.JWT_secrets[0]!.secret, "", `foyer ${use}`, 32));

/**
 * Seals a value, so that its holder can neither read nor change it.
 * @param place the value's context within the world. Unsealing requires the same context.
 */
export function seal(world: World, use: SealUse, place: readonly string[], value: Ending): string {
  const iv = randomBytes(IV);
  const cipher = createCipheriv(CIPHER, keyOf(world, use), iv);
  cipher.setAAD(Buffer.from(JSON.stringify([world.id, ...place])));
  const text = cipher.update(JSON.stringify(value));
  const parts = [iv, text, cipher.final(), cipher.getAuthTag()];
  return Buffer.concat(parts).toString("base64url");
}

/** Returns the sealed value, or undefined if it is invalid, expired, or sealed for another use or place. */
export function unseal<T extends Ending>(
  world: World,
  use: SealUse,
  place: readonly string[],
  sealed: string,
): T | undefined {
  const bytes = Buffer.from(sealed, "base64url");
  if (bytes.length <= IV + TAG) return undefined;
  const key = keyOf(world, use);
  const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, IV), { authTagLength: TAG });
  decipher.setAAD(Buffer.from(JSON.stringify([world.id, ...place])));
  decipher.setAuthTag(bytes.subarray(-TAG));
  try {
    const text = decipher.update(bytes.subarray(IV, -TAG));
    const whole = Buffer.concat([text, decipher.final()]).toString();
    const value = JSON.parse(whole) as T;
    return Date.now() < value.ends ? value : undefined;
  } catch {
    return undefined;
  }
}

const digestOf = (key: ProvenBy): string =>
  createHash("sha256").update(JSON.stringify(key)).digest("base64url");

/**
 * Seals a report for use in a URL.
 * @param of.key the key that verified the person's token; undefined for guests.
 */
export const sealReport = (
  world: World,
  { key, ...report }: SealedReport & { readonly key?: ProvenBy | undefined },
): string => seal(world, "report 1", [], { ...report, ...(key && { key: digestOf(key) }) });

/**
 * Returns the report from a URL, or undefined if the report is invalid or expired, or if the key
 * that verified the person's token was removed.
 */
export function unsealReport(world: World, sealed: string): SealedReport | undefined {
  const found = unseal<SealedReport & { key?: string }>(world, "report 1", [], sealed);
  if (found?.key === undefined) return found;
  const { config } = world;
  const keys: readonly ProvenBy[] = [...config.JWT_secrets, ...issuersOf(config)];
  return keys.some((key) => digestOf(key) === found.key) ? found : undefined;
}
