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
export const textFrame = (text: string): Buffer =>
  startOfFrame(text, Buffer.byteLength(text), 0);

/**
 * A text frame in pieces, to be written one after the other. The shared part is not
 * copied, so any number of frames can contain the same buffer.
 * @param shared UTF-8.
 */
export function frameAround(
  before: string,
  shared: Buffer,
  after: string,
): readonly Buffer[] {
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
export function headSizeOf(bytes: Buffer, at: number): number {
  const length = bytes[at + 1]!;
  return length < 126 ? 2 : length === 126 ? 4 : 10;
}

/** How many bytes the content of a frame has, which begins at a position. */
export function sizeIn(bytes: Buffer, at: number): number {
  const length = bytes[at + 1]!;
  if (length < 126) return length;
  return length === 126
    ? bytes.readUInt16BE(at + 2)
    : Number(bytes.readBigUInt64BE(at + 2));
}

/** A ping without content. */
export const pingFrame = Buffer.from([FIN | PING, 0]);

/** The answer to a ping, with its content of at most 125 bytes. */
export const pongFrame = (content: Buffer): Buffer =>
  Buffer.concat([Buffer.from([FIN | PONG, content.length]), content]);

/** A push, encoded and framed once for all receivers. */
export const pushFrame = (name: string, data: unknown): Buffer =>
  textFrame(jsonOf([name, data]));
