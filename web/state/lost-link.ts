import { Foyer } from "../../client/index.js";
import type { components } from "../../client/api.js";
import { currentLanguage } from "../i18n/index.js";
import type { PageConfig } from "../lib/page.js";

// Links by e-mail, for people who lost theirs.

export type LinkedPage = "event" | "console";

/** Whether the server can send new links. */
export const canMailLinks = ({ world, mail, embed }: PageConfig): boolean =>
  world !== null && mail && embed === null;

/** Requests a link by e-mail. The server's response is the same for every address. */
export async function requestLink(
  baseUrl: string,
  world: string,
  email: string,
  page: LinkedPage,
): Promise<void> {
  const api = new Foyer({ baseUrl, world });
  const language = currentLanguage();
  await api.request("POST", "/login-mails/", { email, page, language });
}

/** Returns the code in the URL of an e-mailed link (`#login=…`). */
export const codeOf = (hash: string): string | undefined =>
  /^#login=([\w-]{1,200})$/.exec(hash)?.[1];

/**
 * Signs in with the code in an e-mailed link. The code works only once.
 * @returns the token.
 */
export async function redeemCode(baseUrl: string, world: string, code: string): Promise<string> {
  const api = new Foyer({ baseUrl, world });
  const answer = await api.request("POST", "/logins/", { code });
  return ((await answer.json()) as components["schemas"]["MailedLogin"]).token;
}
