import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto";

// A software WebAuthn authenticator (https://www.w3.org/TR/webauthn-3/) for tests without a
// browser. Tests can manipulate its responses.

/** Encodes the few CBOR types (RFC 8949) that an authenticator sends. */
function cbor(value: unknown): Buffer {
  const head = (major: number, n: number) =>
    n < 24
      ? Buffer.from([(major << 5) | n])
      : n < 256
        ? Buffer.from([(major << 5) | 24, n])
        : Buffer.from([(major << 5) | 25, n >> 8, n & 255]);
  if (typeof value === "number") return value < 0 ? head(1, -1 - value) : head(0, value);
  if (typeof value === "string") return Buffer.concat([head(3, value.length), Buffer.from(value)]);
  if (Buffer.isBuffer(value)) return Buffer.concat([head(2, value.length), value]);
  const entries = [...(value as Map<unknown, unknown>)];
  return Buffer.concat([head(5, entries.length), ...entries.flat().map(cbor)]);
}

const sha256 = (data: string | Buffer) => createHash("sha256").update(data).digest();
const text = (data: Buffer | string) => Buffer.from(data).toString("base64url");

/** The flags of authenticator data: user present, user verified, includes a credential. */
const UP = 1;
const UV = 4;
const AT = 64;

/** The manipulations of an otherwise correct response. */
export interface Bend {
  origin?: string;
  host?: string;
  challenge?: string;
  counter?: number;
  type?: string;
  isVerified?: boolean;
  userHandle?: string | undefined;
  id?: string;
  signature?: Buffer;
}

interface CreationOptions {
  challenge: string;
  rp: { id: string };
  user: { id: string };
}

interface RequestOptions {
  challenge: string;
  rpId: string;
}

/** A passkey on a device. */
export class SoftKey {
  readonly id = text(randomBytes(16));
  counter = 0;
  userHandle = "";
  readonly #publicKey: KeyObject;
  readonly #privateKey: KeyObject;

  /** @param origin the origin of the page that uses it. */
  constructor(readonly origin: string) {
    const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    this.#publicKey = publicKey;
    this.#privateKey = privateKey;
  }

  /** Answers `navigator.credentials.create()`. */
  create(options: unknown, bend: Bend = {}) {
    const { challenge, rp, user } = options as CreationOptions;
    this.userHandle = user.id;
    const { x, y } = this.#publicKey.export({ format: "jwk" });
    const point = (value = "") => Buffer.from(value, "base64url");
    const cose = cbor(
      new Map<number, unknown>([
        [1, 2],
        [3, -7],
        [-1, 1],
        [-2, point(x)],
        [-3, point(y)],
      ]),
    );
    const id = Buffer.from(this.id, "base64url");
    const length = Buffer.from([0, id.length]);
    const authData = Buffer.concat([
      this.#data(bend.host ?? rp.id, AT, bend),
      Buffer.alloc(16),
      length,
      id,
      cose,
    ]);
    const attestation = new Map<string, unknown>([
      ["fmt", "none"],
      ["attStmt", new Map()],
      ["authData", authData],
    ]);
    return this.#credential(bend, {
      clientDataJSON: text(this.#clientData("webauthn.create", challenge, bend)),
      attestationObject: text(cbor(attestation)),
      transports: ["internal", "made up"],
    });
  }

  /** Answers `navigator.credentials.get()`. */
  get(options: unknown, bend: Bend = {}) {
    const { challenge, rpId } = options as RequestOptions;
    this.counter++;
    const authData = this.#data(bend.host ?? rpId, 0, bend);
    const clientData = this.#clientData("webauthn.get", challenge, bend);
    const signed = Buffer.concat([authData, sha256(clientData)]);
    return this.#credential(bend, {
      clientDataJSON: text(clientData),
      authenticatorData: text(authData),
      signature: text(bend.signature ?? sign("sha256", signed, this.#privateKey)),
      userHandle: "userHandle" in bend ? bend.userHandle : this.userHandle,
    });
  }

  #credential({ id = this.id }: Bend, response: object) {
    return { id, rawId: id, type: "public-key", clientExtensionResults: {}, response };
  }

  #data(host: string, more: number, { isVerified = true, counter = this.counter }: Bend): Buffer {
    const count = Buffer.alloc(4);
    count.writeUInt32BE(counter);
    return Buffer.concat([sha256(host), Buffer.from([UP | (isVerified ? UV : 0) | more]), count]);
  }

  #clientData(type: string, challenge: string, bend: Bend): Buffer {
    const { origin = this.origin } = bend;
    const data = { type: bend.type ?? type, challenge: bend.challenge ?? challenge, origin };
    return Buffer.from(JSON.stringify({ ...data, crossOrigin: false }));
  }
}
