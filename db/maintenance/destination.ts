import type { TableTarget } from "../copies/dump.js";
import type { FileStore } from "../contract/files.js";

/** Where a restore brings a backup. It is empty at first. */
export interface Destination {
  /** Its name in messages. */
  readonly name: string;
  readonly tables: TableTarget;
  readonly files: FileStore;
  /** A folder for the restore's temporary files. */
  readonly scratch: string;
  /** Where the database of an old archive may be put instead of rows; undefined if it takes rows only. */
  readonly database: string | undefined;
  /** @throws {Failure} if something is there that a restore would mix with. */
  refuseFull(keys: ReadonlySet<string>): Promise<void>;
  /** Makes all visible at once, rows last. */
  finish(): Promise<void>;
  /** Ends. Unless it was finished, the place is as it was. */
  close(): Promise<void>;
}
