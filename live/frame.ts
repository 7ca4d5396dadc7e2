/** The bit of the first byte for the last fragment of a message (RFC 6455, section 5.2). */
const FIN = 0x80;
const TEXT = 0x1;
const PING = 0x9;
const PONG = 0xa;

/**
 * A text as the whole frame of a server, which is not masked (RFC 6455, section
 * 5.2). A frame that was made once can be written to any number of sockets.
 */
export function textFrame(text: string): Buffer {
  const size = Buffer.byteLength(text);
  const head = size < 126 ? 2 : size < 65_536 ? 4 : 10;
  const frame = Buffer.allocUnsafe(head + size);
  frame[0] = FIN | TEXT;
  if (head === 2) frame[1] = size;
  else if (head === 4) {
    frame[1] = 126;
    frame.writeUInt16BE(size, 2);
  } else {
    frame[1] = 127;
    frame.writeBigUInt64BE(BigInt(size), 2);
  }
  frame.write(text, head);
  return frame;
}

/** A ping without content. */
export const pingFrame = Buffer.from([FIN | PING, 0]);

/** The answer to a ping, with its content of at most 125 bytes. */
export const pongFrame = (content: Buffer): Buffer =>
  Buffer.concat([Buffer.from([FIN | PONG, content.length]), content]);

/** A push, encoded and framed once for all who get it. */
export const pushFrame = (name: string, data: unknown): Buffer =>
  textFrame(JSON.stringify([name, data]));
