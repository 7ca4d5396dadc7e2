import { type Readable, writable } from "svelte/store";
import { type Foyer, FoyerError } from "../../client/index.js";
import type {
  Invitation,
  InvitationChanges,
  InvitationDraft,
  InvitationWithLink,
} from "../../schemas/invitations.js";
import { messageOf } from "./session.js";

export type { Invitation, InvitationDraft, InvitationWithLink };

/** Number of invitations per request, and the maximum number that the page holds. */
const PER_REQUEST = 1000;
const MAX_LOADED = 20_000;

/** The people who have been invited to an event. */
export interface InviteeList {
  /** Undefined during the first load, and for users who may not see them. */
  readonly all: readonly Invitation[] | undefined;
  readonly problem: string | undefined;
}

/** Reads and changes the invitations of an event. */
export class Invitees implements Readable<InviteeList> {
  readonly #api: Pick<Foyer, "request">;
  readonly #store = writable<InviteeList>({ all: undefined, problem: undefined });
  readonly subscribe = this.#store.subscribe;

  constructor(api: Pick<Foyer, "request">) {
    this.#api = api;
  }

  async load(): Promise<void> {
    try {
      const all: Invitation[] = [];
      let isLast = false;
      for (let page = 1; !isLast && all.length < MAX_LOADED; page++) {
        const query = `page=${page}&page_size=${PER_REQUEST}`;
        const answer = await this.#api.request("GET", `/invitations/?${query}`);
        const found = (await answer.json()) as { next: string | null; results: Invitation[] };
        all.push(...found.results);
        isLast = found.next === null;
      }
      this.#store.set({ all, problem: undefined });
    } catch (error) {
      const isRefused = error instanceof FoyerError && error.status === 403;
      this.#store.update((it) => ({ ...it, problem: isRefused ? undefined : messageOf(error) }));
    }
  }

  /** Returns a new link. The current one is revoked at once. */
  async newLink(id: string): Promise<string> {
    const answer = await this.#api.request("POST", `/invitations/${id}/link/`);
    return ((await answer.json()) as { link: string }).link;
  }

  /** Sends the person's link by e-mail. @throws {FoyerError} 409 if the server sends no mail. */
  async send(id: string): Promise<void> {
    await this.#api.request("POST", `/invitations/${id}/send/`, {});
    await this.load();
  }

  async change(id: string, changes: InvitationChanges): Promise<void> {
    await this.#api.request("PATCH", `/invitations/${id}/`, changes);
    await this.load();
  }

  async remove(id: string): Promise<void> {
    await this.#api.request("DELETE", `/invitations/${id}/`);
    await this.load();
  }

  /**
   * Invites all of these people, or none.
   * @returns their links, in the same order.
   */
  async create(drafts: readonly InvitationDraft[]): Promise<InvitationWithLink[]> {
    const answer = await this.#api.request("POST", "/invitations/", [...drafts]);
    return (await answer.json()) as InvitationWithLink[];
  }
}

// Lists of people from a spreadsheet.

/** Maximum number of people on a list. */
export const MAX_INVITED = 1000;

/** The columns that a list may have, with the headings by which they are recognized. */
const COLUMNS = {
  name: ["name", "names", "full name", "display name", "anzeigename", "voller name"],
  first: ["first name", "firstname", "given name", "vorname"],
  last: ["last name", "lastname", "surname", "family name", "nachname", "familienname"],
  email: ["email", "e-mail", "mail", "email address", "e-mail address", "e-mail-adresse"],
  role: ["role", "roles", "rolle", "ticket", "ticket type", "ticket name"],
  language: ["language", "locale", "lang", "sprache"],
} as const;

type ColumnName = keyof typeof COLUMNS;

/** A person on a list. The role is as written in the list. */
export interface ListedPerson {
  readonly name: string;
  readonly email: string;
  /** Empty for none. */
  readonly role: string;
  readonly language: string;
  /** The number of the row, from 1. */
  readonly row: number;
}

export interface PeopleList {
  readonly people: readonly ListedPerson[];
  /** The headings of the columns that are not used. */
  readonly unused: readonly string[];
  /** The roles in the list, as written, in order of appearance. */
  readonly roles: readonly string[];
}

const headOf = (cell: string): ColumnName | undefined => {
  const head = cell.trim().toLowerCase().replaceAll("_", " ");
  return (Object.keys(COLUMNS) as ColumnName[]).find((name) =>
    (COLUMNS[name] as readonly string[]).includes(head),
  );
};

/**
 * Reads the people in the rows of a table. A first row with a heading for a name or an e-mail
 * address determines the columns. Otherwise, a row is a name and an optional e-mail address.
 */
export function peopleIn(rows: readonly (readonly string[])[]): PeopleList {
  const heads = (rows[0] ?? []).map(headOf);
  const isHeaded = heads.some(
    (head) => head !== undefined && head !== "role" && head !== "language",
  );
  const columns: readonly (ColumnName | undefined)[] = isHeaded ? heads : ["name", "email"];
  const people = rows.flatMap((row, at): ListedPerson[] => {
    if (isHeaded && at === 0) return [];
    const cell = (name: ColumnName) => (row[columns.indexOf(name)] ?? "").trim();
    const email = cell("email");
    const name = cell("name") || [cell("first"), cell("last")].filter(Boolean).join(" ");
    if (!name && !email) return [];
    return [{ name, email, role: cell("role"), language: cell("language"), row: at + 1 }];
  });
  return {
    people,
    unused: isHeaded ? rows[0]!.filter((cell, at) => cell.trim() !== "" && !heads[at]) : [],
    roles: [...new Set(people.flatMap(({ role }) => role || []))],
  };
}

/** Splits text into rows of trimmed cells, separated by tabs, semicolons or commas (RFC 4180). */
export function rowsIn(text: string): string[][] {
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

/**
 * Reads a file with a list of people: a workbook, or text in UTF-8 or Windows-1252.
 * @throws {Error} whose message says why a workbook cannot be read.
 */
export async function rowsOfFile(file: Blob): Promise<string[][]> {
  const bytes = new Uint8Array(await file.arrayBuffer());
  const { isWorkbook, sheetRows } = await import("../../schemas/plain/sheets/sheets.js");
  if (isWorkbook(bytes)) {
    const rows = await sheetRows(bytes);
    return rows.filter((row) => row.some((it) => it.trim() !== ""));
  }
  try {
    return rowsIn(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    return rowsIn(new TextDecoder("windows-1252").decode(bytes));
  }
}

/** Returns the rows as text that {@link rowsIn} reads. */
export const textOfRows = (rows: readonly (readonly string[])[]): string =>
  rows
    .map((row) =>
      row.map((cell) => (/["\t\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)),
    )
    .map((row) => row.join("\t"))
    .join("\n");

/**
 * Returns the trait of the role to which a text on a list refers, by the role's trait or by its
 * title in any language; undefined if there is no such role.
 * @param titled the roles with all their titles.
 */
export function roleMeant(
  text: string,
  titled: readonly { trait: string; titles: readonly string[] }[],
): string | undefined {
  const wanted = text.trim().toLowerCase();
  return titled.find(
    ({ trait, titles }) =>
      trait.toLowerCase() === wanted || titles.some((it) => it.toLowerCase() === wanted),
  )?.trait;
}
