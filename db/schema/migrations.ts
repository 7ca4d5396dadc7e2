/**
 * The version of {@link baseline}. Databases of builds before release 0.1.0 have lower ones, and
 * are refused.
 */
export const BASELINE = 100;

/**
 * The changes of the tables since release 0.1.0, in order, by the rules of ./dialects.ts. The nth
 * upgrades a database from version {@link BASELINE} + n - 1. A new one goes to the end.
 */
export const migrations: string[] = [];

/** The version of the tables that this Foyer uses. */
export const latestVersion = (): number => BASELINE + migrations.length;

/** The line about a database of a build before release 0.1.0, for its operator. */
export const tooOld = (version: number): string =>
  `it has version ${version}, of a build before release 0.1.0; export each world with that build (foyer world export), and import it with this one (foyer world import)`;
