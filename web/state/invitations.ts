import { type Foyer, FoyerError } from "../../client/index.js";
import { freshUid } from "./keys.js";

// Links of their own for people, one by one or by a list. The server signs them.

/** A person of a list. */
export interface Invited {
  readonly name: string;
  readonly uid: string;
}

/** A person with a link. */
export interface Invitation extends Invited {
  readonly link: string;
}

/** What the links of a list have in common. */
export interface InvitationTerms {
  readonly traits: readonly string[];
  /** In seconds. */
  readonly expiresIn: number;
  readonly page: "event" | "console";
}

/** The longest list. */
export const MOST_INVITED = 1000;

const NAMES = new Set(["name", "names", "full name", "display name"]);
const IDS = new Set(["id", "uid", "user id", "personen-id", "email", "e-mail"]);

/**
 * The people in a list: one a line, a name and perhaps a user id. Columns are separated by
 * tabs, semicolons or commas, and may be quoted (RFC 4180). A first line that names its
 * columns decides where the name and the id are.
 */
export function peopleIn(text: string): Invited[] {
  const rows = tableIn(text);
  const heads = (rows[0] ?? []).map((cell) => cell.toLowerCase());
  const nameAt = heads.findIndex((head) => NAMES.has(head));
  const isHeaded = nameAt >= 0;
  const idAt = isHeaded ? heads.findIndex((head) => IDS.has(head)) : 1;
  return rows.slice(isHeaded ? 1 : 0).flatMap((row) => {
    const name = row[isHeaded ? nameAt : 0];
    return name ? [{ name, uid: row[idAt] || freshUid() }] : [];
  });
}

/** The cells of a text in rows, without spaces around them. */
function tableIn(text: string): string[][] {
  const unquoted = text.replaceAll(/"[^"]*"/g, "");
  const separator = ["\t", ";"].find((it) => unquoted.includes(it)) ?? ",";
  const rows: string[][] = [[]];
  const plain = `[^${separator}\r\n]+`;
  const cell = new RegExp(` *"((?:[^"]|"")*)" *|${plain}`, "y");
  for (let at = text.startsWith("\uFEFF") ? 1 : 0; at <= text.length; at++) {
    cell.lastIndex = at;
    const found = cell.exec(text);
    if (found) at = cell.lastIndex;
    const quoted = found?.[1]?.replaceAll('""', '"');
    rows.at(-1)!.push((quoted ?? found?.[0] ?? "").trim());
    const end = text[at];
    if (end === "\r" && text[at + 1] === "\n") at++;
    if (end === "\r" || end === "\n") rows.push([]);
  }
  return rows.filter((row) => row.some((it) => it !== ""));
}

/** How many links are made at once. */
const AT_ONCE = 6;

/**
 * Makes the links of a list, in its order. A server that asks to wait is waited for.
 * @param onmade called with each one.
 * @throws the first error; what `onmade` got stays.
 */
export async function invite(
  api: Pick<Foyer, "request">,
  people: readonly Invited[],
  terms: InvitationTerms,
  onmade: (made: readonly Invitation[]) => void,
): Promise<void> {
  for (let at = 0; at < people.length; at += AT_ONCE) {
    const batch = people.slice(at, at + AT_ONCE);
    onmade(await Promise.all(batch.map((it) => invited(api, it, terms))));
  }
}

async function invited(
  api: Pick<Foyer, "request">,
  { name, uid }: Invited,
  { traits, expiresIn, page }: InvitationTerms,
): Promise<Invitation> {
  for (;;) {
    try {
      const answer = await api.request("POST", "/tokens/", {
        uid,
        traits,
        page,
        expires_in: expiresIn,
        ...(name && { name }),
      });
      const { url } = (await answer.json()) as { url: string };
      return { name, uid, link: url };
    } catch (error) {
      if (!(error instanceof FoyerError) || error.status !== 429) throw error;
      const seconds = error.retryAfter ?? 5;
      await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
    }
  }
}

/**
 * For how long a link holds by default.
 * @param endsAt the end of the event in its config, as any JSON.
 * @param now in milliseconds since 1970.
 * @returns seconds until the end of the event; undefined if it has none, or is over.
 */
export function untilEnd(endsAt: unknown, now: number): number | undefined {
  const end = typeof endsAt === "string" ? Date.parse(endsAt) : Number.NaN;
  const seconds = Math.ceil((end - now) / 1000);
  return seconds >= 1 ? seconds : undefined;
}
