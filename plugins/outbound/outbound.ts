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
  /** How long everything may take, from the look-up of the name to the last byte, in milliseconds. */
  timeout: number;
  /** How many bytes of the answer are taken. */
  maxBytes: number;
  /** Whether the answer is dropped: then one that is too large is no error. */
  drops?: boolean;
}

/** The answer of another server; a redirect is one, as none is followed. */
interface OutboundAnswer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  /** Empty if the request dropped it. */
  body: Buffer;
}

/** What a set of outbound requests is made of. */
export interface OutboundOptions {
  /** The hosts and ranges that are allowed beside public addresses. */
  allow: readonly string[];
  /** Looks up all addresses of a name; by default as the machine does. */
  resolve?: (name: string) => Promise<LookupAddress[]>;
  /** The certificates of authorities that count; by default the list of Node.js. */
  ca?: string;
}

/** How long the look-up of a name may take when a person enters it, in milliseconds. */
const LOOKUP_TIMEOUT_MS = 3000;

/** How long a connection may stay open without a request, in milliseconds. */
const IDLE_TIMEOUT_MS = 4000;

/**
 * Sends every request that goes to an address that a user named, and to no address
 * inside the network of the server. A name is looked up once for a connection; each of its addresses is
 * checked, and the connection goes to one of these. Redirects are not followed, and
 * variables for proxies do not count, as a proxy would look up the name again.
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
   * What is wrong with an address that a user enters. A name that has no address now is
   * accepted, as it is checked again with each request.
   * @returns a sentence; undefined if requests may go there.
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

  /** @throws {OutboundError} */
  async send(request: OutboundRequest): Promise<OutboundAnswer> {
    const { url, timeout, maxBytes, method = "GET", body = null } = request;
    const { headers = {}, drops = false } = request;
    // Addresses in URLs are connected to without a look-up.
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
        // The signal ends it.
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

  /** Ends all requests. */
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

  /** The look-up of a connection, which connects only to what this gives. */
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

  /** @throws {OutboundError} if the name has no address, or one that is not allowed. */
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
 * Reads an answer.
 * @throws {OutboundError} `too_large`, if it is not dropped.
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
 * Why a request got no answer. `address_not_allowed`: it would have gone where no request may
 * go. `not_found`: its name has no address. `timeout`, `too_large`: the answer took too long, or has
 * too many bytes. `unreachable`: the connection failed. `tls`: the certificate is not
 * one of that name.
 */
type OutboundProblem =
  "address_not_allowed" | "not_found" | "timeout" | "too_large" | "unreachable" | "tls";

const SENTENCES: Record<OutboundProblem, string> = {
  address_not_allowed: "The address is not public.",
  not_found: "The host name has no address.",
  timeout: "The answer took too long.",
  too_large: "The answer is too large.",
  unreachable: "The connection failed.",
  tls: "The certificate of the server is not valid.",
};

/** A request got no answer. */
export class OutboundError extends Error {
  constructor(
    readonly code: OutboundProblem,
    cause?: unknown,
  ) {
    super(SENTENCES[code], { cause });
  }
}

/** Node's codes for a name without an address. */
const NO_NAME = new Set(["ENOTFOUND", "ENODATA", "EAI_AGAIN", "ESERVFAIL"]);

/** OpenSSL's and Node's codes for certificates. */
const TLS = /^(CERT_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|ERR_TLS|ERR_SSL|EPROTO)/;

/**
 * The refusal behind an error of a library.
 * @param signal the one that ends the request when its time is over.
 */
function outboundErrorOf(error: unknown, signal: AbortSignal): OutboundError {
  // Happy Eyeballs reports one error for each address.
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
    /** Sends requests to addresses that users named. */
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
