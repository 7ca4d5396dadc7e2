export interface Author {
  /**
   * `user` for a user in the world, over a websocket or through an upload; `api` for a REST API
   * call; `command` for a command that runs alongside the server; `server` for the server itself;
   * `users` for several users together: voters, whom the log does not name, and users whose read
   * marks move.
   */
  readonly kind: "user" | "users" | "api" | "command" | "server";
  /** The user's id, which is kept even after the user is erased. */
  readonly user?: string | undefined;
  /** For a token without a user: the first characters of the token's SHA-256, in hexadecimal. */
  readonly token?: string | undefined;
  /** The connection's id. The connection receives its own pushes before its next response. Not kept in the log. */
  readonly connection?: string | undefined;
  /**
   * The `uid` of a token without a user. The log stores the `uid` apart from the entry, so that the
   * `uid` can be erased.
   */
  readonly uid?: string | undefined;
  /** The request's id, for the audit. Not kept in the log. */
  readonly request?: string | undefined;
}

/** Returns an author with only the fields that the log's entries contain. */
export function authorIn({ kind, user, token, connection }: Author): Author {
  // Copy the fields by name, because object rest takes microseconds in Node.js 20.
  const by: { -readonly [K in keyof Author]: Author[K] } = { kind };
  if (user !== undefined) by.user = user;
  if (token !== undefined) by.token = token;
  if (connection !== undefined) by.connection = connection;
  return by;
}

/**
 * Returns a user as an author, with the connection of the given author, if any. The kind stays
 * `api` if the given author is an API call.
 */
export const userBy = (user: string, by: Author | undefined): Author => {
  const kind = by?.kind === "api" ? "api" : "user";
  const connection = by?.connection;
  return connection === undefined ? { kind, user } : { kind, user, connection };
};

/** The author of an entry that combines the actions of several users. */
export const USERS: Author = { kind: "users" };

/** The author of writes that the server makes by itself. */
export const SERVER: Author = { kind: "server" };
