import type { WorldCopy } from "../../schemas/documents/world-document.js";
import type { TokenIssuer } from "../../schemas/issuers.js";
import type { WorldChanges, WorldConfig, WorldKey } from "../../schemas/worlds.js";
import { changesBetween, type FieldChange } from "../contract/audit-store.js";
import { StoreError, type WorldSettingsUpdate } from "../contract/store.js";
import type { WorldRow } from "./rows.js";

// Writes to worlds, shared by the engines.

/** Builds the row for a new world. The revision defaults to 1. */
export const newWorldRow = ({ revision = 1, ...world }: WorldCopy["world"]): WorldRow => ({
  ...world,
  config: JSON.stringify(world.config),
  permission_config: JSON.stringify(world.permission_config),
  revision,
});

/** Returns a changed world's row, which still has the old revision. @see WorldStore.update */
export function changedWorld(
  old: WorldRow,
  { config, permission_config, ...rest }: WorldChanges,
): WorldRow {
  const row: WorldRow = { ...old, ...rest };
  if (permission_config) {
    row.permission_config = JSON.stringify(permission_config);
  }
  if (config) {
    const { JWT_secrets, JWT_issuers, oidc } = JSON.parse(old.config) as WorldConfig;
    const kept = { JWT_secrets, JWT_issuers, oidc };
    row.config = JSON.stringify({ ...kept, ...config });
  }
  return row;
}

/** The settings that determine who can sign users in. Only {@link changedWorld} changes them. */
const SECRET = new Set(["JWT_secrets", "JWT_issuers", "oidc"]);

/** Returns the row of a world with changed settings. The row still has the old revision. @see WorldStore.configure */
export function configuredWorld(
  old: WorldRow,
  { title, permission_config, config: settings = {} }: WorldSettingsUpdate,
): WorldRow {
  const config = JSON.parse(old.config) as WorldConfig;
  // An undefined value has not been given, so it must not remove the setting.
  const named = Object.entries(settings).filter(
    ([name, value]) => !SECRET.has(name) && value !== undefined,
  );
  return {
    ...old,
    title: title ?? old.title,
    config: JSON.stringify({ ...config, ...Object.fromEntries(named) }),
    permission_config: permission_config
      ? JSON.stringify(permission_config)
      : old.permission_config,
  };
}

/** Returns the world fields that a change affects, for the log. */
export const worldFieldChanges = (old: WorldRow, row: WorldRow): FieldChange[] => {
  const stored = (["config", "permission_config"] as const).flatMap((field) =>
    old[field] === row[field]
      ? []
      : changesBetween(
          { [field]: JSON.parse(old[field]) as unknown },
          { [field]: JSON.parse(row[field]) as unknown },
          [field],
        ),
  );
  return [...changesBetween(old, row, ["title", "domain"]), ...stored];
};

/** Returns a domain without its port. */
export const hostOf = (domain: string): string => domain.split(":", 1)[0] ?? "";

/**
 * Throws if a domain conflicts with another world's domain. Uploads find their world by the host in
 * the request, first including the port and then without it. Two worlds may therefore share a host
 * name only if both specify a port. Otherwise, one world would receive the other world's uploads on
 * that port.
 * @param rivals the domains of all other worlds with the same host name.
 * @throws {StoreError} `taken` on `domain`.
 */
export function expectFreeDomain(domain: string, rivals: readonly string[]): void {
  const host = hostOf(domain);
  const isTaken = rivals.some((other) => other === domain || other === host || domain === host);
  if (isTaken) {
    throw new StoreError("taken", `The domain ${domain} is taken.`, "domain");
  }
}

export const takenWorld = (id: string): StoreError =>
  new StoreError("taken", `The id ${id} is taken.`, "id");

/** Whether a change affects the host names or token issuers that identify a world. */
export const affectsLookup = (old: WorldRow, row: WorldRow): boolean =>
  old.domain !== row.domain || (old.config !== row.config && issuersIn(old) !== issuersIn(row));

const issuersIn = ({ config }: WorldRow): string =>
  JSON.stringify(
    signersOf(JSON.parse(config) as WorldConfig).map(({ issuer, audience }) => [issuer, audience]),
  );

/** Returns the world's keys, followed by all other token issuers, each with an issuer and an audience. */
export const signersOf = ({
  JWT_secrets,
  JWT_issuers,
}: WorldConfig): Pick<WorldKey, "issuer" | "audience">[] => [
  ...JWT_secrets,
  ...issuersOf({ JWT_issuers }),
];

/**
 * Returns a world's token issuers other than its keys. Ignores malformed issuers: worlds stored
 * before the setting had a meaning may contain anything.
 */
export const issuersOf = ({ JWT_issuers }: Record<string, unknown>): readonly TokenIssuer[] =>
  Array.isArray(JWT_issuers)
    ? ((JWT_issuers as (TokenIssuer | null)[]).filter(
        (it) => typeof it?.issuer === "string" && typeof it.audience === "string",
      ) as TokenIssuer[])
    : [];
