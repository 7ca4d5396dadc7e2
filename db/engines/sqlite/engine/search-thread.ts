import { parentPort, workerData } from "node:worker_threads";
import { detach } from "../../../runtime.js";
import { type Search, searchesOn, type SearchResult } from "./searcher.js";
import { openForReading, storeErrorOf } from "./sqlite-database.js";
import { ReadTurns } from "./sqlite-sql.js";
import { toFault } from "./write-calls.js";

// The thread that runs searches. It computes the rights of the caller itself, so that rights and
// rooms belong to one state.

const port = parentPort!;
const { dataDir } = workerData as { dataDir: string };
const db = openForReading(dataDir);
const turns = new ReadTurns(db);
const run = searchesOn(db);

port.on("message", (search: Search) => detach(answer(search)));

async function answer(search: Search): Promise<void> {
  port.postMessage(await runSearch(search));
  // The next search must see the writes in the meantime.
  turns.refresh();
}

async function runSearch(search: Search): Promise<SearchResult> {
  try {
    turns.enter();
    // A statement answers at once, so all belongs to the turn.
    return await run(...search);
  } catch (error) {
    const { problem, message } = storeErrorOf(error) ?? toFault(error);
    return { problem, message };
  }
}
