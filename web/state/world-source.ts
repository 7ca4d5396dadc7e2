import { readable, type Readable } from "svelte/store";
import type { Commands, Foyer, Live, Versioned, World, WorldChanges } from "../../client/index.js";
import { accessOf } from "../../schemas/plain/access.js";
import { definedFields } from "../../schemas/plain/given.js";
import type { PageConfig, Theme } from "../lib/page.js";
import { may } from "../lib/rights.js";
import { Conflict, type Snapshot, type Source, type Values } from "./draft.js";
import { holdsKey, type PermissionConfig } from "./rules.js";
import { codeOf, type Session } from "./session.js";
import { objectOf } from "./world-form.js";

// A world's settings and rules as a draft's values. The values never include the keys that sign
// tokens.

type WorldApi = Pick<Foyer, "getWorld" | "updateWorld">;
type Calls = Pick<Live, "call">;
type Settings = Commands["world.config.get"]["result"];

const CONFIG = "config.";

/** Settings of `world.config.get` that the console shows. The other settings are left unchanged. */
const LIVE = [
  "theme",
  "locale",
  "dateLocale",
  "timezone",
  "connection_limit",
  "profile_fields",
  "iframe_blockers",
  "onsite_traits",
] as const;

/** A world's settings over HTTP, each as a value such as `config.theme`. */
export const worldSettings = (api: WorldApi): Source => ({
  read: async () => settingsOf(await api.getWorld()),
  async write(values, changed, version) {
    const changes: Record<string, unknown> = {};
    for (const name of changed) {
      if (!name.startsWith(CONFIG)) changes[name] = values[name];
      // The API replaces the whole config. Omitting JWT_secrets preserves the keys.
      else changes["config"] ??= configOf(values);
    }
    return settingsOf(await api.updateWorld(changes, { ifMatch: version }));
  },
});

function settingsOf({ title, domain, config, etag }: Versioned<World>): Snapshot {
  const { JWT_secrets: _, ...settings } = config;
  return { values: { title, domain, ...valuesOf(settings) }, version: etag };
}

/** Converts a config to a draft's values. */
export const valuesOf = (config: Values): Values =>
  Object.fromEntries(Object.entries(config).map(([key, value]) => [CONFIG + key, value]));

/** Extracts the config from a draft's values. */
export const configOf = (values: Values): Values =>
  Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) =>
      name.startsWith(CONFIG) && value !== undefined ? [[name.slice(CONFIG.length), value]] : [],
    ),
  );

/** A world's settings over the live connection, for users who may not see its keys. */
export function liveSettings(live: Calls, names: readonly (keyof Settings)[] = LIVE): Source {
  const shown = ({ title, ...settings }: Settings): Values => ({
    title,
    ...Object.fromEntries(names.map((key) => [key, (settings as Values)[key]])),
  });
  return liveSource(live, shown, {
    valuesOf: ({ title, ...settings }) => ({ title, ...valuesOf(settings) }),
    patchOf: (values, changed) =>
      Object.fromEntries(changed.map((name) => [name.replace(CONFIG, ""), values[name]])),
  });
}

/**
 * Reads and writes settings over the live connection. A snapshot's version is its values: the
 * server writes only if these values are still current.
 */
function liveSource(
  live: Calls,
  shown: (settings: Settings) => Values,
  {
    valuesOf,
    patchOf,
  }: {
    valuesOf: (shown: Values) => Values;
    patchOf: (values: Values, changed: readonly string[]) => Values;
  },
): Source {
  const snapshot = (settings: Settings): Snapshot => {
    const present = shown(settings);
    return { values: valuesOf(present), version: JSON.stringify(present) };
  };
  return {
    read: async () => snapshot(await live.call("world.config.get")),
    async write(values, changed, version) {
      const expected = JSON.parse(version) as Values;
      const patch = { ...patchOf(values, changed), expected };
      try {
        return snapshot(await live.call("world.config.patch", patch));
      } catch (error) {
        throw codeOf(error) === "config.changed" ? new Conflict() : error;
      }
    },
  };
}

/**
 * Name of the value that holds the roles. No permission key is a single word, so the name cannot
 * clash with a key.
 */
export const ROLES = "roles";

/** A world's rules over HTTP, by key, along with `config.roles`. */
export const worldRules = (api: WorldApi): Source => ({
  read: async () => rulesOf(await api.getWorld()),
  async write(values, changed, version) {
    const { [ROLES]: roles, ...rules } = values;
    const changes: WorldChanges = {};
    if (changed.some((name) => name !== ROLES)) {
      changes.permission_config = definedFields(rules) as PermissionConfig;
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

/** Extracts the rules from a draft's values. */
export const rulesIn = (values: Values = {}): PermissionConfig => {
  const { [ROLES]: _, ...rules } = values;
  return definedFields(rules) as PermissionConfig;
};

/** A world's rules over the live connection. */
export const liveRules = (live: Calls): Source =>
  liveSource(live, ({ trait_grants }) => ({ trait_grants }), {
    valuesOf: ({ trait_grants }) => trait_grants as Values,
    patchOf: (values) => ({ trait_grants: definedFields(values) }),
  });

const rulesOf = ({
  permission_config,
  config,
  etag,
}: Versioned<Pick<World, "permission_config" | "config">>): Snapshot => ({
  values: { ...permission_config, [ROLES]: config["roles"] },
  version: etag,
});

/** An event's appearance, and whether guests may enter it. */
export interface Look {
  readonly theme: Theme;
  readonly isOpen: boolean;
  readonly isPublished: boolean;
}

/** Delay before a failed read is retried, once, in milliseconds. */
const RETRY_DELAY_MS = 3000;

const looks = new WeakMap<Session, Readable<Look>>();

/**
 * Returns an event's look: initially the look in the page's configuration, then the current look
 * after each change. Users without the right to read the settings keep the initial look.
 */
export function lookOf(session: Session, page: PageConfig): Readable<Look> {
  const known = looks.get(session);
  if (known) return known;
  // The page includes the title only if guests may see the event.
  const first = { theme: page.theme, isOpen: page.title !== null, isPublished: true };
  const look = readable<Look>(first, (set) => {
    let begun = 0;
    const read = async (isSecond = false) => {
      if (!may(session.live.state, "world:api")) return;
      const mine = ++begun;
      const world = await session.api.getWorld().catch(() => undefined);
      // A later read supersedes this one.
      if (mine !== begun) return;
      if (!world) {
        const again = () => mine === begun && void read(true);
        if (!isSecond) setTimeout(again, RETRY_DELAY_MS);
        return;
      }
      const theme = objectOf(world.config["theme"]) as Theme;
      const isPublished = accessOf(world.config).published;
      const isOpen = isPublished && holdsKey("world.view", [], world.permission_config);
      set({ theme, isOpen, isPublished });
    };
    const stop = session.live.on("world.changed", () => void read());
    // The page does not say why guests may not see the event.
    if (!first.isOpen) {
      void session.live.connected().then(
        () => (begun === 0 ? read() : undefined),
        () => {},
      );
    }
    return () => {
      stop();
      begun++;
    };
  });
  looks.set(session, look);
  return look;
}
