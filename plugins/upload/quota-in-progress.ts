import type { FileRecords } from "../../db/contract/store.js";
import { FileRefusal } from "../http/errors.js";

/** The bytes of one world. */
interface Ledger {
  /** Bytes of its recorded files, as last read. */
  used: number;
  /** The uploads under way, in the order they began, and how many bytes of each came. */
  underWay: Map<Counted, number>;
}

/** One upload, as the quota counts it. */
export interface Counted {
  /**
   * Counts bytes as they come.
   * @throws {FileRefusal} `file.size` at the first byte beyond the quota.
   */
  count(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer>;
  /** Reports that the file is recorded, with its size in bytes. */
  recorded(size: number): void;
  /** Ends the upload, after its bytes were removed or its file was recorded. */
  end(): void;
}

/**
 * The quota of each world. It includes the bytes of uploads in progress in this
 * process: they are on the disk already, and the store counts only recorded files.
 */
export class QuotaInProgress {
  readonly #ledgers = new Map<string, Ledger>();
  readonly #records: Pick<FileRecords, "size">;
  readonly #most: number;

  /** @param most how many bytes the files of one world may have together. */
  constructor(records: Pick<FileRecords, "size">, most: number) {
    this.#records = records;
    this.#most = most;
  }

  /**
   * Begins an upload to a world. It may use the quota that earlier uploads leave: if
   * several together are too large, the first ones succeed.
   */
  async begin(world: string): Promise<Counted> {
    const ledger = this.#ledgers.get(world) ?? { used: 0, underWay: new Map<Counted, number>() };
    this.#ledgers.set(world, ledger);
    const { underWay } = ledger;
    const look = async () => {
      ledger.used = await this.#records.size(world);
    };
    const isOver = () => {
      let total = ledger.used;
      for (const [upload, bytes] of underWay) {
        total += bytes;
        if (upload === counted) break;
      }
      return total > this.#most;
    };
    const counted: Counted = {
      async *count(source) {
        for await (const chunk of source) {
          underWay.set(counted, underWay.get(counted)! + chunk.length);
          // A file may have been deleted.
          if (isOver()) await look();
          if (isOver()) throw new FileRefusal("file.size");
          yield chunk;
        }
      },
      recorded(size) {
        underWay.set(counted, 0);
        ledger.used += size;
      },
      end: () => {
        underWay.delete(counted);
        if (underWay.size === 0) this.#ledgers.delete(world);
      },
    };
    underWay.set(counted, 0);
    try {
      await look();
    } catch (error) {
      counted.end();
      throw error;
    }
    return counted;
  }
}
