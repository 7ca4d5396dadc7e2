import type { FastifyPluginAsync, FastifyPluginCallback } from "fastify";
import fp from "fastify-plugin";
import baseUrl from "./base-url.js";
import cors from "./cors.js";
import draining from "./draining.js";
import errors from "./errors.js";
import expectContinue from "./expect-continue.js";
import pipelining from "./pipelining.js";
import requestLog from "./request-log.js";
import serialization from "./serialization.js";
import unrouted from "./unrouted.js";
import protocol from "./protocol.js";

export interface HttpOptions {
  /** Where clients reach the server, if a proxy hides it. */
  publicUrl?: string | undefined;
  /** The origins whose pages may call; none by default. */
  corsOrigins?: string[] | "*" | undefined;
  /** How long `close` waits for requests in flight, in milliseconds. */
  patience: number;
  /** Leaves out the parts that only an API needs. */
  bare?: boolean;
}

interface Part {
  plugin: FastifyPluginAsync<HttpOptions> | FastifyPluginCallback<HttpOptions>;
  /** Whether a port without the API needs it, too. */
  bare: boolean;
  /** What it does, and why it comes where it comes. */
  why: string;
}

/** The hooks of a request run in this order. */
const parts: readonly Part[] = [
  {
    plugin: protocol,
    bare: true,
    why: "refuses ambiguous headers; it must know of a request before the parser reads the next one",
  },
  {
    plugin: errors,
    bare: true,
    why: "gives every answer its headers; the answers of all later parts need them",
  },
  {
    plugin: pipelining,
    bare: false,
    why: "holds a request until its turn; from here on a request may take resources",
  },
  {
    plugin: cors,
    bare: false,
    why: "answers preflights; a page can read the refusals of all later parts",
  },
  {
    plugin: unrouted,
    bare: true,
    why: "answers 404 and 405, before the body is read",
  },
  {
    plugin: draining,
    bare: true,
    why: "answers 503 while the server stops; an unknown path stays a 404",
  },
  {
    plugin: requestLog,
    bare: false,
    why: "logs each answer at level debug",
  },
  {
    plugin: expectContinue,
    bare: false,
    why: "asks for the body, once nothing refused the request",
  },
  {
    plugin: serialization,
    bare: false,
    why: "compiles the schemas of answers",
  },
  {
    plugin: baseUrl,
    bare: false,
    why: "gives handlers the base of links",
  },
];

/** Everything that HTTP asks of the server, on any route. */
export default fp<HttpOptions>(
  async (app, options) => {
    for (const { plugin, bare } of parts) {
      if (bare || !options.bare) {
        app.register(plugin as FastifyPluginAsync<HttpOptions>, options);
      }
    }
  },
  { name: "http" },
);
