export interface Author {
  /**
   * `user` for a user of the world, over a websocket or by an upload; `api` for a call of
   * the REST API; `command` for a command beside the server; `server` for the server itself;
   * `users` for several at once: the voters, whom the log does not name, and the readers of read marks.
   */
  readonly kind: "user" | "users" | "api" | "command" | "server";
  /** The id of the user, which stays when the user is erased. */
  readonly user?: string | undefined;
  /** Of a call by a token without a user: the first characters of the SHA-256 of the token, in hexadecimal. */
  readonly token?: string | undefined;
  /** The id of the connection that gets its own pushes before its next answer. The log does not keep it. */
  readonly connection?: string | undefined;
  /** The `uid` of a token without a user. The log keeps it apart from the entry, so that it can be erased. */
  readonly uid?: string | undefined;
  /** The id of the request, for the audit. The log does not keep it. */
  readonly request?: string | undefined;
}

/** An author without the fields that entries lack. */
export function authorIn({ kind, user, token, connection }: Author): Author {
  // Copied by name: in Node.js 20, the rest of an object takes microseconds.
  const by: { -readonly [K in keyof Author]: Author[K] } = { kind };
  if (user !== undefined) by.user = user;
  if (token !== undefined) by.token = token;
  if (connection !== undefined) by.connection = connection;
  return by;
}

/** A user, over the connection or the call of another author if that has one. */
export const userBy = (user: string, by: Author | undefined): Author => {
  const kind = by?.kind === "api" ? "api" : "user";
  const connection = by?.connection;
  return connection === undefined ? { kind, user } : { kind, user, connection };
};

/** The author of an entry that stands for what several users did. */
export const USERS: Author = { kind: "users" };

/** The author of writes that the server makes on its own. */
export const SERVER: Author = { kind: "server" };
