import { parentPort, receiveMessageOnPort, workerData } from "node:worker_threads";
import type { BatchReport, WriterMessage, WriteCall, WriterThreadOptions } from "./write-calls.js";
import { WriteRunner } from "./write-runner.js";

// The thread that runs a process's writes. All writes that arrive while the disk is syncing share
// the next transaction, and therefore one sync.

/**
 * Once a transaction has this many writes, messages that arrive later wait for the next
 * transaction, because the first write's result has to wait for the last write.
 */
const MAX_BATCH = 500;

const port = parentPort!;
const runner = new WriteRunner(workerData as WriterThreadOptions);
const report = (made: BatchReport) => port.postMessage(made);

/** Whether writes are in progress. */
let isWriting = false;

port.on("message", (received: WriterMessage) => {
  // Without this check, the open transaction could include unrelated writes. The error ends this
  // thread, which rolls back the transaction.
  if (isWriting) throw new Error("A write waits for more than the database.");
  isWriting = true;
  take(received).catch((error: unknown) => {
    // An uncaught error ends the thread.
    process.nextTick(() => {
      throw error;
    });
  });
});

/**
 * Runs the writes in a message and in all messages that have arrived since. Only microtasks run
 * until the transaction ends.
 */
async function take(received: WriterMessage): Promise<void> {
  const calls: WriteCall[] = [];
  let message: WriterMessage | undefined = received;
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

/** Returns the next message that has already arrived, or undefined if there is none. */
function next(): WriterMessage | undefined {
  const received = receiveMessageOnPort(port) as { message: WriterMessage } | null;
  return received?.message;
}
