import type { ReadState } from "./read-state.js";

/**
 * The unread list of each channel, with the users connected to this process. Some are no
 * longer on it, which shows at the next message.
 */
export class UnreadLists {
  readonly #byChannel = new Map<string, Set<ReadState>>();

  /** Adds a user to the lists of the channels that {@link ReadState.listed} has. */
  open(reader: ReadState): void {
    for (const channel of reader.listed.keys()) this.#add(reader, channel);
  }

  /** Removes a user from all lists. */
  close(reader: ReadState): void {
    for (const channel of reader.listed.keys()) this.#remove(reader, channel);
  }

  /** @param listed as in `Mark` of the store. */
  add(reader: ReadState, channel: string, listed: number): void {
    reader.list(channel, listed);
    this.#add(reader, channel);
  }

  /** @param event an event of the channel. Users who came onto the list since stay. */
  remove(reader: ReadState, channel: string, event: number): void {
    const listed = reader.listed.get(channel);
    if (listed === undefined || listed >= event) return;
    reader.unlist(channel);
    this.#remove(reader, channel);
  }

  of(channel: string): Iterable<ReadState> {
    return this.#byChannel.get(channel) ?? [];
  }

  /** A channel is gone. */
  forget(channel: string): void {
    for (const reader of this.of(channel)) reader.unlist(channel);
    this.#byChannel.delete(channel);
  }

  #add(reader: ReadState, channel: string): void {
    const readers = this.#byChannel.get(channel);
    if (readers) readers.add(reader);
    else this.#byChannel.set(channel, new Set([reader]));
  }

  #remove(reader: ReadState, channel: string): void {
    const readers = this.#byChannel.get(channel);
    if (readers?.delete(reader) && readers.size === 0) {
      this.#byChannel.delete(channel);
    }
  }
}
