import { Agent, request } from "undici";
import { ENGINE_TIMEOUT_MS, type EngineName, EngineUnavailable } from "./engine.js";

/** Receives a finished request's engine and duration in seconds, and whether the request failed. */
export type ObserveRequest = (engine: EngineName, seconds: number, failed: boolean) => void;

/** A request from this server to an engine, at an address that the operator has configured. */
export interface EngineRequest {
  url: string;
  /** The body. A request with a body is sent with POST. */
  body?: string;
  headers?: Record<string, string>;
}

export interface EngineAnswer {
  status: number;
  text: string;
  /** The engine's clock minus this machine's clock, in milliseconds; undefined if unknown. */
  skew: number | undefined;
}

/**
 * Maximum size of a response, in bytes. The longest response lists a call with 3,000 people, at
 * about 2 KiB per person.
 */
const MAX_ANSWER = 32 * 1024 * 1024;

/** Difference between an engine's clock and this machine's clock beyond which tokens are refused, in milliseconds. */
const MAX_SKEW_MS = 60_000;

/** Maximum time that an idle connection stays open, in milliseconds. */
const IDLE_TIMEOUT_MS = 30_000;

/**
 * Sends requests to one engine. Redirects are not followed, because a redirect could send a token
 * to another server.
 */
export class EngineHttp {
  readonly #agent = new Agent({
    keepAliveTimeout: IDLE_TIMEOUT_MS,
    keepAliveMaxTimeout: IDLE_TIMEOUT_MS,
    connect: { autoSelectFamily: true, timeout: ENGINE_TIMEOUT_MS },
  });
  readonly #engine: EngineName;
  readonly #observe: ObserveRequest;

  constructor(engine: EngineName, observe: ObserveRequest = () => {}) {
    this.#engine = engine;
    this.#observe = observe;
  }

  /**
   * Sends a request and reads the response.
   * @param read converts the response, or throws an error created by {@link unavailable}.
   * @throws {EngineUnavailable}
   */
  async ask<T>(sent: EngineRequest, read: (answer: EngineAnswer) => T): Promise<T> {
    const start = performance.now();
    let failed = true;
    try {
      const result = read(await this.#send(sent));
      failed = false;
      return result;
    } finally {
      this.#observe(this.#engine, (performance.now() - start) / 1000, failed);
    }
  }

  /** Returns the error for a failed request or an unexpected response. */
  unavailable(fault: string, cause?: unknown): EngineUnavailable {
    return new EngineUnavailable(this.#engine, fault, { cause });
  }

  /** Aborts all requests. */
  async close(): Promise<void> {
    await this.#agent.destroy();
  }

  async #send({ url, body, headers = {} }: EngineRequest): Promise<EngineAnswer> {
    const signal = AbortSignal.timeout(ENGINE_TIMEOUT_MS);
    try {
      const answer = await request(url, {
        method: body === undefined ? "GET" : "POST",
        headers,
        body: body ?? null,
        signal,
        dispatcher: this.#agent,
      });
      const chunks: Buffer[] = [];
      let size = 0;
      // Leaving the loop destroys the connection.
      for await (const chunk of answer.body as AsyncIterable<Buffer>) {
        size += chunk.length;
        if (size > MAX_ANSWER) throw this.unavailable("sends an answer that is too large");
        chunks.push(chunk);
      }
      const date = Date.parse(String(answer.headers.date));
      return {
        status: answer.statusCode,
        text: Buffer.concat(chunks).toString(),
        skew: Number.isNaN(date) ? undefined : date - Date.now(),
      };
    } catch (error) {
      if (error instanceof EngineUnavailable) throw error;
      throw this.unavailable(faultOf(error, signal), error);
    }
  }
}

/**
 * Describes the difference between the engine's clock and this machine's clock, or returns
 * undefined if tokens are accepted despite the difference.
 */
export function clockFault(skew: number | undefined): string | undefined {
  if (skew === undefined || Math.abs(skew) <= MAX_SKEW_MS) return undefined;
  const seconds = Math.round(Math.abs(skew) / 1000);
  return `has a clock that is ${seconds} seconds ${skew > 0 ? "ahead of" : "behind"} this machine's`;
}

/** OpenSSL and Node.js error codes for certificates. */
const TLS = /^(CERT_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|ERR_TLS|ERR_SSL|EPROTO)/;

const FAULTS: Record<string, string> = {
  ECONNREFUSED: "does not listen at its address",
  ENOTFOUND: "has a host name without an address",
  EAI_AGAIN: "has a host name without an address",
};

/** @param signal the signal that enforces the timeout. */
function faultOf(error: unknown, signal: AbortSignal): string {
  // Happy Eyeballs reports one error per address.
  const first: unknown = error instanceof AggregateError ? error.errors[0] : error;
  for (let it = first; it instanceof Error; it = it.cause) {
    const code = String((it as NodeJS.ErrnoException).code);
    if (FAULTS[code] !== undefined) return FAULTS[code];
    if (TLS.test(code)) return "has no valid certificate";
  }
  const seconds = ENGINE_TIMEOUT_MS / 1000;
  return signal.aborted ? `does not answer within ${seconds} seconds` : "cannot be reached";
}
