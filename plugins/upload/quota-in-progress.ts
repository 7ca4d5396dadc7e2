import type { FileRecords } from "../../db/contract/store.js";
import { FileRefusal } from "../http/errors.js";

/** One world's usage, in bytes. */
interface Ledger {
  /** Total size of the world's recorded files, as last read. */
  used: number;
  /** Uploads in progress, in the order they began, with the number of bytes received for each. */
  underWay: Map<Counted, number>;
}

/** An upload, as counted toward the quota. */
export interface Counted {
  /**
   * Counts bytes as they arrive.
   * @throws {FileRefusal} `file.size` at the first byte beyond the quota.
   */
  count(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer>;
  /** Reports that the file has been recorded, with its size in bytes. */
  recorded(size: number): void;
  /** Ends the upload. Call it once the bytes have been removed or the file has been recorded. */
  end(): void;
}

/**
 * Enforces each world's quota, including uploads in progress in this process: the bytes of these
 * uploads are already on disk, but the store counts only recorded files.
 */
export class QuotaInProgress {
  readonly #ledgers = new Map<string, Ledger>();
  readonly #records: Pick<FileRecords, "size">;
  readonly #most: number;

  /** @param most the maximum total size of a world's files, in bytes. */
  constructor(records: Pick<FileRecords, "size">, most: number) {
    this.#records = records;
    this.#most = most;
  }

  /**
   * Begins an upload to a world. The upload may use the quota that earlier uploads leave: if
   * concurrent uploads together exceed the quota, the earliest uploads succeed.
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
          // A file may have been deleted since the last read.
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
