import { ECDH } from "node:crypto";

/** A point of the curve P-256 begins with this byte, if it is not compressed. */
const POINT = 4;

/** Whether these are a point of the curve P-256: nothing can be encrypted for another one. */
export function isPoint(bytes: Buffer): boolean {
  try {
    ECDH.convertKey(bytes, "prime256v1");
    return bytes[0] === POINT;
  } catch {
    return false;
  }
}
