import type { User } from "../../schemas/users.js";
import type { FileRecord } from "../store.js";
import type { Connection } from "./database.js";

interface UserRow extends Omit<User, "profile" | "traits"> {
  profile: string | null;
  traits: string;
}

/** The reads of users. */
export function userReads(db: Connection) {
  const select = db.prepare<[string], UserRow>(
    `SELECT id, token_id, client_id, profile, traits, last_seen FROM users
     WHERE world_id = ? AND (token_id IS NOT NULL OR client_id IS NOT NULL)
     ORDER BY last_seen DESC, id`,
  );
  return {
    list: (worldId: string): User[] =>
      select.all(worldId).map(({ profile, traits, ...rest }) => ({
        ...rest,
        profile:
          profile === null ? null : (JSON.parse(profile) as User["profile"]),
        traits: JSON.parse(traits) as string[],
      })),
  };
}

/** The reads of what is recorded of files. */
export function fileReads(db: Connection) {
  const exists = db.prepare("SELECT 1 FROM files WHERE key = ?");
  const select = db.prepare<[string], FileRecord>(
    "SELECT key, size, sha256 FROM files WHERE world_id = ? ORDER BY created, key",
  );
  const size = db
    .prepare<[string], number>("SELECT file_bytes FROM worlds WHERE id = ?")
    .pluck();
  return {
    has: (key: string): boolean => exists.get(key) !== undefined,
    list: (worldId: string): FileRecord[] => select.all(worldId),
    size: (worldId: string): number => size.get(worldId) ?? 0,
  };
}
