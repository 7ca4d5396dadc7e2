import { isIP } from "node:net";
import { Type } from "@sinclair/typebox";
import { fileTypes } from "./schemas/files.js";
import { OneOf, Text } from "./schemas/values.js";
import { compileValidator } from "./schemas/validate.js";

/** How the server runs; what each part means is told with its variable. */
export interface Config {
  host: string;
  port: number;
  dataDir: string;
  publicUrl: string | undefined;
  trustProxy: string[] | false;
  logLevel: string;
  uploads: {
    /** The largest file, in bytes. */
    maxBytes: number;
    /** Extensions that are taken. */
    types: string[];
    /** How many one caller may send in a minute. */
    perMinute: number;
    /** How much the files of one world may take, in bytes. */
    worldMaxBytes: number;
  };
}

const Bound = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER });

/** The variables of the environment, as text turned into what it stands for. */
const Environment = Type.Object({
  HOST: Text({ minLength: 1 }),
  PORT: Type.Integer({ minimum: 0, maximum: 65535 }),
  UPLOAD_MAX_BYTES: Bound,
  UPLOAD_WORLD_MAX_BYTES: Bound,
  UPLOADS_PER_MINUTE: Bound,
  DATA_DIR: Text({ minLength: 1 }),
  LOG_LEVEL: OneOf(
    "fatal",
    "error",
    "warn",
    "info",
    "debug",
    "trace",
    "silent",
  ),
});
const check = compileValidator(Environment);

/** A variable with a bad value; the message is one line that names it. */
export class ConfigError extends Error {}

/**
 * Reads the configuration.
 * @param env the environment; a variable that is empty counts as not set.
 * @throws {ConfigError} on the first bad value.
 */
export function loadConfig(env: NodeJS.ProcessEnv): Config {
  const values = {
    HOST: env.HOST || "127.0.0.1",
    PORT: number(env.PORT || "8375"),
    DATA_DIR: env.DATA_DIR || "./data",
    LOG_LEVEL: env.LOG_LEVEL || "info",
    UPLOAD_MAX_BYTES: number(env.UPLOAD_MAX_BYTES || "10485760"),
    UPLOAD_WORLD_MAX_BYTES: number(env.UPLOAD_WORLD_MAX_BYTES || "10737418240"),
    UPLOADS_PER_MINUTE: number(env.UPLOADS_PER_MINUTE || "600"),
  };
  const [fault] = Object.entries(check(values)?.faults ?? {});
  if (fault) throw new ConfigError(`${fault[0]}: ${fault[1].join(" ")}`);
  return {
    host: values.HOST,
    port: Number(values.PORT),
    dataDir: values.DATA_DIR,
    logLevel: values.LOG_LEVEL,
    publicUrl: env.PUBLIC_URL ? readUrl(env.PUBLIC_URL) : undefined,
    trustProxy: readProxies(env.TRUST_PROXY || "off"),
    uploads: {
      maxBytes: Number(values.UPLOAD_MAX_BYTES),
      worldMaxBytes: Number(values.UPLOAD_WORLD_MAX_BYTES),
      perMinute: Number(values.UPLOADS_PER_MINUTE),
      types: readTypes(env.UPLOAD_TYPES),
    },
  };
}

/** A whole number; anything else stays text, for the schema to refuse. */
const number = (text: string) => (/^\d+$/.test(text) ? Number(text) : text);

function readTypes(text: string | undefined): string[] {
  const known = Object.keys(fileTypes);
  const types = text ? text.split(",").map((type) => type.trim()) : known;
  const odd = types.find((type) => !known.includes(type));
  if (odd !== undefined) {
    throw new ConfigError(
      `UPLOAD_TYPES: ${JSON.stringify(odd)} is not one of ${known.join(", ")}.`,
    );
  }
  return types;
}

function readUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol) || url.search || url.hash) {
    throw new ConfigError(
      "PUBLIC_URL: Must be an address like https://rooms.example.org.",
    );
  }
  return (url.origin + url.pathname).replace(/\/+$/, "");
}

/** Names that stand for ranges of addresses, as Fastify knows them. */
const RANGES = ["loopback", "linklocal", "uniquelocal"];

function readProxies(text: string): string[] | false {
  if (text === "off") return false;
  const proxies = text.split(",").map((proxy) => proxy.trim());
  for (const proxy of proxies) {
    const [address = "", bits, ...rest] = proxy.split("/");
    const version = isIP(address);
    const known =
      RANGES.includes(proxy) ||
      (version !== 0 &&
        rest.length === 0 &&
        (bits === undefined ||
          (/^\d{1,3}$/.test(bits) &&
            Number(bits) <= (version === 4 ? 32 : 128))));
    if (!known) {
      throw new ConfigError(
        `TRUST_PROXY: Must be off, or addresses, ranges like 10.0.0.0/8, or ${RANGES.join(", ")}, separated by commas.`,
      );
    }
  }
  return proxies;
}
