import { get, writable } from "svelte/store";
import type { Channel, MessageContent, SentEvent, WaitingMessage } from "../../client/index.js";
import type { Shelf } from "../lib/storage.js";
import { Drafts, type Draft } from "./chat-drafts.js";
import { Uploads } from "./chat-uploads.js";

interface WritingParts {
  readonly channel: Channel;
  readonly shelf: Shelf;
  /** Names what the shelf keeps of this user for this channel. */
  readonly key: string;
  /** Uploads a file. @returns its URL. */
  readonly upload: (file: File) => Promise<string>;
  /** The largest file that the server takes, in bytes. */
  readonly maxBytes: number;
  /** A message waits, has failed, or was sent. @param sent the event that the server made of it. */
  readonly onChange: (sent: SentEvent | undefined) => void;
}

/**
 * What the user writes in a channel: the draft with its files, and the messages that wait in the
 * outbox of the client. The shelf keeps both, for as long as the server does not have them.
 */
export class ChatWriting {
  readonly draft;
  /** The files that are on their way into the draft. */
  readonly uploads: Uploads;
  /** The message that is being edited, and its text. */
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

  /** Whether a message is on its way. */
  get isSending(): boolean {
    return this.waiting.some(({ state }) => state !== "failed");
  }

  setDraft(draft: Draft): void {
    this.draft.set(draft);
    this.#keep();
  }

  /** Puts a text before the draft. */
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

  /** Gives up a message that could not be sent. @returns its content. */
  remove(localId: string): MessageContent | undefined {
    return this.#channel.outbox.cancel(localId)?.content;
  }

  #keep(): void {
    this.#drafts.write({ draft: get(this.draft), unconfirmed: this.waiting });
  }
}
