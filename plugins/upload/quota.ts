import type { FileRecords } from "../../db/store.js";
import { FileRefusal } from "../http/errors.js";

/** The bytes of one world. */
interface Ledger {
  /** Bytes of its recorded files, as last read. */
  used: number;
  /** Bytes that uploads in progress have sent. */
  underWay: number;
  /** How many uploads are in progress. */
  uploads: number;
}

/** One upload, as the quota counts it. */
export interface Counted {
  /**
   * Counts bytes as they come.
   * @throws {FileRefusal} `file.size` at the first byte beyond the quota.
   */
  count(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer>;
  /** Its file was recorded, with this size in bytes. */
  recorded(size: number): void;
  /** The upload is over: its bytes are deleted, or recorded. */
  end(): void;
}

/**
 * The quota of each world. It includes the bytes of uploads in progress in this
 * process: they are on the disk already, and the store counts only recorded files.
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
          // A file may have been deleted since the last read.
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
