import { readable, type Readable } from "svelte/store";
import type { Commands, Foyer, Live, Versioned, World, WorldChanges } from "../../client/index.js";
import { given } from "../../schemas/plain/given.js";
import type { PageConfig, Theme } from "../lib/page.js";
import { may } from "../lib/rights.js";
import { Conflict, type Snapshot, type Source, type Values } from "./draft.js";
import { holdsKey, type PermissionConfig } from "./rules.js";
import { codeOf, type Session } from "./session.js";
import { objectOf } from "./world-form.js";

// The settings of a world, and its rules, as values of a draft. The keys that sign
// tokens are never among them.

/** The part of the HTTP API that is used. */
type WorldApi = Pick<Foyer, "getWorld" | "updateWorld">;
type Calls = Pick<Live, "call">;
type Settings = Commands["world.config.get"]["result"];

const CONFIG = "config.";

/** The settings of `world.config.get` that the console shows; the others stay as they are. */
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

function settingsOf({ title, domain, config, etag }: Versioned<World>): Snapshot {
  const { JWT_secrets: _, ...settings } = config;
  return { values: { title, domain, ...valuesOf(settings) }, version: etag };
}

/** A config as values of a draft. */
export const valuesOf = (config: Values): Values =>
  Object.fromEntries(Object.entries(config).map(([key, value]) => [CONFIG + key, value]));

/** The config in the values of a draft. */
export const configOf = (values: Values): Values =>
  Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) =>
      name.startsWith(CONFIG) && value !== undefined ? [[name.slice(CONFIG.length), value]] : [],
    ),
  );

/** The settings of a world over the live connection, for users who may not see its keys. */
export function liveSettings(live: Calls): Source {
  const shown = ({ title, ...settings }: Settings): Values => ({
    title,
    ...Object.fromEntries(LIVE.map((key) => [key, settings[key]])),
  });
  return liveSource(live, shown, {
    valuesOf: ({ title, ...settings }) => ({ title, ...valuesOf(settings) }),
    patchOf: (values, changed) =>
      Object.fromEntries(changed.map((name) => [name.replace(CONFIG, ""), values[name]])),
  });
}

/**
 * Reads and writes some settings over the live connection. The version of a snapshot is their
 * values: the server writes only if these are still the present ones.
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
export const liveRules = (live: Calls): Source =>
  liveSource(live, ({ trait_grants }) => ({ trait_grants }), {
    valuesOf: ({ trait_grants }) => trait_grants as Values,
    patchOf: (values) => ({ trait_grants: given(values) }),
  });

const rulesOf = ({
  permission_config,
  config,
  etag,
}: Versioned<Pick<World, "permission_config" | "config">>): Snapshot => ({
  values: { ...permission_config, [ROLES]: config["roles"] },
  version: etag,
});

/** What an event looks like, and whether guests may enter it. */
export interface Look {
  readonly theme: Theme;
  readonly isOpen: boolean;
}

/** How long a read that failed waits for its second try, in milliseconds. */
const RETRY_DELAY_MS = 3000;

const looks = new WeakMap<Session, Readable<Look>>();

/**
 * The look of an event: as the page came with it, then as changes make it. Users without the right
 * to read the settings keep the look that came with the page.
 */
export function lookOf(session: Session, page: PageConfig): Readable<Look> {
  const known = looks.get(session);
  if (known) return known;
  // The page names the title only if guests may see the event.
  const first = { theme: page.theme, isOpen: page.title !== null };
  const look = readable<Look>(first, (set) => {
    let begun = 0;
    const read = async (isSecond = false) => {
      if (!may(session.live.state, "world:api")) return;
      const mine = ++begun;
      const world = await session.api.getWorld().catch(() => undefined);
      // The answer to a later read is newer.
      if (mine !== begun) return;
      if (!world) {
        const again = () => mine === begun && void read(true);
        if (!isSecond) setTimeout(again, RETRY_DELAY_MS);
        return;
      }
      const theme = objectOf(world.config["theme"]) as Theme;
      const isOpen = holdsKey("world.view", [], world.permission_config);
      set({ theme, isOpen });
    };
    const stop = session.live.on("world.changed", () => void read());
    return () => {
      stop();
      begun++;
    };
  });
  looks.set(session, look);
  return look;
}
