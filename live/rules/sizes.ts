import type { UserRecord } from "../../db/contract/store.js";

/** How large the profile of a user is, in characters of JSON. */
export const sizeOfProfile = ({ stored }: UserRecord): number => stored.profile?.length ?? 0;
