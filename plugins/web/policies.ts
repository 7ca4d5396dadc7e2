// The policies of the pages (Content Security Policy, level 3).

/** Refused to every page. */
const NEVER = ["default-src 'none'", "base-uri 'none'", "form-action 'none'"];

const TRUSTED_TYPES = "require-trusted-types-for 'script'";

/** What a call uses. */
const CALL = ["camera", "display-capture", "microphone"];

/** Browser features that pages do not need, and framed content must not use. */
const UNUSED = ["browsing-topics", "geolocation", "hid", "midi", "payment", "serial", "usb"];

/** @param hasCalls whether a frame that the page names may use what a call needs. */
const permissions = (hasCalls: boolean): string =>
  [
    ...CALL.map((feature) => `${feature}=${hasCalls ? "*" : "()"}`),
    ...UNUSED.map((feature) => `${feature}=()`),
  ].join(", ");

/** In place of the policy of other pages, where a room frames a call. */
export const CALLS = { "permissions-policy": permissions(true) };

/**
 * The headers of a page that runs its own scripts and talks to this server only.
 * @param ancestors the origins whose pages may show it in a frame.
 * @param files the origins of uploaded files, besides this server.
 */
export function pageHeaders(
  ancestors: readonly string[],
  files: readonly string[],
): Record<string, string> {
  return headersOf(ancestors, [
    "script-src 'self'",
    "style-src 'self'",
    sources("img-src 'self' data: blob:", files),
    // It covers the websocket, too.
    "connect-src 'self'",
    sources("media-src 'self' blob:", files),
    "font-src 'self'",
    "manifest-src 'self'",
    "frame-src 'self' https: http:",
    TRUSTED_TYPES,
    "trusted-types svelte-trusted-html dompurify foyer-worker",
  ]);
}

/**
 * The headers of the player. It loads streams from anywhere, so it is a page of its own,
 * in a frame. The page around it shows user texts and keeps its strict policy.
 * @param ancestors the origins that may show the pages around it in a frame.
 * @param files the origins of uploaded files, besides this server.
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
    // For browsers that do not know frame-ancestors.
    ...(!mayBeFramed && { "x-frame-options": "DENY" }),
    "cross-origin-opener-policy": "same-origin",
    "permissions-policy": permissions(false),
    "referrer-policy": "no-referrer",
    "cache-control": "no-cache",
  };
}
