import type { FastifyInstance } from "fastify";
import { type Config, loadConfig } from "../config.js";
import { permissionKeys } from "../schemas/plain/permissions.js";
import { closestName } from "../schemas/plain/config/variable-names.js";

// Checks an embedder's options at run time, because no compiler checks them in JavaScript.

const OPTIONS = ["config", "engines", "callEngines", "gather", "setup", "permissions"];

/** Settings whose nested names depend on the setting's value. */
const OPEN = ["engines", "calls"];

/**
 * Checks the names of options and settings.
 * @throws {Error} if a name is unknown. The message contains the first unknown name.
 */
export function expectKnownOptions(options: object): void {
  const known = loadConfig({});
  if ("prefix" in options) {
    throw new Error(
      "The option prefix of register has no effect on foyer, as its paths are fixed. Let a proxy serve it under a path, and set config.publicUrl.",
    );
  }
  expectNames("option", options, OPTIONS);
  const { config = {} } = options as { config?: Partial<Config> };
  expectNames("setting of config", config, Object.keys(known));
  for (const [name, value] of Object.entries(known)) {
    const given = config[name as keyof Config];
    if (!isPlain(value) || !isPlain(given) || OPEN.includes(name)) continue;
    expectNames(`setting of config.${name}`, given, Object.keys(value));
  }
}

const isPlain = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function expectNames(kind: string, given: object, names: readonly string[]): void {
  for (const name of Object.keys(given)) {
    if (!names.includes(name)) throw new Error(unknown(kind, name, names));
  }
}

function unknown(kind: string, name: string, names: readonly string[]): string {
  const meant = closestName(name, names);
  const hint = meant ? `did you mean ${meant}?` : `there are ${names.join(", ")}.`;
  return `${name}: There is no such ${kind}; ${hint}`;
}

/** Property of a Fastify instance: the permission keys that the embedder declared. */
const kPermissions = Symbol("permission keys of the embedder");

type Scope = FastifyInstance & { [kPermissions]?: readonly string[] };

const KEY = /^(?=.{1,100}$)[a-z0-9_]+(\.[a-z0-9_]+)+$/;

/**
 * Declares the embedder's permission keys, which the embedder's routes may then require.
 * @throws {Error} if a key is malformed.
 */
export function declarePermissions(app: FastifyInstance, keys: readonly string[] = []): void {
  const bad = keys.find((key) => !KEY.test(key));
  if (bad !== undefined) {
    throw new Error(
      `${bad}: A permission key has words of a-z, 0-9 and _, joined by dots, such as shop.orders.`,
    );
  }
  (app as Scope)[kPermissions] = keys;
}

/**
 * Checks the permission keys that a route requires.
 * @param app the Fastify instance to which the route is added.
 * @throws {Error} if a key was not declared.
 */
export function expectPermissions(
  app: FastifyInstance,
  route: string,
  requires: readonly string[],
): void {
  const names = [...permissionKeys, ...((app as Scope)[kPermissions] ?? [])];
  const name = requires.find((key) => !names.includes(key));
  if (name === undefined) return;
  const meant = closestName(name, names);
  throw new Error(
    `${route} requires ${name}, and there is no such permission; ${meant ? `did you mean ${meant}?` : "name your own in the option permissions of foyer."}`,
  );
}
