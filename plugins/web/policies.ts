// The pages' security policies: CSP (Content Security Policy, level 3) and Permissions-Policy.

/** CSP directives for every page. */
const NEVER = ["default-src 'none'", "base-uri 'none'", "form-action 'none'"];

const TRUSTED_TYPES = "require-trusted-types-for 'script'";

/** The browser features that a call needs. */
const CALL = ["camera", "display-capture", "microphone"];

/** Browser features that pages do not need, and framed content must not use. */
const UNUSED = ["browsing-topics", "geolocation", "hid", "midi", "payment", "serial", "usb"];

/** The documents that may use the browser features that a call needs. */
export interface CallFeatures {
  /** Whether the page itself may use the features. */
  own: boolean;
  /** Whether every frame on the page may use the features. */
  frames: boolean;
  /** The origins whose frames may use the features, unless every frame may use them. */
  origins: readonly string[];
}

const NO_CALLS: CallFeatures = { own: false, frames: false, origins: [] };

/** Returns a page's permissions policy. */
export function permissionsPolicy({ own, frames, origins }: CallFeatures): string {
  const names = [...(own ? ["self"] : []), ...origins.map((origin) => `"${origin}"`)];
  const allowed = frames ? "*" : `(${names.join(" ")})`;
  return [
    ...CALL.map((feature) => `${feature}=${allowed}`),
    ...UNUSED.map((feature) => `${feature}=()`),
  ].join(", ");
}

/**
 * Returns the headers of a page that runs only its own scripts and connects only to this server and
 * to `calls`.
 * @param ancestors the origins that may show the page in a frame.
 * @param files the origins of uploaded files, in addition to this server.
 * @param calls the origins of the media server for calls.
 */
export function pageHeaders(
  ancestors: readonly string[],
  files: readonly string[],
  calls: readonly string[] = [],
): Record<string, string> {
  return headersOf(ancestors, [
    "script-src 'self'",
    "style-src 'self'",
    sources("img-src 'self' data: blob:", files),
    // `'self'` also covers the websocket.
    sources("connect-src 'self'", calls),
    sources("media-src 'self' blob:", files),
    "font-src 'self'",
    "manifest-src 'self'",
    "frame-src 'self' https: http:",
    TRUSTED_TYPES,
    "trusted-types svelte-trusted-html dompurify foyer-worker",
  ]);
}

/**
 * Returns the player's headers. The player loads streams from anywhere, so it is a separate page in
 * a frame. The surrounding page shows text from users, and keeps its strict policy.
 * @param ancestors the origins that may show the surrounding pages in a frame.
 * @param files the origins of uploaded files, in addition to this server.
 */
export function playerHeaders(
  ancestors: readonly string[],
  files: readonly string[],
): Record<string, string> {
  return headersOf(
    ["'self'", ...ancestors],
    [
      "script-src 'self'",
      "style-src 'self'",
      "font-src 'self'",
      sources("img-src 'self' https: data:", files),
      "connect-src 'self' https: http:",
      "media-src 'self' blob: https: http:",
      TRUSTED_TYPES,
      "trusted-types svelte-trusted-html",
    ],
  );
}

const sources = (rule: string, more: readonly string[]): string => [rule, ...more].join(" ");

function headersOf(ancestors: readonly string[], rules: readonly string[]): Record<string, string> {
  const mayBeFramed = ancestors.length > 0;
  const framing = `frame-ancestors ${mayBeFramed ? ancestors.join(" ") : "'none'"}`;
  return {
    "content-security-policy": [...NEVER, ...rules, framing].join("; "),
    // For browsers that do not support frame-ancestors.
    ...(!mayBeFramed && { "x-frame-options": "DENY" }),
    "cross-origin-opener-policy": "same-origin",
    "permissions-policy": permissionsPolicy(NO_CALLS),
    "referrer-policy": "no-referrer",
    "cache-control": "no-cache",
  };
}
