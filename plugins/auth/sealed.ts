import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from "node:crypto";
import type { ProvenBy, SealedReport } from "../../db/results/index.js";
import { issuersOf } from "../../db/rules/world-rows.js";
import type { World } from "../../schemas/worlds.js";

/** A value that holds for a while. */
interface Ending {
  /** In milliseconds since 1970. */
  readonly ends: number;
}

/** A use of seals. Neither use reads what the other has sealed. */
export type SealUse = "sign-in cookie 1" | "report 1";

const CIPHER = "aes-256-gcm";
const IV = 12;
const TAG = 16;

/**
 * The key of the seals of a world. It follows from the first key of the world, so all workers and
 * nodes have it, and nothing else is stored.
 */
const keyOf = ({ config }: World, use: SealUse): Buffer =>
  Buffer.from(hkdfSync("sha256", config.JWT_secrets[0]!.secret, "", `foyer ${use}`, 32));

/**
 * Seals a value, so that its holder can neither read nor change it.
 * @param place what the value is for, beside the world. Only the same place reads it.
 */
export function seal(world: World, use: SealUse, place: readonly string[], value: Ending): string {
  const iv = randomBytes(IV);
  const cipher = createCipheriv(CIPHER, keyOf(world, use), iv);
  cipher.setAAD(Buffer.from(JSON.stringify([world.id, ...place])));
  const text = cipher.update(JSON.stringify(value));
  const parts = [iv, text, cipher.final(), cipher.getAuthTag()];
  return Buffer.concat(parts).toString("base64url");
}

/** The value that was sealed; undefined if it was not, or for another use or place, or is over. */
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
 * Seals a report, as a part of an address.
 * @param of.key of the person's token; without one they came as a guest.
 */
export const sealReport = (
  world: World,
  { key, ...report }: SealedReport & { readonly key?: ProvenBy | undefined },
): string => seal(world, "report 1", [], { ...report, ...(key && { key: digestOf(key) }) });

/** The report in an address; undefined if it is none, is over, or its key was removed. */
export function unsealReport(world: World, sealed: string): SealedReport | undefined {
  const found = unseal<SealedReport & { key?: string }>(world, "report 1", [], sealed);
  if (found?.key === undefined) return found;
  const { config } = world;
  const keys: readonly ProvenBy[] = [...config.JWT_secrets, ...issuersOf(config)];
  return keys.some((key) => digestOf(key) === found.key) ? found : undefined;
}
