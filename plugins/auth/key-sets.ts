import { createHash, type webcrypto } from "node:crypto";
import { LRUCache } from "lru-cache";
import type { JSONWebKeySet, JWK } from "jose";
import type { Outbound } from "../outbound/outbound.js";

/** Chooses the key of a token by its header. The types of this module name no package that programs lack. */
export type KeyChoice = (header?: { alg?: string; kid?: string }) => Promise<webcrypto.CryptoKey>;

/** The keys of an issuer. */
export interface KeySet {
  readonly choose: KeyChoice;
  /** Differs if the keys do. */
  readonly version: string;
}

/** How long keys count without a look at the issuer, in milliseconds. */
const FRESH_MS = 10 * 60_000;

/** How long they count while the issuer does not answer. */
const STALE_MS = 24 * 3_600_000;

/** How long the next look waits, after one for an unknown key or one that failed. */
const RETRY_DELAY_MS = 60_000;

/** The same while there are no keys at all. */
const FIRST_RETRY_DELAY_MS = 5000;

/** How long known keys wait for a look at the issuer. */
const REFRESH_WAIT_MS = 1000;

/** Bounds of a look at the issuer. */
const FETCH_TIMEOUT_MS = 10_000;
const MAX_BYTES = 1024 * 1024;

/** How many keys a set may have. Each may be tried for a token without the name of a key. */
const MAX_KEYS = 100;

/** The bounds for all sets together: how many there are, and their characters. */
const MAX_SETS = 1000;
const MAX_SIZE = 16 * 1024 * 1024;

/** What is known of the keys at one address. */
interface Source {
  set?: KeySet;
  /** When the issuer answered last, in milliseconds since 1970. */
  fetched: number;
  /** When the next look after a failure is due. */
  retry: number;
  /** When a look for an unknown key may be next. */
  unknown: number;
  looking?: Promise<void>;
}

/** The ports of {@link KeySets}. */
export interface KeySetPorts {
  outbound: Pick<Outbound, "send">;
  /** Gets a line about an issuer that does not answer. */
  warn: (line: string) => void;
  /** In milliseconds since 1970. */
  now?: () => number;
}

/**
 * The public keys of issuers by their addresses, for all worlds of this process. An issuer
 * is asked once for all tokens that wait.
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
   * The keys at an address. While the issuer does not answer, they count for a day.
   * @returns undefined if there are none.
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
   * The keys at an address after a look for one that is not among them, if a look is due.
   * @returns undefined if there is no other set than the one that was tried.
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

  /** Whether a set of keys is the present one, and fresh. */
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

  /** Asks the issuer, once at a time. It never rejects. */
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

  /** @throws an error whose message says what is wrong. */
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
 * The keys of a document, as they are chosen for a token.
 * @throws an error whose message says what is wrong.
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
