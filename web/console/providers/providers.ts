import type { components } from "../../../client/api.js";
import type { Foyer, Versioned, World } from "../../../client/index.js";

export type Provider = components["schemas"]["SignInProvider"];
export type Issuer = components["schemas"]["TokenIssuer"];

/** Maximum number of providers per world. */
export const MAX_PROVIDERS = 5;

interface Config {
  oidc?: readonly Provider[];
  JWT_issuers?: readonly Issuer[];
}

/** Returns the sign-in providers, and the issuers whose tokens are accepted. */
export function signInOf({ config }: World) {
  const { oidc = [], JWT_issuers = [] } = config as Config;
  return { providers: oidc, issuers: JWT_issuers };
}

/**
 * Replaces the providers. Keys and issuers are not sent, and stay unchanged.
 * @throws {FoyerError} 412 if the world has changed since it was read.
 */
export function writeProviders(
  api: Pick<Foyer, "updateWorld">,
  { config, etag }: Versioned<World>,
  oidc: readonly Provider[],
): Promise<Versioned<World>> {
  const kept = Object.fromEntries(
    Object.entries(config).filter(([name]) => name !== "JWT_secrets" && name !== "JWT_issuers"),
  );
  const changes = { config: { ...kept, oidc } } as never;
  return api.updateWorld(changes, { ifMatch: etag });
}

/** Derives a URL-safe id for a provider from its name. */
export const idOf = (name: string): string =>
  name
    .normalize("NFD")
    .toLowerCase()
    .split(/[^a-z0-9]/)
    .filter(Boolean)
    .join("-")
    .slice(0, 50);

/**
 * Returns the messages about one entry of a list, by field.
 * @param path the entry's path, such as `config.oidc.0`.
 */
export const problemsAt = (
  path: string,
  fields: Readonly<Record<string, readonly string[]>>,
): Record<string, readonly string[]> =>
  Object.fromEntries(
    Object.entries(fields).flatMap(([field, messages]) =>
      field.startsWith(`${path}.`) ? [[field.slice(path.length + 1).split(".")[0]!, messages]] : [],
    ),
  );
