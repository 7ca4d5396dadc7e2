import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import Database from "better-sqlite3";
import type { WebSocket } from "ws";

/** A connection of a reference, and the socket below it. */
export interface Listener {
  socket: WebSocket;
  raw: Duplex;
}

/** A room of a reference. */
interface Room {
  join(listener: Listener): void;
  leave(listener: Listener): void;
  /** Sends a text to everybody in the room. */
  send(text: string): void;
}

/** Sends each message at once, in a loop, as is usual with `ws`. */
function bareRoom(): Room {
  const listeners = new Set<Listener>();
  return {
    join: (listener) => void listeners.add(listener),
    leave: (listener) => void listeners.delete(listener),
    send(text) {
      for (const { socket } of listeners) socket.send(text);
    },
  };
}

/** The time between the starts of two passes, in milliseconds. */
const SHORTEST = 8;
const LONGEST = 100;

/** How many sockets are written to in one turn of the event loop. */
const SLICE = 1000;

/**
 * Collects messages and writes them to each socket together, as one buffer that all
 * sockets share. The first message after a quiet moment leaves at once; later ones wait
 * for the next pass. When passes run back to back, they become rarer.
 */
function collectingRoom(): Room {
  const listeners = new Set<Listener>();
  let waiting: Buffer[] = [];
  let running = false;
  let window = SHORTEST;
  let begun = -LONGEST;

  function begin(): void {
    begun = performance.now();
    const bytes = waiting.length > 1 ? Buffer.concat(waiting) : waiting[0]!;
    waiting = [];
    write([...listeners], bytes, 0);
  }

  function write(to: Listener[], bytes: Buffer, from: number): void {
    const end = Math.min(to.length, from + SLICE);
    for (let at = from; at < end; at++) to[at]!.raw.write(bytes);
    if (end < to.length) {
      setImmediate(write, to, bytes, end);
    } else if (waiting.length) {
      window = Math.min(LONGEST, 2 * window);
      setTimeout(begin, Math.max(0, begun + window - performance.now()));
    } else {
      window = SHORTEST;
      running = false;
    }
  }

  return {
    join: (listener) => void listeners.add(listener),
    leave: (listener) => void listeners.delete(listener),
    send(text) {
      waiting.push(frameOf(text));
      if (running) return;
      running = true;
      const wait = begun + window - performance.now();
      // Messages of one turn of the event loop go together.
      if (wait > 0) setTimeout(begin, wait);
      else setImmediate(begin);
    },
  };
}

/** A text frame of a server, without a mask (RFC 6455, section 5.2). */
function frameOf(text: string): Buffer {
  const size = Buffer.byteLength(text);
  const header = size < 126 ? 2 : size < 65536 ? 4 : 10;
  const frame = Buffer.allocUnsafe(header + size);
  frame[0] = 0x81;
  frame[1] = header === 2 ? size : header === 4 ? 126 : 127;
  if (header === 4) frame.writeUInt16BE(size, 2);
  if (header === 10) frame.writeBigUInt64BE(BigInt(size), 2);
  frame.write(text, header);
  return frame;
}

/** How long messages of all rooms gather for one transaction, in milliseconds. */
const GATHERED = 8;

/** Writes texts in groups to a database that is gone with the process. */
function committer(): (text: string, committed: () => void) => void {
  const folder = mkdtempSync(join(tmpdir(), "foyer-bench-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  const db = new Database(join(folder, "messages.db"));
  db.pragma("journal_mode = WAL");
  db.pragma("synchronous = FULL");
  db.exec("CREATE TABLE messages (id INTEGER PRIMARY KEY, text TEXT) STRICT");
  const insert = db.prepare("INSERT INTO messages (text) VALUES (?)");
  let group: { text: string; committed: () => void }[] = [];

  const commit = () => {
    const committed = group;
    group = [];
    db.transaction(() => {
      for (const { text } of committed) insert.run(text);
    })();
    for (const message of committed) message.committed();
  };
  return (text, committed) => {
    if (!group.length) setTimeout(commit, GATHERED);
    group.push({ text, committed });
  };
}

let write: ReturnType<typeof committer> | undefined;

/** Sends each message in a loop, once it is committed to SQLite together with others. */
function committingRoom(): Room {
  const room = bareRoom();
  return {
    ...room,
    send: (text) => (write ??= committer())(text, () => room.send(text)),
  };
}

/** How the references send. */
export const rooms = {
  bare: bareRoom,
  collecting: collectingRoom,
  committing: committingRoom,
};
