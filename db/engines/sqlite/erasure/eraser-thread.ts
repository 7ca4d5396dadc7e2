import { parentPort, workerData } from "node:worker_threads";
import type { Urgency } from "../../../erasure/erasure-job.js";
import { detach } from "../../../runtime.js";
import { SqliteEraser } from "./sqlite-eraser.js";
import type { EraserData, RoundAnswer } from "./threaded-eraser.js";

// The thread that runs a ThreadedEraser's rounds.

const port = parentPort!;
const { dataDir, waiting } = workerData as EraserData;
const eraser = new SqliteEraser(dataDir, waiting);

port.on("message", (message: Urgency | "close") => {
  if (message === "close") {
    eraser.close();
    return port.close();
  }
  detach(answerTo(message).then((answer) => port.postMessage(answer)));
});

async function answerTo(urgency: Urgency): Promise<RoundAnswer> {
  try {
    return { round: await eraser.run(urgency) };
  } catch (error) {
    return { failed: (error as Error).message };
  }
}
