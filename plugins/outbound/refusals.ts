/**
 * Why a request got no answer. `address_not_allowed`: it would have gone where no request may
 * go. `not_found`: its name has no address. `timeout`, `too_large`: the answer took too long, or has
 * too many bytes. `unreachable`: the connection failed. `tls`: the certificate is not
 * one of that name.
 */
export type OutboundProblem =
  "address_not_allowed" | "not_found" | "timeout" | "too_large" | "unreachable" | "tls";

const SENTENCES: Record<OutboundProblem, string> = {
  address_not_allowed: "The address is not public.",
  not_found: "The host name has no address.",
  timeout: "The answer took too long.",
  too_large: "The answer is too large.",
  unreachable: "The connection failed.",
  tls: "The certificate of the server is not valid.",
};

/** A request got no answer. */
export class OutboundError extends Error {
  constructor(
    readonly code: OutboundProblem,
    cause?: unknown,
  ) {
    super(SENTENCES[code], { cause });
  }
}

/** Node's codes for a name without an address. */
const NO_NAME = new Set(["ENOTFOUND", "ENODATA", "EAI_AGAIN", "ESERVFAIL"]);

/** OpenSSL's and Node's codes for certificates. */
const TLS = /^(CERT_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|ERR_TLS|ERR_SSL|EPROTO)/;

/**
 * The refusal behind an error of a library.
 * @param signal the one that ends the request when its time is over.
 */
export function outboundErrorOf(error: unknown, signal: AbortSignal): OutboundError {
  // Happy Eyeballs reports one error for each address.
  const first: unknown = error instanceof AggregateError ? error.errors[0] : error;
  for (let it = first; it instanceof Error; it = it.cause) {
    if (it instanceof OutboundError) return it;
    const code = String((it as NodeJS.ErrnoException).code);
    if (NO_NAME.has(code)) return new OutboundError("not_found", error);
    if (TLS.test(code)) return new OutboundError("tls", error);
    if (code.endsWith("_TIMEOUT")) return new OutboundError("timeout", error);
  }
  return new OutboundError(signal.aborted ? "timeout" : "unreachable", error);
}
