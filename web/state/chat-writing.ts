import { get, type Readable, writable } from "svelte/store";
import {
  type Channel,
  FoyerError,
  type MessageContent,
  type SentEvent,
  type WaitingMessage,
} from "../../client/index.js";
import { scaled } from "../lib/pictures.js";
import type { Shelf } from "../lib/storage.js";
import { type Mentioned, parseContent, type SharedFile } from "./chat-content.js";

interface WritingParts {
  readonly channel: Channel;
  readonly shelf: Shelf;
  /** Shelf key for this user and channel. */
  readonly key: string;
  /**
   * Uploads a file.
   * @returns its URL.
   */
  readonly upload: (file: File) => Promise<string>;
  /** The largest file that the server accepts, in bytes. */
  readonly maxBytes: number;
  /**
   * Called when a message has been queued, has failed or has been sent.
   * @param sent the resulting event, if the message has been sent.
   */
  readonly onChange: (sent: SentEvent | undefined) => void;
}

/**
 * The user's writing in a channel: the draft with its files, and the messages in the client's
 * outbox. The shelf keeps draft and messages until the server has them.
 */
export class ChatWriting {
  readonly draft;
  /** Files being uploaded for the draft. */
  readonly uploads: Uploads;
  /** The message being edited, and its text. */
  readonly editing = writable<(Pick<Draft, "text" | "mentions"> & { id: number }) | undefined>(
    undefined,
  );
  /** The message that the draft replies to. */
  readonly replying = writable<SentEvent | undefined>(undefined);
  readonly #channel: Channel;
  readonly #drafts: Drafts;

  constructor(parts: WritingParts) {
    const { channel, shelf, key, upload, maxBytes, onChange } = parts;
    this.#channel = channel;
    this.#drafts = new Drafts(shelf, key);
    const { draft, unconfirmed } = this.#drafts.read();
    this.draft = writable<Draft>(draft);
    this.#channel.outbox.restore(unconfirmed);
    this.#channel.outbox.onChange((sent) => {
      this.#keep();
      onChange(sent);
    });
    this.uploads = new Uploads({
      upload,
      maxBytes,
      done: (file) => {
        const draft = get(this.draft);
        this.setDraft({ ...draft, files: [...draft.files, file] });
      },
    });
  }

  /** The user's pending and failed messages. */
  get waiting(): readonly WaitingMessage[] {
    return this.#channel.outbox.messages;
  }

  /** Whether any message is still being sent. */
  get isSending(): boolean {
    return this.waiting.some(({ state }) => state !== "failed");
  }

  setDraft(draft: Draft): void {
    this.draft.set(draft);
    this.#keep();
  }

  /** Prepends text to the draft. */
  prependDraft(text: string, mentions: Draft["mentions"]): void {
    const { text: rest, mentions: others, files } = get(this.draft);
    const known = others.filter(({ label }) => !mentions.some((it) => it.label === label));
    this.setDraft({
      text: rest === "" ? text : `${text}\n${rest}`,
      mentions: [...mentions, ...known],
      files,
    });
  }

  retry(localId: string): void {
    this.#channel.outbox.retry(localId);
  }

  /**
   * Cancels a message that could not be sent.
   * @returns the message's content.
   */
  remove(localId: string): MessageContent | undefined {
    return this.#channel.outbox.cancel(localId)?.content;
  }

  #keep(): void {
    this.#drafts.write({ draft: get(this.draft), unconfirmed: this.waiting });
  }
}

/** A message that the user is writing. */
export interface Draft {
  readonly text: string;
  readonly mentions: readonly Mentioned[];
  /** Files that have already been uploaded. */
  readonly files: readonly SharedFile[];
}

/** A message that the server has not confirmed. */
type Unconfirmed = Pick<WaitingMessage, "content" | "after">;

/** The draft and the unconfirmed messages that this browser stores for a channel. */
export interface Kept {
  readonly draft: Draft;
  readonly unconfirmed: readonly Unconfirmed[];
}

export const emptyDraft: Draft = { text: "", mentions: [], files: [] };

/** Stores the user's draft and unconfirmed messages for a channel. */
export class Drafts {
  readonly #shelf: Shelf;
  readonly #key: string;

  /** @param key unique per user and channel. */
  constructor(shelf: Shelf, key: string) {
    this.#shelf = shelf;
    this.#key = key;
  }

  /** Reads the stored draft and messages. The storage may contain anything. */
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
  const { is } = parseContent(content);
  if (is !== "text" && is !== "files") return [];
  return [{ content: content as MessageContent, ...(typeof after === "number" && { after }) }];
}

/** A file being uploaded for a message. */
export interface Upload {
  readonly key: number;
  readonly name: string;
  /** Why the upload failed, or undefined while the upload is in progress. */
  readonly failure: UploadFailure | undefined;
}

export type UploadFailure = "type" | "size" | "denied" | "busy" | "network";

/** Dependencies of {@link Uploads}. */
interface UploadParts {
  readonly upload: (file: File) => Promise<string>;
  /** Maximum file size, in bytes. */
  readonly maxBytes: number;
  readonly done: (file: SharedFile) => void;
}

/** A draft's attachments until they have been uploaded. */
export class Uploads implements Readable<readonly Upload[]> {
  readonly #parts: UploadParts;
  readonly #files = new Map<number, File>();
  readonly #store = writable<readonly Upload[]>([]);
  readonly subscribe = this.#store.subscribe;
  #last = 0;

  constructor(parts: UploadParts) {
    this.#parts = parts;
  }

  add(files: Iterable<File>): void {
    for (const file of files) {
      const key = ++this.#last;
      this.#files.set(key, file);
      this.#store.update((all) => [...all, { key, name: file.name, failure: undefined }]);
      void this.#upload(key, file);
    }
  }

  retry(key: number): void {
    const file = this.#files.get(key);
    if (!file) return;
    this.#change(key, undefined);
    void this.#upload(key, file);
  }

  remove(key: number): void {
    this.#files.delete(key);
    this.#store.update((all) => all.filter((it) => it.key !== key));
  }

  async #upload(key: number, file: File): Promise<void> {
    try {
      const { upload, maxBytes, done } = this.#parts;
      const sent = await scaled(file);
      if (sent.size > maxBytes) return this.#change(key, "size");
      if (!this.#files.has(key)) return;
      const url = await upload(sent);
      // The user may have removed the file during the upload.
      if (!this.#files.has(key)) return;
      this.remove(key);
      done({ url, name: sent.name, type: sent.type });
    } catch (error) {
      this.#change(key, failureOf(error));
    }
  }

  #change(key: number, failure: UploadFailure | undefined): void {
    this.#store.update((all) => all.map((it) => (it.key === key ? { ...it, failure } : it)));
  }
}

function failureOf(error: unknown): UploadFailure {
  if (!(error instanceof FoyerError)) return "network";
  if (error.status === 413 || error.code === "file.size") return "size";
  if (error.status === 429 || error.status === 503) return "busy";
  if (error.code === "file.type" || error.status === 400) return "type";
  return error.status === 401 || error.status === 403 ? "denied" : "network";
}
