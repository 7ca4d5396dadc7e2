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
  /** Defined not in the RFC itself, but in the registry that section 11.7 established. */
  tryAgainLater: 1013,
} as const;

/** The bit in the first byte that denotes the last fragment of a message (RFC 6455, section 5.2). */
const FIN = 0x80;
const TEXT = 0x1;
const PING = 0x9;
const PONG = 0xa;

/**
 * Encodes text as a complete server frame. Server frames are not masked (RFC 6455, section 5.2).
 * The frame can be written to any number of sockets.
 */
export const textFrame = (text: string): Buffer => startOfFrame(text, Buffer.byteLength(text), 0);

/**
 * Builds a text frame in pieces, to be written one after the other. The shared part is not copied,
 * so any number of frames can contain the same buffer.
 * @param shared text in UTF-8.
 */
export function frameAround(before: string, shared: Buffer, after: string): readonly Buffer[] {
  const end = Buffer.from(after);
  const size = Buffer.byteLength(before);
  return [startOfFrame(before, size, shared.length + end.length), shared, end];
}

/**
 * Builds the header of a frame, and the first part of its text.
 * @param size size of the first part, in bytes.
 * @param rest number of bytes of text that follow.
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

/** Returns the header size of the unmasked frame at a position, in bytes. */
function headSizeOf(bytes: Buffer, at: number): number {
  const length = bytes[at + 1]!;
  return length < 126 ? 2 : length === 126 ? 4 : 10;
}

/** Returns the payload size of the unmasked frame at a position, in bytes. */
function sizeIn(bytes: Buffer, at: number): number {
  const length = bytes[at + 1]!;
  if (length < 126) return length;
  return length === 126 ? bytes.readUInt16BE(at + 2) : Number(bytes.readBigUInt64BE(at + 2));
}

/** A ping without a payload. */
export const pingFrame = Buffer.from([FIN | PING, 0]);

/**
 * Builds the pong for a ping.
 * @param content the ping's payload, at most 125 bytes.
 */
export const pongFrame = (content: Buffer): Buffer =>
  Buffer.concat([Buffer.from([FIN | PONG, content.length]), content]);

/** Encodes and frames a push once for all recipients. */
export const pushFrame = (name: string, data: unknown): Buffer => textFrame(jsonOf([name, data]));

// Compresses frames with `permessage-deflate` (RFC 7692). No frame refers to an earlier frame
// (`server_no_context_takeover`), so each frame is compressed once, and all recipients who
// negotiated compression share the compressed bytes. A response that is partly specific to its
// recipient is one stream of several blocks: the shared block is compressed once, and the other
// blocks are stored uncompressed.

/** Minimum size of text to be compressed, in bytes. */
const MIN_DEFLATED_BYTES = 300;

/** Maximum size of an uncompressed block, in bytes. */
const MAX_STORED = 65_535;

/** The bit in the first byte of a frame that denotes a compressed message. */
const RSV1 = 0x40;

/** The first byte of a text frame that is a whole message. */
const WHOLE_TEXT = 0x81;

/**
 * The first byte of an empty block. The remaining four bytes are the same in all messages, and are
 * omitted (RFC 7692, section 7.2.1).
 */
const END = Buffer.from([0]);
const REST = 4;

const compressed = (text: Buffer): Buffer =>
  deflateRawSync(text, { finishFlush: constants.Z_SYNC_FLUSH });

/** The compressed form of each piece and each shared part, cached as long as the original is in use. */
const pieces = new WeakMap<Buffer, Buffer>();
const blocks = new WeakMap<Buffer, Buffer>();

/**
 * Compresses the text of each frame in a piece, if that makes the frame smaller.
 * @param piece one or more whole frames.
 * @returns the same buffer for the same piece.
 */
export function deflatedPiece(piece: Buffer): Buffer {
  if (piece.length < MIN_DEFLATED_BYTES) return piece;
  let deflated = pieces.get(piece);
  if (!deflated) {
    deflated = deflateFrames(piece);
    pieces.set(piece, deflated);
    // A connection that held the compressed piece may pass it in again.
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
 * Compresses the shared part of a response built by {@link frameAround}.
 * @param frame one piece, or three pieces: the beginning of a frame, its shared part and its end.
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

/** Encodes bytes as uncompressed blocks (RFC 1951, section 3.2.4). */
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

/**
 * Builds the header of a compressed text frame.
 * @param size size of the compressed payload, in bytes.
 */
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

/** Maximum total size of frames that are copied for a single socket, in bytes. */
const MAX_COPIED_BYTES = 16 * 1024;

/**
 * Joins the frames that are due for a socket into one piece, because one write costs less than
 * several writes. Many sockets in a room receive the same frames in one pass: such frames are
 * joined once for all of these sockets.
 */
export class Joiner {
  #last: readonly Buffer[] = [];
  #joined: Buffer | undefined;

  /**
   * @param frames at least two frames. The list must not be modified afterwards.
   * @param size total size of the frames, in bytes.
   * @returns the joined frames, or undefined if joining costs more than it saves.
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

  /** Releases the buffers of the last pass. */
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
