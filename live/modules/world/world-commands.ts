import { isDeepStrictEqual } from "node:util";
import {
  StoreError,
  type WorldSettingsUpdate as WorldSettingsChanges,
  type WorldStore,
} from "../../../db/contract/store.js";
import type { Faults } from "../../../schemas/errors.js";
import {
  type Commands,
  networks,
  type WorldPatch,
  type WorldSettings,
} from "../../../schemas/live/index.js";
import { CALL_ENGINES } from "../../../schemas/plain/calls.js";
import {
  blockedWordFaults,
  blockedWordsIn,
} from "../../../schemas/plain/moderation/blocked-words.js";
import { permissionKeys } from "../../../schemas/plain/permissions.js";
import { isTimezone } from "../../../schemas/plain/times.js";
import type { World } from "../../../schemas/worlds.js";
import {
  bind,
  type CallEngines,
  type CommandTable,
  type CommandContext,
  type LiveModule,
} from "../../module.js";
import { encoded } from "../../rules/encoding.js";
import { invalidPayload, LiveError } from "../../rules/problems.js";
import { allStrings, stringOf } from "../../rules/rights.js";
import { connectionLimit, iframeBlockers, listIn, objectIn, ruleIn } from "../../rules/shapes.js";
import { oncePer } from "../../rules/shared-reads.js";
import { Notifier, type NotifierPorts } from "./notifier.js";
import { type RecordPorts, records } from "./records.js";

/** Ports of the world commands. */
export interface WorldPorts {
  readonly store: { readonly worlds: WorldStore };
  readonly callEngines: CallEngines;
}

/** Commands for a world's settings. */
export const world: CommandTable<Extract<keyof Commands, `world.config.${string}`>, WorldPorts> = {
  "world.config.get": { requires: "world.update", handler: getConfig },
  "world.config.patch": {
    large: true,
    requires: "world.update",
    invalid: "config.invalid",
    handler: patchConfig,
  },
};

/** The roles shown on settings pages: one role for each key that has a string, with only that string. */
const roles = Object.fromEntries(
  permissionKeys.flatMap((key) => {
    const string = stringOf(key);
    return string === undefined ? [] : [[key, [string]]];
  }),
);

/** Settings with their defaults, which apply unless the config has a value of the same type. */
const scalars = {
  locale: "en",
  dateLocale: "en-ie",
  timezone: "UTC",
  track_exhibitor_views: true,
  track_room_views: true,
  track_world_views: false,
  conftool_url: "",
  conftool_password: "",
};

/** Returns a world's settings in the form that clients receive. */
function settingsOf(
  { title, config, permission_config }: World,
  callEngines: CallEngines,
): WorldSettings {
  const object = (key: string) => objectIn(config, key) ?? {};
  const scalar = <K extends keyof typeof scalars>(key: K): (typeof scalars)[K] => {
    const fallback = scalars[key];
    const value = config[key];
    return typeof value === typeof fallback ? (value as (typeof scalars)[K]) : fallback;
  };
  const texts = (key: string) => listIn(config, key).filter((text) => typeof text === "string");
  return {
    theme: object("theme"),
    roles,
    trait_grants: permission_config,
    bbb_defaults: object("bbb_defaults"),
    pretalx: object("pretalx"),
    title,
    locale: scalar("locale"),
    dateLocale: scalar("dateLocale"),
    videoPlayer: objectIn(config, "videoPlayer") ?? null,
    timezone: scalar("timezone"),
    connection_limit: connectionLimit(config) ?? 0,
    available_permissions: [...allStrings],
    profile_fields: listIn(config, "profile_fields").filter(
      (field): field is Record<string, unknown> =>
        typeof field === "object" && field !== null && !Array.isArray(field),
    ),
    social_logins: texts("social_logins"),
    iframe_blockers: iframeBlockers(config),
    track_exhibitor_views: scalar("track_exhibitor_views"),
    track_room_views: scalar("track_room_views"),
    track_world_views: scalar("track_world_views"),
    onsite_traits: ruleIn(config, "onsite_traits"),
    conftool_url: scalar("conftool_url"),
    conftool_password: scalar("conftool_password"),
    blocked_words: blockedWordsIn(config),
    call_engines: CALL_ENGINES.filter((name) => callEngines[name]),
  };
}

/** The settings, encoded once for all readers. */
const sentSettings = oncePer((world: World) =>
  oncePer((engines: CallEngines) => encoded<WorldSettings>(settingsOf(world, engines))),
);

/** Re-reads the world, because the context's copy may be older than the last write. */
async function getConfig({ ports, connection, world }: CommandContext<WorldPorts>) {
  const now = await ports.store.worlds.get(connection.world);
  return sentSettings((now ?? world).value)(ports.callEngines);
}

/** Settings that are stored as received. */
const kept = [
  "theme",
  "bbb_defaults",
  "locale",
  "dateLocale",
  "videoPlayer",
  "timezone",
  "profile_fields",
  "social_logins",
  "track_exhibitor_views",
  "track_room_views",
  "track_world_views",
  "onsite_traits",
  "conftool_url",
  "conftool_password",
  "blocked_words",
] as const satisfies (keyof WorldPatch)[];

/** Maximum number of attempts to apply a patch while the world keeps changing. */
const MAX_TRIES = 5;

async function patchConfig(context: CommandContext<WorldPorts>, patch: WorldPatch) {
  const { ports, connection, may } = context;
  const { worlds } = ports.store;
  // Changes that depend on current values must be applied to exactly this version.
  const isDependent =
    patch.expected !== undefined ||
    patch.pretalx !== undefined ||
    (patch.trait_grants !== undefined && !may("world.secrets"));
  let { world } = context;
  if (patch.expected) world = (await worlds.get(connection.world)) ?? world;
  for (let tries = 1; ; tries++) {
    if (!isExpected(patch, settingsOf(world.value, ports.callEngines))) {
      throw new LiveError("config.changed");
    }
    const faults = {
      ...faultsIn(patch),
      ...(!may("world.secrets") && guardedIn(patch, world.value)),
    };
    if (Object.keys(faults).length > 0) {
      throw invalidPayload(faults, "config.invalid");
    }
    try {
      const changed = await worlds.configure(
        connection.world,
        changesOf(patch, world.value),
        isDependent ? [world.version] : undefined,
        connection.author,
      );
      return sentSettings(changed.value)(ports.callEngines);
    } catch (error) {
      const isChanged = error instanceof StoreError && error.problem === "changed";
      const now = await worlds.get(connection.world);
      if (!isChanged || !now || tries === MAX_TRIES) throw error;
      world = now;
    }
  }
}

/** Whether the current settings match the settings that a patch expects. */
function isExpected({ expected = {} }: WorldPatch, settings: WorldSettings): boolean {
  const present: Record<string, unknown> = { ...settings };
  return Object.entries(expected).every(([key, value]) => isDeepStrictEqual(value, present[key]));
}

/** Converts a patch to the form that the store accepts. */
function changesOf(patch: WorldPatch, present: World): WorldSettingsChanges {
  const { title, trait_grants, pretalx, iframe_blockers, connection_limit } = patch;
  const config: Record<string, unknown> = Object.fromEntries(
    kept.flatMap((key) => (patch[key] === undefined ? [] : [[key, patch[key]]])),
  );
  if (connection_limit !== undefined) {
    config.connection_limit = Number(connection_limit ?? 0);
  }
  if (iframe_blockers) config.iframe_blockers = withoutEmpty(iframe_blockers);
  if (pretalx) config.pretalx = disconnected(pretalx, present);
  return {
    ...(title !== undefined && { title }),
    ...(trait_grants && { permission_config: trait_grants }),
    config,
  };
}

/** Returns the faults that a patch's schema cannot express. */
function faultsIn({
  timezone,
  social_logins = [],
  roles: sent,
  iframe_blockers = {},
  blocked_words,
}: WorldPatch): Faults {
  const allowed: readonly string[] = networks;
  return {
    ...(timezone !== undefined &&
      !isTimezone(timezone) && { timezone: ["Must be an IANA time zone."] }),
    ...(!social_logins.every((name) => allowed.includes(name)) && {
      social_logins: ["Invalid value for social_logins"],
    }),
    // Roles are derived from the keys. Settings pages send the roles back unchanged.
    ...(sent !== undefined && !sameRoles(sent) && { roles: ["Roles cannot be changed."] }),
    ...Object.fromEntries(
      Object.entries(iframe_blockers).flatMap(([domain, blocker]) =>
        isBlocker(blocker) ? [] : [[`iframe_blockers.${domain}`, [BLOCKER]]],
      ),
    ),
    ...(blocked_words && blockedWordFaults(blocked_words)),
  };
}

/**
 * Rules that decide who may read a world's keys, which can sign any token, and who may read what
 * happens in hidden rooms.
 */
const GUARDED = ["world.secrets", "world.api", "world.feed"];

/** Returns faults for changes to rules that only users with `world.secrets` may change, as over REST. */
function guardedIn({ trait_grants }: WorldPatch, { permission_config: present }: World): Faults {
  if (!trait_grants) return {};
  const changed = GUARDED.filter(
    (key) => JSON.stringify(trait_grants[key]) !== JSON.stringify(present[key]),
  );
  return Object.fromEntries(
    changed.map((key) => [
      `trait_grants.${key}`,
      ["Only callers with world.secrets may change this rule."],
    ]),
  );
}

const sameRoles = (sent: Record<string, unknown>): boolean =>
  Object.keys(sent).length === Object.keys(roles).length &&
  Object.entries(roles).every(
    ([name, strings]) => JSON.stringify(sent[name]) === JSON.stringify(strings),
  );

const BLOCKER = "Must be an object with enabled (true or false) and policy_url (a string or null).";

/** Whether a value is a domain rule that clients understand. */
function isBlocker(blocker: unknown): blocker is Record<string, unknown> {
  if (typeof blocker !== "object" || blocker === null) return false;
  const { enabled = false, policy_url = null } = blocker as Record<string, unknown>;
  return (
    !Array.isArray(blocker) &&
    typeof enabled === "boolean" &&
    (policy_url === null || typeof policy_url === "string")
  );
}

/** Forms send an empty string if there is no URL. */
const withoutEmpty = (blockers: Record<string, unknown>) =>
  Object.fromEntries(
    Object.entries(blockers).map(([domain, blocker]) => {
      const { policy_url } = blocker as { policy_url?: unknown };
      return [domain, { ...(blocker as object), ...(policy_url === "" && { policy_url: null }) }];
    }),
  );

/** Marks a schedule as disconnected if its location has changed. */
function disconnected(
  pretalx: Record<string, unknown>,
  { config }: World,
): Record<string, unknown> {
  const before = objectIn(config, "pretalx") ?? {};
  const moved = ["domain", "url", "event"].some((key) => pretalx[key] !== before[key]);
  return moved ? { ...pretalx, connected: false } : pretalx;
}

/** Creates the module for a world: its settings and reports, its rooms as people see them, and people's rights. */
export function worldModule(ports: WorldPorts & NotifierPorts & RecordPorts) {
  const notifier = new Notifier(ports);
  return {
    notifier,
    bound: bind({ ...world, ...records }, ports),
    onEntry: notifier.handlers,
    enter: (id: string) => notifier.watch(id),
    forget: (id: string) => notifier.unwatch(id),
    stop: () => notifier.stop(),
  } satisfies LiveModule & { notifier: Notifier };
}
