import type {
  Foyer,
  Live,
  Versioned,
  World,
  WorldChanges,
} from "../../client/index.js";
import { given } from "../../schemas/plain/given.js";
import { Conflict, type Snapshot, type Source, type Values } from "./draft.js";
import type { PermissionConfig } from "./rules.js";

// The settings of a world, and its rules, as values of a draft. The keys that sign
// tokens are never among them.

/** The part of the HTTP API that is used. */
export type WorldApi = Pick<Foyer, "getWorld" | "updateWorld">;
type Calls = Pick<Live, "call">;

const CONFIG = "config.";

/** The settings of `world.config.get` that the console shows; the others stay as they are. */
const LIVE = [
  ...["theme", "locale", "dateLocale", "timezone", "connection_limit"],
  ...["profile_fields", "iframe_blockers", "onsite_traits"],
] as const;

/** The settings of a world over HTTP, each one a value such as `config.theme`. */
export const worldSettings = (api: WorldApi): Source => ({
  read: async () => settingsOf(await api.getWorld()),
  async write(values, changed, version) {
    const changes: Record<string, unknown> = {};
    for (const name of changed) {
      if (!name.startsWith(CONFIG)) changes[name] = values[name];
      // The API replaces a config as a whole. Without JWT_secrets, the keys stay.
      else changes["config"] ??= configOf(values);
    }
    return settingsOf(await api.updateWorld(changes, { ifMatch: version }));
  },
});

function settingsOf({
  title,
  domain,
  config,
  etag,
}: Versioned<World>): Snapshot {
  const { JWT_secrets: _, ...settings } = config;
  return {
    values: { title, domain, ...valuesOf(settings) },
    version: etag,
  };
}

/** A config as values of a draft. */
export const valuesOf = (config: Values): Values =>
  Object.fromEntries(
    Object.entries(config).map(([key, value]) => [CONFIG + key, value]),
  );

/** The config in the values of a draft. */
export const configOf = (values: Values): Values =>
  Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) =>
      name.startsWith(CONFIG) && value !== undefined
        ? [[name.slice(CONFIG.length), value]]
        : [],
    ),
  );

/**
 * The settings of a world over the live connection, for users who may update a world but not
 * see its keys. It has no versions, so it compares the values right before a write, and
 * writes only changed ones.
 */
export function liveSettings(live: Calls): Source {
  const read = async (): Promise<Snapshot> => {
    const { title, ...settings } = await live.call("world.config.get");
    const shown = Object.fromEntries(LIVE.map((key) => [key, settings[key]]));
    const values = { title, ...valuesOf(shown) };
    return { values, version: JSON.stringify(values) };
  };
  return {
    read,
    async write(values, changed, version) {
      await expect(version, read);
      const patch = Object.fromEntries(
        changed.map((name) => [name.replace(CONFIG, ""), values[name]]),
      );
      await live.call("world.config.patch", patch);
      return read();
    },
  };
}

/** The name of the value that holds the roles. No permission key is a single word. */
export const ROLES = "roles";

/** The rules of a world over HTTP, by key, and `config.roles`. */
export const worldRules = (api: WorldApi): Source => ({
  read: async () => rulesOf(await api.getWorld()),
  async write(values, changed, version) {
    const { [ROLES]: roles, ...rules } = values;
    const changes: WorldChanges = {};
    if (changed.some((name) => name !== ROLES)) {
      changes.permission_config = given(rules) as PermissionConfig;
    }
    if (changed.includes(ROLES)) {
      const { config, etag } = await api.getWorld();
      if (etag !== version) throw new Conflict();
      const { JWT_secrets: _, ...settings } = config;
      changes.config = { ...settings, roles: roles as never };
    }
    return rulesOf(await api.updateWorld(changes, { ifMatch: version }));
  },
});

/** The rules among the values of a draft. */
export const rulesIn = (values: Values = {}): PermissionConfig => {
  const { [ROLES]: _, ...rules } = values;
  return given(rules) as PermissionConfig;
};

/** The rules of a world over the live connection. */
export function liveRules(live: Calls): Source {
  const read = async (): Promise<Snapshot> => {
    const { trait_grants } = await live.call("world.config.get");
    return { values: trait_grants, version: JSON.stringify(trait_grants) };
  };
  return {
    read,
    async write(values, _, version) {
      await expect(version, read);
      const trait_grants = given(values) as PermissionConfig;
      await live.call("world.config.patch", { trait_grants });
      return read();
    },
  };
}

async function expect(version: string, read: () => Promise<Snapshot>) {
  if ((await read()).version !== version) throw new Conflict();
}

const rulesOf = ({
  permission_config,
  config,
  etag,
}: Versioned<Pick<World, "permission_config" | "config">>): Snapshot => ({
  values: { ...permission_config, [ROLES]: config["roles"] },
  version: etag,
});
