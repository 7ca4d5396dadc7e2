import type { MessageContent, WaitingMessage } from "../../client/index.js";
import type { Shelf } from "../lib/storage.js";
import { saidIn, type SharedFile } from "./chat-content.js";
import type { Mentioned } from "./chat-mentions.js";

/** A text that the user is writing. */
export interface Draft {
  readonly text: string;
  readonly mentions: readonly Mentioned[];
  /** Files that are uploaded already. */
  readonly files: readonly SharedFile[];
}

/** A message that the server has not confirmed. */
export type Unconfirmed = Pick<WaitingMessage, "content" | "after">;

/** This browser's storage for a channel. */
export interface Kept {
  readonly draft: Draft;
  readonly unconfirmed: readonly Unconfirmed[];
}

export const emptyDraft: Draft = { text: "", mentions: [], files: [] };

/** Keeps the user's texts for a channel until the server has them. */
export class Drafts {
  readonly #shelf: Shelf;
  readonly #key: string;

  /** @param key another for each user and channel. */
  constructor(shelf: Shelf, key: string) {
    this.#shelf = shelf;
    this.#key = key;
  }

  /** The kept texts. The storage may contain anything. */
  read(): Kept {
    const { draft, unconfirmed } = partsOf(parsed(this.#shelf.getItem(this.#key)));
    return { draft: draftIn(draft), unconfirmed: listOf(unconfirmed).flatMap(unconfirmedIn) };
  }

  write({ draft, unconfirmed }: Kept): void {
    const { text, files } = draft;
    if (text === "" && files.length === 0 && unconfirmed.length === 0) {
      return this.#shelf.removeItem(this.#key);
    }
    this.#shelf.setItem(this.#key, JSON.stringify({ draft, unconfirmed }));
  }
}

function parsed(json: string | null): unknown {
  try {
    return JSON.parse(json ?? "null");
  } catch {
    return undefined;
  }
}

const partsOf = (value: unknown): Record<string, unknown> =>
  typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};

const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? (value as unknown[]) : []);

const isText = (value: unknown): value is string => typeof value === "string";

function draftIn(value: unknown): Draft {
  const { text, mentions, files } = partsOf(value);
  return {
    text: isText(text) ? text : "",
    mentions: listOf(mentions).flatMap((it) => {
      const { label, id } = partsOf(it);
      return isText(label) && isText(id) ? [{ label, id }] : [];
    }),
    files: listOf(files).flatMap((it) => {
      const { url, name, type } = partsOf(it);
      return isText(url) && isText(name) && isText(type) ? [{ url, name, type }] : [];
    }),
  };
}

function unconfirmedIn(value: unknown): Unconfirmed[] {
  const { content, after } = partsOf(value);
  const { is } = saidIn(content);
  if (is !== "text" && is !== "files") return [];
  return [{ content: content as MessageContent, ...(typeof after === "number" && { after }) }];
}
