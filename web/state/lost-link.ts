import { Foyer } from "../../client/index.js";
import type { components } from "../../client/api.js";
import { currentLanguage } from "../i18n/index.js";
import type { PageConfig } from "../lib/page.js";

// Links by e-mail, for people who lost theirs.

export type LinkedPage = "event" | "console";

/** Whether the server can send people a new link. */
export const canMailLinks = ({ world, mail, embed }: PageConfig): boolean =>
  world !== null && mail && embed === null;

/** Asks for a link by e-mail. The server answers the same for every address. */
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

/** Returns the code in the address of a link by e-mail (`#login=…`). */
export const codeOf = (hash: string): string | undefined =>
  /^#login=([\w-]{1,200})$/.exec(hash)?.[1];

/**
 * Signs in with the code of a link by e-mail, which uses it up.
 * @returns the token.
 */
export async function redeemCode(baseUrl: string, world: string, code: string): Promise<string> {
  const api = new Foyer({ baseUrl, world });
  const answer = await api.request("POST", "/logins/", { code });
  return ((await answer.json()) as components["schemas"]["MailedLogin"]).token;
}
