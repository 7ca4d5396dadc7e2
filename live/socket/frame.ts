import { constants, deflateRawSync } from "node:zlib";
import { jsonOf } from "../rules/encoding.js";

/** Close codes (RFC 6455, section 7.4.1). */
export const Close = {
  normal: 1000,
  policy: 1008,
  tooLarge: 1009,
  goingAway: 1001,
  fault: 1011,
  restart: 1012,
  /** Of a later version; see the registry that RFC 6455, section 11.7, begins. */
  tryAgainLater: 1013,
} as const;

/** The bit of the first byte for the last fragment of a message (RFC 6455, section 5.2). */
const FIN = 0x80;
const TEXT = 0x1;
const PING = 0x9;
const PONG = 0xa;

/**
 * A text as the whole frame of a server, which is not masked (RFC 6455, section
 * 5.2). A frame that was made once can be written to any number of sockets.
 */
export const textFrame = (text: string): Buffer => startOfFrame(text, Buffer.byteLength(text), 0);

/**
 * A text frame in pieces, to be written one after the other. The shared part is not
 * copied, so any number of frames can contain the same buffer.
 * @param shared UTF-8.
 */
export function frameAround(before: string, shared: Buffer, after: string): readonly Buffer[] {
  const end = Buffer.from(after);
  const size = Buffer.byteLength(before);
  return [startOfFrame(before, size, shared.length + end.length), shared, end];
}

/**
 * The head of a frame, and the first part of its text.
 * @param size of that part, in bytes.
 * @param rest how many bytes of text follow.
 */
function startOfFrame(text: string, size: number, rest: number): Buffer {
  const length = size + rest;
  const head = length < 126 ? 2 : length < 65_536 ? 4 : 10;
  const frame = Buffer.allocUnsafe(head + size);
  frame[0] = FIN | TEXT;
  if (head === 2) frame[1] = length;
  else if (head === 4) {
    frame[1] = 126;
    frame.writeUInt16BE(length, 2);
  } else {
    frame[1] = 127;
    frame.writeBigUInt64BE(BigInt(length), 2);
  }
  frame.write(text, head);
  return frame;
}

/** How many bytes the head of an unmasked frame has, which begins at a position. */
function headSizeOf(bytes: Buffer, at: number): number {
  const length = bytes[at + 1]!;
  return length < 126 ? 2 : length === 126 ? 4 : 10;
}

/** How many bytes the content of a frame has, which begins at a position. */
function sizeIn(bytes: Buffer, at: number): number {
  const length = bytes[at + 1]!;
  if (length < 126) return length;
  return length === 126 ? bytes.readUInt16BE(at + 2) : Number(bytes.readBigUInt64BE(at + 2));
}

/** A ping without content. */
export const pingFrame = Buffer.from([FIN | PING, 0]);

/** The answer to a ping, with its content of at most 125 bytes. */
export const pongFrame = (content: Buffer): Buffer =>
  Buffer.concat([Buffer.from([FIN | PONG, content.length]), content]);

/** A push, encoded and framed once for all receivers. */
export const pushFrame = (name: string, data: unknown): Buffer => textFrame(jsonOf([name, data]));

// Compresses frames by `permessage-deflate` (RFC 7692). No frame refers to an earlier one
// (`server_no_context_takeover`), so each is compressed once, and all receivers who
// negotiated it share its bytes. An answer that is partly its receiver's own is one stream of
// several blocks: the shared block is compressed once, and the others are stored as they are.

/** Smaller texts are sent as they are, in bytes. */
const MIN_DEFLATED_BYTES = 300;

/** How many bytes a block without compression has at most. */
const MAX_STORED = 65_535;

/** Marks a compressed message, in the first byte of a frame. */
const RSV1 = 0x40;

/** The bits of the first byte of a text frame that is a whole message. */
const WHOLE_TEXT = 0x81;

/**
 * The beginning of an empty block. RFC 7692, section 7.2.1, leaves out the rest, which is the
 * same in all messages.
 */
const END = Buffer.from([0]);
const REST = 4;

const compressed = (text: Buffer): Buffer =>
  deflateRawSync(text, { finishFlush: constants.Z_SYNC_FLUSH });

/** The compressed form of each piece and each shared part, for as long as it is in use. */
const pieces = new WeakMap<Buffer, Buffer>();
const blocks = new WeakMap<Buffer, Buffer>();

/**
 * A piece of one or more whole frames, with each text compressed for which that pays.
 * @returns the same buffer each time.
 */
export function deflatedPiece(piece: Buffer): Buffer {
  if (piece.length < MIN_DEFLATED_BYTES) return piece;
  let deflated = pieces.get(piece);
  if (!deflated) {
    deflated = deflateFrames(piece);
    pieces.set(piece, deflated);
    // It may come again, of a connection that held it.
    pieces.set(deflated, deflated);
  }
  return deflated;
}

function deflateFrames(piece: Buffer): Buffer {
  const frames: Buffer[] = [];
  let isSmaller = false;
  for (let at = 0; at < piece.length;) {
    const begin = at + headSizeOf(piece, at);
    const end = begin + sizeIn(piece, at);
    let frame = piece.subarray(at, end);
    if (piece[at] === WHOLE_TEXT && end - begin >= MIN_DEFLATED_BYTES) {
      const text = compressed(piece.subarray(begin, end)).subarray(0, -REST);
      if (text.length < end - begin) {
        frame = Buffer.concat([headOf(text.length), text]);
        isSmaller = true;
      }
    }
    frames.push(frame);
    at = end;
  }
  return isSmaller ? Buffer.concat(frames) : piece;
}

/**
 * The frame of an answer, as {@link frameAround} makes it, with its shared part compressed.
 * @param frame one piece, or the beginning of a frame, its shared part and its end.
 */
export function deflatedAnswer(frame: readonly Buffer[]): readonly Buffer[] {
  const [start, shared, after] = frame;
  if (!shared || shared.length < MIN_DEFLATED_BYTES) return frame;
  let block = blocks.get(shared);
  if (!block) blocks.set(shared, (block = compressed(shared)));
  const before = stored(start!.subarray(headSizeOf(start!, 0)));
  const end = Buffer.concat([stored(after!), END]);
  const head = headOf(before.length + block.length + end.length);
  return [Buffer.concat([head, before]), block, end];
}

/** Bytes in blocks without compression (RFC 1951, section 3.2.4). */
function stored(bytes: Buffer): Buffer {
  const parts: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += MAX_STORED) {
    const part = bytes.subarray(at, at + MAX_STORED);
    const head = Buffer.alloc(5);
    head.writeUInt16LE(part.length, 1);
    head.writeUInt16LE(MAX_STORED - part.length, 3);
    parts.push(head, part);
  }
  return Buffer.concat(parts);
}

/** The head of a compressed text frame. @param size of its content, in bytes. */
function headOf(size: number): Buffer {
  const head = Buffer.alloc(size < 126 ? 2 : size < 65_536 ? 4 : 10);
  head[0] = WHOLE_TEXT | RSV1;
  if (size < 126) head[1] = size;
  else if (size < 65_536) {
    head[1] = 126;
    head.writeUInt16BE(size, 2);
  } else {
    head[1] = 127;
    head.writeBigUInt64BE(BigInt(size), 2);
  }
  return head;
}

/** Frames that are more together are not copied for one socket, in bytes. */
const MAX_COPIED_BYTES = 16 * 1024;

/**
 * Joins the frames that are due to a socket into one piece, as one write costs less
 * than several. Many sockets of a room get the same frames in one pass: these are
 * joined once for all of them.
 */
export class Joiner {
  #last: readonly Buffer[] = [];
  #joined: Buffer | undefined;

  /**
   * @param frames at least two. They must not change any more.
   * @param size how many bytes they have.
   * @returns undefined if joining them costs more than it saves.
   */
  join(frames: readonly Buffer[], size: number): Buffer | undefined {
    const isSame = sameItems(frames, this.#last);
    if (!isSame) {
      this.#last = frames;
      this.#joined = undefined;
    }
    if (!this.#joined && (isSame || size <= MAX_COPIED_BYTES)) {
      this.#joined = Buffer.concat(frames, size);
    }
    return this.#joined;
  }

  /** Keeps nothing in memory. */
  forget(): void {
    this.#last = [];
    this.#joined = undefined;
  }
}

function sameItems(one: readonly Buffer[], other: readonly Buffer[]): boolean {
  if (one.length !== other.length) return false;
  for (let i = 0; i < one.length; i++) if (one[i] !== other[i]) return false;
  return true;
}
