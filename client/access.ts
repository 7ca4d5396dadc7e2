/** The address of the server, and the caller. */
export interface Access {
  /** The address of the server, such as `https://rooms.example.org`. */
  baseUrl: string;
  /** The id of the world. */
  world: string;
  /** A JWT of the world. A function is called before each request and each login. */
  token?: string | (() => string | Promise<string>);
  /** Names a guest without a token. The client chooses the name and keeps it. */
  clientId?: string;
  /** Beside `clientId`: the token of a link for people without a name, such as `#invite=…`. Only for `Live`. */
  inviteToken?: string;
}

/** The address of the server without a slash at its end. */
export const baseOf = ({ baseUrl }: Access): string => baseUrl.replace(/(?<!\/)\/+$/, "");

/** The token of this moment, if there is one. */
export const tokenOf = async ({ token }: Access): Promise<string | undefined> =>
  typeof token === "function" ? await token() : token;
