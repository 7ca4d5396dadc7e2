import { type LookupAddress, promises as dns } from "node:dns";
import type { LookupFunction } from "node:net";
import fp from "fastify-plugin";
import type { Agent } from "undici";
import { Allowance, NOT_PUBLIC, PLAIN, targetOf } from "./addresses.js";

/** A request to another server. */
interface OutboundRequest {
  url: string;
  method?: "GET" | "POST" | "PUT" | "DELETE";
  headers?: Record<string, string>;
  body?: string | Buffer;
  /** Timeout for the whole request, from resolving the name to the last byte, in milliseconds. */
  timeout: number;
  /** Maximum size of the response body, in bytes. */
  maxBytes: number;
  /** Whether the response body is discarded. A body that is too large is then not an error. */
  drops?: boolean;
}

/** Another server's response. Redirects are not followed, so the response may be a redirect. */
interface OutboundAnswer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  /** Empty if the request discards the body. */
  body: Buffer;
}

/** The options of {@link Outbound}. */
export interface OutboundOptions {
  /** The hosts and ranges that are allowed in addition to public addresses. */
  allow: readonly string[];
  /** Resolves a name to all of its addresses; defaults to the system resolver. */
  resolve?: (name: string) => Promise<LookupAddress[]>;
  /** The trusted CA certificates; defaults to Node.js's list. */
  ca?: string;
}

/** Timeout for resolving a name while a person is entering it, in milliseconds. */
const LOOKUP_TIMEOUT_MS = 3000;

/** Maximum time that an idle connection stays open, in milliseconds. */
const IDLE_TIMEOUT_MS = 4000;

/**
 * Sends all requests to addresses supplied by users. Addresses that are neither public nor
 * explicitly allowed are refused. A name is resolved once per connection: all of its addresses are
 * checked, and the connection uses one of these addresses. Redirects are not followed, and proxy
 * variables are ignored, because a proxy would resolve the name again.
 */
export class Outbound {
  readonly #allow: Allowance;
  readonly #resolve: (name: string) => Promise<LookupAddress[]>;
  readonly #ca: string | undefined;
  #agent: Promise<Agent> | undefined;

  constructor({ allow, resolve = lookUp, ca }: OutboundOptions) {
    this.#allow = new Allowance(allow);
    this.#resolve = resolve;
    this.#ca = ca;
  }

  /**
   * Checks a URL that a user enters. For HTTPS, a name that currently has no address is accepted,
   * because the name is checked again for each request.
   * @returns a sentence that describes the fault, or undefined if requests may be sent to the URL.
   */
  async faultOf(url: string): Promise<string | undefined> {
    const target = targetOf(url, this.#allow);
    if ("fault" in target) return target.fault;
    if (!target.isName || this.#allow.hasName(target.host)) return undefined;
    const isPlain = target.url.protocol === "http:";
    const found = await withTimeout(this.#resolve(target.host), LOOKUP_TIMEOUT_MS).catch(
      (): LookupAddress[] => [],
    );
    const isAllowed = found.every(({ address }) => this.#allow.permits(address, isPlain));
    if (isPlain && !(isAllowed && found.length > 0)) return PLAIN;
    return isAllowed ? undefined : NOT_PUBLIC;
  }

  /**
   * Sends a request.
   * @throws {OutboundError} if the request fails.
   */
  async send(request: OutboundRequest): Promise<OutboundAnswer> {
    const { url, timeout, maxBytes, method = "GET", body = null } = request;
    const { headers = {}, drops = false } = request;
    // IP addresses in URLs bypass the lookup, so they are checked here.
    if ("fault" in targetOf(url, this.#allow)) {
      throw new OutboundError("address_not_allowed");
    }
    const signal = AbortSignal.timeout(timeout);
    try {
      const { request: send } = await import("undici");
      const dispatcher = await (this.#agent ??= this.#open());
      const answer = await send(url, {
        method,
        headers,
        body,
        signal,
        dispatcher,
        // The signal enforces the timeout instead.
        headersTimeout: 0,
        bodyTimeout: 0,
      });
      return {
        status: answer.statusCode,
        headers: answer.headers,
        body: await taken(answer.body, maxBytes, drops),
      };
    } catch (error) {
      throw outboundErrorOf(error, signal);
    }
  }

  /** Aborts all requests. */
  async close(): Promise<void> {
    await (await this.#agent)?.destroy();
  }

  async #open(): Promise<Agent> {
    const { Agent, buildConnector } = await import("undici");
    const common = { ...(this.#ca !== undefined && { ca: this.#ca }), autoSelectFamily: true };
    const secure = buildConnector({ ...common, lookup: this.#lookup(false) });
    const plain = buildConnector({ ...common, lookup: this.#lookup(true) });
    return new Agent({
      keepAliveTimeout: IDLE_TIMEOUT_MS,
      keepAliveMaxTimeout: IDLE_TIMEOUT_MS,
      connect: (options, done) => (options.protocol === "https:" ? secure : plain)(options, done),
    });
  }

  /**
   * Returns the lookup function for connections. A connection uses only addresses that the lookup
   * function returns.
   */
  #lookup(isPlain: boolean): LookupFunction {
    return (name, options, done) => {
      this.#addressesOf(name, isPlain).then(
        (found) => {
          const [first] = found;
          if (options.all) done(null, found);
          else done(null, first!.address, first!.family);
        },
        (error: Error) => done(error, []),
      );
    };
  }

  /** @throws {OutboundError} if the name has no address, or has an address that is not allowed. */
  async #addressesOf(name: string, isPlain: boolean) {
    const found = await this.#resolve(name);
    if (found.length === 0) throw new OutboundError("not_found");
    const isAllowed =
      this.#allow.hasName(name) ||
      found.every(({ address }) => this.#allow.permits(address, isPlain));
    if (!isAllowed) throw new OutboundError("address_not_allowed");
    return found;
  }
}

const lookUp = (name: string) => dns.lookup(name, { all: true });

/**
 * Reads a response body.
 * @throws {OutboundError} `too_large`, unless the body is discarded.
 */
async function taken(
  body: AsyncIterable<Buffer>,
  maxBytes: number,
  drops: boolean,
): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  // Leaving the loop destroys the connection.
  for await (const chunk of body) {
    size += chunk.length;
    if (size > maxBytes && drops) break;
    if (size > maxBytes) throw new OutboundError("too_large");
    if (!drops) chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

async function withTimeout<T>(work: Promise<T>, ms: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new OutboundError("timeout")), ms);
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}

/**
 * Reasons why a request failed. `address_not_allowed`: requests may not be sent to the target.
 * `not_found`: the host name could not be resolved. `timeout`: the response took too long.
 * `too_large`: the response has too many bytes. `unreachable`: the connection failed. `tls`: the
 * server's certificate is not valid.
 */
type OutboundProblem =
  "address_not_allowed" | "not_found" | "timeout" | "too_large" | "unreachable" | "tls";

const SENTENCES: Record<OutboundProblem, string> = {
  address_not_allowed: "The address is not public.",
  not_found: "The host name cannot be resolved.",
  timeout: "The answer took too long.",
  too_large: "The answer is too large.",
  unreachable: "The connection failed.",
  tls: "The server's certificate is not valid.",
};

/** Thrown when a request fails without a usable response. */
export class OutboundError extends Error {
  constructor(
    readonly code: OutboundProblem,
    cause?: unknown,
  ) {
    super(SENTENCES[code], { cause });
  }
}

/** Node.js error codes for a host name that could not be resolved. */
const NO_NAME = new Set(["ENOTFOUND", "ENODATA", "EAI_AGAIN", "ESERVFAIL"]);

/** OpenSSL and Node.js error codes for certificates. */
const TLS = /^(CERT_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|ERR_TLS|ERR_SSL|EPROTO)/;

/**
 * Converts an error from a library to an {@link OutboundError}.
 * @param signal the signal that enforces the request's timeout.
 */
function outboundErrorOf(error: unknown, signal: AbortSignal): OutboundError {
  // Happy Eyeballs reports one error per address.
  const first: unknown = error instanceof AggregateError ? error.errors[0] : error;
  for (let it = first; it instanceof Error; it = it.cause) {
    if (it instanceof OutboundError) return it;
    const code = String((it as NodeJS.ErrnoException).code);
    if (NO_NAME.has(code)) return new OutboundError("not_found", error);
    if (TLS.test(code)) return new OutboundError("tls", error);
    if (code.endsWith("_TIMEOUT")) return new OutboundError("timeout", error);
  }
  return new OutboundError(signal.aborted ? "timeout" : "unreachable", error);
}

declare module "fastify" {
  interface FastifyInstance {
    /** Sends requests to addresses supplied by users. */
    readonly outbound: Outbound;
  }
}

/** Provides `app.outbound`. */
export default fp<OutboundOptions>(
  async (app, options) => {
    const outbound = new Outbound(options);
    app.decorate("outbound", outbound);
    app.addHook("onClose", () => outbound.close());
  },
  { name: "outbound" },
);
