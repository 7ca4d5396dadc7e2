import { writable, type Readable } from "svelte/store";
import { FoyerError } from "../../client/index.js";
import { scaled } from "../lib/pictures.js";
import type { SharedFile } from "./chat-content.js";

/** A file on its way to a message. */
export interface Upload {
  readonly key: number;
  readonly name: string;
  /** Why it could not be uploaded; undefined while it is on its way. */
  readonly failure: UploadFailure | undefined;
}

export type UploadFailure = "type" | "size" | "denied" | "busy" | "network";

/** How a server takes files. */
export interface UploadParts {
  readonly upload: (file: File) => Promise<string>;
  /** The largest file, in bytes. */
  readonly maxBytes: number;
  readonly done: (file: SharedFile) => void;
}

/** The attached files of a draft, until they are uploaded. */
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
      // It may have been removed meanwhile.
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
