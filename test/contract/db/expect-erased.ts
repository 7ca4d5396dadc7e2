import { join } from "node:path";
import Database from "better-sqlite3";
import { heldIn } from "../../support/database.js";
import { until } from "../../support/helper.js";

/** The marks of erasures that are not over. */
export function marksIn(dataDir: string): string[] {
  const db = new Database(join(dataDir, "foyer.db"), { readonly: true });
  try {
    return db.prepare<[], string>("SELECT subject FROM erasures").pluck().all();
  } finally {
    db.close();
  }
}

/** What was erased leaves the files soon. Until then, a mark says so to the next process. */
export async function expectErased(dataDir: string, texts: readonly string[]): Promise<void> {
  const isHeld = () => heldIn(dataDir, texts).length > 0;
  // It may go between two looks.
  if (isHeld() && marksIn(dataDir).length === 0 && isHeld()) {
    throw new Error(`${texts.join()} is neither erased nor marked`);
  }
  await until(() => !isHeld());
}
