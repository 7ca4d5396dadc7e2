import { createHash, type webcrypto } from "node:crypto";
import { LRUCache } from "lru-cache";
import type { JSONWebKeySet, JWK } from "jose";
import type { Outbound } from "../outbound/outbound.js";

/** Chooses a token's key by its header. The types avoid packages that embedders may not have installed. */
export type KeyChoice = (header?: { alg?: string; kid?: string }) => Promise<webcrypto.CryptoKey>;

/** An issuer's keys. */
export interface KeySet {
  readonly choose: KeyChoice;
  /** Differs whenever the keys differ. */
  readonly version: string;
}

/** Time for which keys are used without re-fetching them, in milliseconds. */
const FRESH_MS = 10 * 60_000;

/** Time for which stale keys are used while the issuer is unreachable. */
const STALE_MS = 24 * 3_600_000;

/** Minimum delay between a failed fetch, or a fetch for an unknown key, and the next fetch. */
const RETRY_DELAY_MS = 60_000;

/** Retry delay after a failed fetch if no keys have been fetched yet. */
const FIRST_RETRY_DELAY_MS = 5000;

/** Maximum time to wait for a refresh before falling back to the known keys. */
const REFRESH_WAIT_MS = 1000;

/** Limits for a single fetch. */
const FETCH_TIMEOUT_MS = 10_000;
const MAX_BYTES = 1024 * 1024;

/** Maximum number of keys per set. */
const MAX_KEYS = 100;

/** Maximum number of sets, and their maximum total size in characters. */
const MAX_SETS = 1000;
const MAX_SIZE = 16 * 1024 * 1024;

/** The cached state for one address. */
interface Source {
  set?: KeySet;
  /** Time of the last successful fetch, in milliseconds since 1970. */
  fetched: number;
  /** Earliest time of the next fetch after a failure. */
  retry: number;
  /** Earliest time of the next fetch for an unknown key. */
  unknown: number;
  looking?: Promise<void>;
}

/** The dependencies of {@link KeySets}. */
export interface KeySetPorts {
  outbound: Pick<Outbound, "send">;
  /** Logs a warning about an unreachable issuer. */
  warn: (line: string) => void;
  /** Returns the time in milliseconds since 1970. */
  now?: () => number;
}

/**
 * Caches issuers' public keys by address, for all worlds of this process. Concurrent requests share
 * a single fetch.
 */
export class KeySets {
  readonly #ports: KeySetPorts;
  readonly #now: () => number;
  readonly #sources = new LRUCache<string, Source>({
    max: MAX_SETS,
    maxSize: MAX_SIZE,
    sizeCalculation: (_source, url) => url.length,
  });

  constructor(ports: KeySetPorts) {
    this.#ports = ports;
    this.#now = ports.now ?? Date.now;
  }

  /**
   * Returns the keys at an address. If the issuer is unreachable, known keys are used for up to a
   * day.
   * @returns undefined if no usable keys are known.
   */
  async get(url: string): Promise<KeySet | undefined> {
    const source = this.#sourceOf(url);
    const now = this.#now();
    const isFresh = now < source.fetched + FRESH_MS;
    if (!isFresh && now >= source.retry) {
      const look = this.#look(url, source);
      await (source.set ? Promise.race([look, pause(REFRESH_WAIT_MS)]) : look);
    } else if (!source.set) await source.looking;
    return this.#known(source);
  }

  /**
   * Re-fetches the keys at an address to find an unknown key, if a fetch is due.
   * @returns undefined if there are no keys, or only the keys that were already tried.
   */
  async getNewer(url: string, tried: KeySet): Promise<KeySet | undefined> {
    const source = this.#sourceOf(url);
    if (source.looking) await source.looking;
    else if (source.set === tried && this.#now() >= source.unknown) {
      source.unknown = this.#now() + RETRY_DELAY_MS;
      await this.#look(url, source);
    }
    const set = this.#known(source);
    return set?.version === tried.version ? undefined : set;
  }

  /** Whether `version` is the latest known version of the keys, and the keys are still fresh. */
  isCurrent(url: string, version: string): boolean {
    const source = this.#sources.get(url);
    return source?.set?.version === version && this.#now() < source.fetched + FRESH_MS;
  }

  #sourceOf(url: string): Source {
    const known = this.#sources.get(url);
    if (known) return known;
    const source: Source = { fetched: 0, retry: 0, unknown: 0 };
    this.#sources.set(url, source);
    return source;
  }

  #known({ set, fetched }: Source): KeySet | undefined {
    return this.#now() < fetched + STALE_MS ? set : undefined;
  }

  /** Fetches the keys, with at most one fetch in flight per address. Never rejects. */
  #look(url: string, source: Source): Promise<void> {
    source.looking ??= this.#fetch(url)
      .then(
        ({ set, size }) => {
          source.set = set;
          source.fetched = this.#now();
          source.retry = 0;
          this.#sources.set(url, source, { size: size + url.length });
        },
        (error: Error) => {
          const wait = source.set ? RETRY_DELAY_MS : FIRST_RETRY_DELAY_MS;
          source.retry = this.#now() + wait;
          this.#ports.warn(
            `The keys of an issuer of tokens at ${url} cannot be read: ${error.message}${source.set ? " Its known keys count for a day." : ""}`,
          );
        },
      )
      .finally(() => delete source.looking);
    return source.looking;
  }

  /** @throws an error whose message describes the problem. */
  async #fetch(url: string): Promise<{ set: KeySet; size: number }> {
    const { status, body } = await this.#ports.outbound.send({
      url,
      headers: { accept: "application/jwk-set+json, application/json" },
      timeout: FETCH_TIMEOUT_MS,
      maxBytes: MAX_BYTES,
    });
    if (status !== 200) throw new Error(`The answer has the status ${status}.`);
    const text = body.toString();
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      throw new Error("The answer is not JSON.");
    }
    return { set: await keySetOf(value), size: text.length };
  }
}

/**
 * Parses a JSON Web Key Set.
 * @throws an error whose message describes the problem.
 */
export async function keySetOf(value: unknown): Promise<KeySet> {
  const { createLocalJWKSet } = await import("jose");
  const { keys } = (value ?? {}) as { keys?: unknown };
  if (!Array.isArray(keys) || keys.length > MAX_KEYS) {
    throw new Error(`There are no keys, or more than ${MAX_KEYS}.`);
  }
  const set: JSONWebKeySet = { keys: keys as JWK[] };
  const version = createHash("sha256").update(JSON.stringify(keys));
  return { choose: createLocalJWKSet(set), version: version.digest("hex") };
}

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms).unref());
