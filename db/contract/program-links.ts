import type { Author } from "./author.js";

/** The secrets in the addresses of calendars, one of each user. */
export interface ProgramLinkStore {
  /** The id of the user whose secret this is. */
  user(worldId: string, token: string): Promise<string | undefined>;
  /**
   * The secret of a user, which is made at the first call.
   * @param renew replace it, so that the former one ends.
   * @throws {StoreError} `absent` when the user does not exist or was erased.
   */
  link(worldId: string, userId: string, renew: boolean, by?: Author): Promise<string>;
}
