import type { FileRecords } from "../../db/store.js";
import { FileRefusal } from "../http/errors.js";

/** What one world has room for. */
interface Ledger {
  /** Bytes of its recorded files, as last read. */
  used: number;
  /** Bytes that uploads under way have sent. */
  underWay: number;
  /** How many uploads are under way. */
  uploads: number;
}

/** One upload that counts. */
export interface Counted {
  /**
   * Counts bytes as they come.
   * @throws {FileRefusal} `file.size` with the first byte that the world has no room for.
   */
  count(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer>;
  /** Its file is recorded now, with this size in bytes. */
  recorded(size: number): void;
  /** Its bytes are gone, or recorded. */
  end(): void;
}

/**
 * The quota of each world, with the bytes under way in this process: those lie on
 * the disk, too, and the store counts a file only when it is recorded.
 */
export class Quota {
  readonly #ledgers = new Map<string, Ledger>();
  readonly #records: Pick<FileRecords, "size">;
  readonly #most: number;

  /** @param most how many bytes the files of one world may have together. */
  constructor(records: Pick<FileRecords, "size">, most: number) {
    this.#records = records;
    this.#most = most;
  }

  /** Begins an upload to a world. */
  async begin(world: string): Promise<Counted> {
    const ledger = this.#ledgers.get(world) ?? {
      used: 0,
      underWay: 0,
      uploads: 0,
    };
    this.#ledgers.set(world, ledger);
    ledger.uploads++;
    let own = 0;
    const settle = () => {
      ledger.underWay -= own;
      own = 0;
    };
    const end = () => {
      settle();
      if (--ledger.uploads === 0) this.#ledgers.delete(world);
    };
    const isOver = () => ledger.used + ledger.underWay > this.#most;
    const look = async () => {
      ledger.used = await this.#records.size(world);
    };
    try {
      await look();
    } catch (error) {
      end();
      throw error;
    }
    return {
      async *count(source) {
        for await (const chunk of source) {
          own += chunk.length;
          ledger.underWay += chunk.length;
          // A file may have been deleted.
          if (isOver()) await look();
          if (isOver()) throw new FileRefusal("file.size");
          yield chunk;
        }
      },
      recorded(size) {
        settle();
        ledger.used += size;
      },
      end,
    };
  }
}
