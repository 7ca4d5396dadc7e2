import { parentPort, receiveMessageOnPort, workerData } from "node:worker_threads";
import type { BatchReport, Message, WriteCall, WriteOptions } from "./write-calls.js";
import { WriteRunner } from "./write-runner.js";

// The only thread of this process that writes. All writes that arrive while the disk
// is syncing go into the next transaction together and share one sync.

/** The most writes in one transaction. The first waits for the last. */
const MAX_BATCH = 500;

const port = parentPort!;
const runner = new WriteRunner(workerData as WriteOptions);
const report = (made: BatchReport) => port.postMessage(made);

/** Whether writes are under way. */
let isWriting = false;

port.on("message", (received: Message) => {
  // A transaction would otherwise include what does not belong to it. It ends with this thread.
  if (isWriting) throw new Error("A write waits for more than the database.");
  isWriting = true;
  take(received).catch((error: unknown) => {
    // Ends the thread.
    process.nextTick(() => {
      throw error;
    });
  });
});

/** Runs the writes of a message, and of those that have arrived since. Only microtasks pass. */
async function take(received: Message): Promise<void> {
  const calls: WriteCall[] = [];
  let message: Message | undefined = received;
  while (Array.isArray(message)) {
    calls.push(...message);
    message = calls.length < MAX_BATCH ? next() : undefined;
  }
  if (calls.length > 0) report(await runner.run(calls));
  isWriting = false;
  if (message !== "close") return;
  runner.close();
  port.close();
}

// Reports that the thread has started.
report({ answers: [], hints: [], erased: false });

/** The next message that has arrived; undefined if there is none. */
function next(): Message | undefined {
  const received = receiveMessageOnPort(port) as { message: Message } | null;
  return received?.message;
}
