import type { UserRecord } from "../db/store.js";

/** How large the profile of a user is, in characters of JSON. */
export const sizeOfProfile = ({ profile }: UserRecord): number =>
  profile ? JSON.stringify(profile).length : 0;
