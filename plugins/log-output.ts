import { writeSync } from "node:fs";
import { Socket } from "node:net";

/** How many bytes may wait for a reader of the log that does not keep up. */
const MAX_WAITING = 8 * 1024 * 1024;

/**
 * The stdout of this process as a place for the log that no fault of the log
 * can stop: where the disk is full, the pipe is closed or nobody reads, lines
 * are lost, and later are told to be. pino's own would stop the process for as
 * long as it lasts.
 */
export function logOutput(): { write(line: string): void } {
  const { stdout } = process;
  // A pipe takes what it can, and the rest waits in memory. A file is written to at once.
  const isPipe = stdout instanceof Socket;
  let lost = 0;
  // Nobody is there to read it: that is no reason to stop serving.
  stdout.on("error", () => {});

  function write(text: string): boolean {
    if (isPipe) {
      if (!stdout.writable || stdout.writableLength > MAX_WAITING) return false;
      stdout.write(text);
      return true;
    }
    try {
      writeSync(1, text);
      return true;
    } catch {
      return false;
    }
  }

  return {
    write(line) {
      if (lost > 0) {
        const news = { level: 40, time: Date.now(), pid: process.pid };
        const msg = `${lost} lines of the log were lost`;
        if (write(`${JSON.stringify({ ...news, msg })}\n`)) lost = 0;
      }
      if (!write(line)) lost++;
    },
  };
}
