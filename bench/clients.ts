import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { WORLD } from "./support.js";

/** Bytes to read of each frame: enough for its name and the number of its event or command. */
const READ_BYTES = 60;

/** Timeout for expected deliveries and joins, in milliseconds. */
const ARRIVAL_TIMEOUT_MS = 60_000;

/** Delay before a person who was refused or disconnected reconnects, in milliseconds. */
const RETRY_DELAY_MS = 1000;

/** All sockets share one read buffer, because each read is processed before the next one begins. */
const shared = Buffer.allocUnsafe(256 * 1024);

const pong = Buffer.from([0x8a, 0x80, 0, 0, 0, 0]);

/** Encodes a client's text frame. Its mask is zero, which costs nothing to apply. */
function frameOf(text: string): Buffer {
  const size = Buffer.byteLength(text);
  const head = size < 126 ? 2 : 4;
  const frame = Buffer.alloc(head + 4 + size);
  frame[0] = 0x81;
  frame[1] = 0x80 | (head === 2 ? size : 126);
  if (head === 4) frame.writeUInt16BE(size, 2);
  frame.write(text, head + 4);
  return frame;
}

const command = (action: string, id: number, payload: object): string =>
  JSON.stringify([action, id, payload]);

/**
 * A lightweight websocket client, of which 10,000 fit in one process: it reads the start of each
 * frame and skips the rest.
 */
class Connection {
  readonly #socket: Socket;
  readonly #onFrame: (start: string) => void;
  /** Received bytes of a frame that is still too short to read. */
  #kept: Buffer | undefined;
  /** Bytes of the current frame that have not arrived yet. */
  #rest = 0;
  #isUpgraded = false;

  /**
   * @param onFrame receives `""` when the connection is open, then the start of each frame.
   * @param onEnd called once, when the connection ends or is refused.
   */
  constructor(port: number, onFrame: (start: string) => void, onEnd: () => void) {
    this.#onFrame = onFrame;
    this.#socket = connect({
      port,
      host: "127.0.0.1",
      noDelay: true,
      onread: {
        buffer: shared,
        callback: (length) => {
          this.#receive(shared.subarray(0, length));
          return true;
        },
      },
    });
    this.#socket.on("error", () => {});
    this.#socket.on("end", () => this.#socket.destroy());
    this.#socket.on("close", onEnd);
    this.#socket.write(
      `GET /ws/world/${WORLD}/ HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n",
    );
  }

  send(text: string): void {
    this.#socket.write(frameOf(text));
  }

  close(): void {
    this.#socket.destroy();
  }

  #receive(received: Buffer): void {
    const bytes = this.#kept ? Buffer.concat([this.#kept, received]) : received;
    this.#kept = undefined;
    let at = 0;
    if (!this.#isUpgraded) {
      const end = bytes.indexOf("\r\n\r\n");
      if (end < 0) {
        this.#kept = Buffer.from(bytes);
        return;
      }
      if (bytes.toString("latin1", 9, 12) !== "101") {
        this.#socket.destroy();
        return;
      }
      this.#isUpgraded = true;
      this.#onFrame("");
      at = end + 4;
    }
    while (at < bytes.length) {
      if (this.#rest > 0) {
        const skipped = Math.min(this.#rest, bytes.length - at);
        this.#rest -= skipped;
        at += skipped;
        continue;
      }
      const next = this.#begin(bytes, at);
      if (next === undefined) {
        // The buffer is shared and will be overwritten, so the rest is copied.
        this.#kept = Buffer.from(bytes.subarray(at));
        return;
      }
      at = next;
    }
  }

  /**
   * Reads the start of a frame.
   * @returns the position of its content; undefined if more bytes are needed.
   */
  #begin(bytes: Buffer, at: number): number | undefined {
    const there = bytes.length - at;
    if (there < 2) return undefined;
    let size = bytes[at + 1]!;
    let head = 2;
    if (size === 126) {
      head = 4;
      if (there < head) return undefined;
      size = bytes.readUInt16BE(at + 2);
    } else if (size === 127) {
      head = 10;
      if (there < head) return undefined;
      size = Number(bytes.readBigUInt64BE(at + 2));
    }
    const content = at + head;
    const read = Math.min(size, READ_BYTES);
    if (bytes.length - content < read) return undefined;
    const opcode = bytes[at]! & 15;
    if (opcode === 9) this.#socket.write(pong);
    else if (opcode === 1) {
      this.#onFrame(bytes.toString("latin1", content, content + read));
    }
    this.#rest = size;
    return content;
  }
}

/** The deliveries that a crowd received during a measurement. */
export interface Arrivals {
  /** Number of deliveries: each message counts once per person who received it. */
  deliveries: number;
  /** Time between sending and receiving, for each delivery, in milliseconds. */
  delays: number[];
}

/** The people of a crowd. */
export interface Guests {
  /** Number of people once all have joined. */
  people: number;
  /** Joins per second. */
  rate: number;
  /** The rooms, among which people are distributed in turn. */
  rooms: string[];
  token: (person: number) => string;
}

const PUSH = '["chat.event",{"event_id":';
const ANSWER = '["success",';

/** The id of the command that requests the last page of a chat. */
const LAST_STEP = 4;

/** Clients of one server. Each of them must receive each message of its room exactly once, and in order. */
export class Crowd {
  readonly #port: number;
  readonly #connections: (Connection | undefined)[] = [];
  readonly #rooms: string[] = [];
  /** The last event that each person received. */
  readonly #last: number[] = [];
  /** The time when each person began to join, and whether they have joined. */
  readonly #begun: number[] = [];
  readonly #joined: boolean[] = [];
  /** The duration of each join, in milliseconds. */
  readonly joins: number[] = [];
  /** Number of connections that were refused or lost before their person had joined. */
  refused = 0;
  #guests: Guests | undefined;
  #isOver = false;
  #marks = false;
  #command = 100;
  #deliveries = 0;
  #disordered = 0;
  #errors: string[] = [];
  /** Send times of messages: by the id of their command, and by the event that they became. */
  readonly #sent = new Map<number, number>();
  readonly #eventOf = new Map<number, number>();
  #arrived: { event: number; at: number }[] = [];

  constructor(port: number) {
    this.#port = port;
  }

  get size(): number {
    return this.#joined.filter(Boolean).length;
  }

  /** Adds people until there are `guests.people`. Each one joins from the handshake to the last page of the chat. */
  async open(guests: Guests): Promise<void> {
    this.#guests = guests;
    const first = this.#connections.length;
    const begun = performance.now();
    for (let n = first; n < guests.people; n++) {
      this.#rooms[n] = guests.rooms[n % guests.rooms.length]!;
      this.#begun[n] = performance.now();
      this.#connect(n);
      const ahead = ((n - first + 1) / guests.rate) * 1000 - (performance.now() - begun);
      if (ahead > 1) await sleep(ahead);
    }
    await this.until(
      () => this.size >= guests.people,
      () => `${this.size} of ${guests.people} people joined`,
    );
  }

  #connect(n: number): void {
    this.#joined[n] = false;
    const room = this.#rooms[n]!;
    const connection = new Connection(
      this.#port,
      (start) => this.#handle(n, room, connection, start),
      () => {
        if (this.#isOver) return;
        if (!this.#joined[n]) this.refused++;
        this.#joined[n] = false;
        setTimeout(() => !this.#isOver && this.#connect(n), RETRY_DELAY_MS);
      },
    );
    this.#connections[n] = connection;
  }

  #handle(n: number, room: string, connection: Connection, start: string): void {
    if (start.startsWith(PUSH)) {
      const event = parseInt(start.slice(PUSH.length), 10);
      if (event <= this.#last[n]!) this.#disordered++;
      this.#last[n] = event;
      this.#deliveries++;
      this.#arrived.push({ event, at: performance.now() });
      if (this.#marks) {
        connection.send(command("chat.mark_read", ++this.#command, { channel: room, id: event }));
      }
    } else if (start === "") {
      const token = this.#guests!.token(n);
      connection.send(JSON.stringify(["authenticate", { token }]));
    } else if (start.startsWith('["authenticated"')) {
      const channel = room;
      connection.send(command("room.enter", 1, { room }));
      connection.send(command("chat.subscribe", 2, { channel }));
      connection.send(
        command("chat.fetch", LAST_STEP, {
          channel,
          count: 50,
          before_id: Number.MAX_SAFE_INTEGER,
        }),
      );
    } else if (start.startsWith(ANSWER)) {
      const id = parseInt(start.slice(ANSWER.length), 10);
      if (id === LAST_STEP) {
        this.#joined[n] = true;
        this.joins.push(performance.now() - this.#begun[n]!);
      } else if (this.#sent.has(id)) {
        const event = /"event_id":(\d+)/.exec(start);
        if (event) this.#eventOf.set(Number(event[1]), this.#sent.get(id)!);
      }
    } else if (start.startsWith('["error"')) {
      this.#errors.push(start);
    }
  }

  /** Makes the first people members of their chat, with a name, so that they can send. */
  async letSpeak(count: number): Promise<void> {
    for (let n = 0; n < count; n++) {
      const connection = this.#connections[n]!;
      const profile = { display_name: `Person ${n}` };
      connection.send(command("user.update", ++this.#command, { profile }));
      connection.send(command("chat.join", ++this.#command, { channel: this.#rooms[n] }));
    }
    await sleep(1000);
  }

  /**
   * Lets the first people send messages in turn, and waits until everyone has received all messages
   * of their room.
   * @param rate messages per second.
   * @param options.speakers the number of people who send.
   * @param options.marks whether each person marks each message as read.
   * @throws {Error} if a message is lost, duplicated, out of order or refused.
   */
  async talk(
    rate: number,
    seconds: number,
    { speakers, marks = false }: { speakers: number; marks?: boolean },
  ): Promise<Arrivals> {
    this.#deliveries = this.#disordered = 0;
    this.#errors = [];
    this.#arrived = [];
    this.#sent.clear();
    this.#eventOf.clear();
    this.#marks = marks;
    const inRoom = new Map<string, number>();
    for (const room of this.#rooms) {
      inRoom.set(room, (inRoom.get(room) ?? 0) + 1);
    }
    const count = Math.round(rate * seconds);
    let due = 0;
    const begun = performance.now();
    for (let n = 0; n < count; n++) {
      const ahead = (n / rate) * 1000 - (performance.now() - begun);
      if (ahead > 1) await sleep(ahead);
      const speaker = n % speakers;
      const channel = this.#rooms[speaker]!;
      due += inRoom.get(channel)!;
      const id = ++this.#command;
      this.#sent.set(id, performance.now());
      this.#connections[speaker]!.send(
        command("chat.send", id, {
          channel,
          event_type: "channel.message",
          content: { type: "text", body: `Message ${id}, to all who listen.` },
        }),
      );
    }
    await this.until(
      () => this.#deliveries >= due && this.#eventOf.size >= count,
      () => `${this.#deliveries} of ${due} deliveries arrived`,
    );
    this.#marks = false;
    if (this.#deliveries > due || this.#disordered || this.#errors.length) {
      throw new Error(
        `${this.#deliveries} deliveries of ${due}, ${this.#disordered} out of order; ${this.#errors.length} errors: ${this.#errors[0]}`,
      );
    }
    const delays = this.#arrived.map(({ event, at }) => at - this.#eventOf.get(event)!);
    return { deliveries: due, delays };
  }

  /**
   * Waits for a condition.
   * @throws {Error} with `state` if it takes longer than a minute.
   */
  async until(isMet: () => boolean, state: () => string): Promise<void> {
    const end = performance.now() + ARRIVAL_TIMEOUT_MS;
    while (!isMet()) {
      if (performance.now() > end) {
        throw new Error(`${state()}; ${this.#errors[0] ?? "no errors"}`);
      }
      await sleep(5);
    }
  }

  leave(): void {
    this.#isOver = true;
    for (const connection of this.#connections) connection?.close();
  }
}
