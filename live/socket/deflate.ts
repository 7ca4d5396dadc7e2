import { constants, deflateRawSync } from "node:zlib";
import { headSizeOf, sizeIn } from "./frame.js";

// Compresses frames by `permessage-deflate` (RFC 7692). No frame refers to an earlier one
// (`server_no_context_takeover`), so each is compressed once, and all receivers who
// negotiated it share its bytes. An answer that is partly its receiver's own is one stream of
// several blocks: the shared block is compressed once, and the others are stored as they are.

/** Smaller texts are sent as they are, in bytes. */
const LEAST = 300;

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
  if (piece.length < LEAST) return piece;
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
    if (piece[at] === WHOLE_TEXT && end - begin >= LEAST) {
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
  if (!shared || shared.length < LEAST) return frame;
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
