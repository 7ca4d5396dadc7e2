import type { Author } from "./author.js";

export interface Invite {
  readonly token: string;
  readonly room: string;
  /** In milliseconds since 1970. */
  readonly ends: number;
}

/** The links of rooms for people without a name, one of each room. */
export interface InviteStore {
  /** The invite with a token, whether or not it is over. */
  find(worldId: string, token: string): Promise<Invite | undefined>;
  /** The invite of a room, whether or not it is over. */
  of(worldId: string, roomId: string): Promise<Invite | undefined>;
  /**
   * The invite of a room. One that is over is replaced, and one that ends soon is prolonged.
   * @param times `now`, before which time an invite ends soon, and when a new one ends: in
   *   milliseconds since 1970.
   * @throws {StoreError} `absent` when the room does not exist.
   */
  link(
    worldId: string,
    roomId: string,
    times: { now: number; soon: number; ends: number },
    by?: Author,
  ): Promise<Invite>;
  /**
   * Ends the invite of a room, if there is one.
   * @throws {StoreError} `absent` when the room does not exist.
   */
  end(worldId: string, roomId: string, by?: Author): Promise<void>;
}
