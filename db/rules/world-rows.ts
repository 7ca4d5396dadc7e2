import type { WorldCopy } from "../../schemas/documents/world-document.js";
import type { TokenIssuer } from "../../schemas/issuers.js";
import type { WorldChanges, WorldConfig, WorldKey } from "../../schemas/worlds.js";
import { changesBetween, type FieldChange } from "../contract/audit-store.js";
import { StoreError, type WorldSettings } from "../contract/store.js";
import type { WorldRow } from "./rows.js";

// Shared by the engines: writes of worlds.

/** The row of a new world. Its revision is 1 if none is given. */
export const newWorldRow = ({ revision = 1, ...world }: WorldCopy["world"]): WorldRow => ({
  ...world,
  config: JSON.stringify(world.config),
  permission_config: JSON.stringify(world.permission_config),
  revision,
});

/** The row of a world after a change, with the revision of the old row. @see WorldStore.update */
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

/** The settings that say who signs users in. Only {@link changedWorld} changes them. */
const SECRET = new Set(["JWT_secrets", "JWT_issuers", "oidc"]);

/** The row of a world with other settings, with the revision of the old row. @see WorldStore.configure */
export function configuredWorld(
  old: WorldRow,
  { title, permission_config, config: settings = {} }: WorldSettings,
): WorldRow {
  const config = JSON.parse(old.config) as WorldConfig;
  // An undefined value is no value, and must not remove the key.
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

/** The fields in which a world differs after a change, for the log. */
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

/** A domain without its port. */
export const hostOf = (domain: string): string => domain.split(":", 1)[0] ?? "";

/**
 * Refuses a domain that conflicts with another world's. Uploads find their world by the host of the
 * request, first with its port and then without it. So two worlds may share a host name only if
 * both name a port; otherwise one would get the uploads of the other on that port.
 * @param rivals the domains of the other worlds with the same host.
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

/** Whether other host names or other issuers of tokens name a world after a change. */
export const isFoundOtherwise = (old: WorldRow, row: WorldRow): boolean =>
  old.domain !== row.domain || (old.config !== row.config && issuersIn(old) !== issuersIn(row));

const issuersIn = ({ config }: WorldRow): string =>
  JSON.stringify(
    signersOf(JSON.parse(config) as WorldConfig).map(({ issuer, audience }) => [issuer, audience]),
  );

/** The keys of a world and the other issuers of its tokens, each with an issuer and an audience. */
export const signersOf = ({
  JWT_secrets,
  JWT_issuers,
}: WorldConfig): Pick<WorldKey, "issuer" | "audience">[] => [
  ...JWT_secrets,
  ...issuersOf({ JWT_issuers }),
];

/**
 * The other issuers of a world. A world that was stored before they had a meaning may
 * have anything in their place.
 */
export const issuersOf = ({ JWT_issuers }: Record<string, unknown>): readonly TokenIssuer[] =>
  Array.isArray(JWT_issuers)
    ? ((JWT_issuers as (TokenIssuer | null)[]).filter(
        (it) => typeof it?.issuer === "string" && typeof it.audience === "string",
      ) as TokenIssuer[])
    : [];
