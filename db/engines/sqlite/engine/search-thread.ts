import { parentPort, workerData } from "node:worker_threads";
import { detach } from "../../../runtime.js";
import { type Search, searchesOn, type SearchResult } from "./searcher.js";
import { openForReading, storeErrorOf } from "./sqlite-database.js";
import { ReadTurns } from "./sqlite-sql.js";
import { toFault } from "./write-calls.js";

// The thread that runs searches. It evaluates the caller's permissions itself, so that the
// permissions and the rooms come from the same state.

const port = parentPort!;
const { dataDir } = workerData as { dataDir: string };
const db = openForReading(dataDir);
const turns = new ReadTurns(db);
const run = searchesOn(db);

port.on("message", (search: Search) => detach(answer(search)));

async function answer(search: Search): Promise<void> {
  port.postMessage(await runSearch(search));
  // The next search must see all writes made before it.
  turns.refresh();
}

async function runSearch(search: Search): Promise<SearchResult> {
  try {
    turns.enter();
    // Statements are synchronous, so the whole search belongs to this turn.
    return await run(...search);
  } catch (error) {
    const { problem, message } = storeErrorOf(error) ?? toFault(error);
    return { problem, message };
  }
}
