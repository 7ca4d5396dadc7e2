import { writeSync } from "node:fs";
import { Socket } from "node:net";

/** How many bytes may wait for a slow reader of the log. */
const MAX_WAITING = 8 * 1024 * 1024;

/**
 * Writes the log to stdout and never blocks or fails. If the disk is full, or the pipe
 * is closed or not read, lines are lost, and a later line counts them.
 * pino's own destination would block the process for as long as that lasts.
 */
export function logOutput(): { write(line: string): void } {
  const { stdout } = process;
  // A pipe takes what it can, and the rest waits in memory. A file takes it at once.
  const isPipe = stdout instanceof Socket;
  let lost = 0;
  // A missing reader is no reason to stop serving.
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
        const about = { level: 40, time: Date.now(), pid: process.pid };
        const msg = `${lost} lines of the log were lost`;
        if (write(`${JSON.stringify({ ...about, msg })}\n`)) lost = 0;
      }
      if (!write(line)) lost++;
    },
  };
}
