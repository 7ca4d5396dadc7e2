/**
 * A public key with which a person signs in (WebAuthn). The private key never leaves the person's
 * device.
 */
export interface StoredPasskey {
  /** The id of the credential, in base64url. */
  readonly id: string;
  /** The id of the user. */
  readonly user: string;
  /** The name that its owner gave it. */
  readonly name: string;
  /** The public key in COSE format, in base64url. */
  readonly publicKey: string;
  /** The number of signatures, or 0 if the authenticator does not count. */
  readonly counter: number;
  /** The host whose pages may use the passkey: its RP ID. */
  readonly host: string;
  /** How a browser reaches the authenticator, as the authenticator reported it. */
  readonly transports: readonly string[];
  /**
   * What proved the identity of the person who added the passkey: an invitation with the serial of
   * its sessions, `guest`, or a digest of the key that verified the person's token. The passkey is
   * valid as long as this proof is.
   */
  readonly proof: string;
  /** In milliseconds since 1970, as is `used`. */
  readonly created: number;
  /** The last sign-in, or null before the first. */
  readonly used: number | null;
}

/** A use of a passkey: the authenticator's response to a challenge. */
export interface PasskeyUse {
  readonly id: string;
  /** The challenge that the authenticator signed. */
  readonly challenge: string;
  /** The number of signatures, as the authenticator reported it. */
  readonly counter: number;
  /** In milliseconds since 1970. */
  readonly at: number;
}

/** Maximum number of passkeys per user. */
export const MAX_PASSKEYS = 10;

/** Time within which a person must respond to a challenge, in milliseconds. */
export const CHALLENGE_MS = 5 * 60_000;
