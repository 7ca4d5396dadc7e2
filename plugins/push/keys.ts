import { createECDH } from "node:crypto";
import type { PushKey } from "../../db/contract/push.js";

/** A fresh key on the curve P-256 (RFC 8292, section 2). */
export function freshKey(): PushKey {
  const curve = createECDH("prime256v1");
  curve.generateKeys();
  return {
    publicKey: curve.getPublicKey("base64url"),
    // A number with leading zeros is shorter.
    privateKey: Buffer.from(
      curve.getPrivateKey("hex").padStart(64, "0"),
      "hex",
    ).toString("base64url"),
  };
}
