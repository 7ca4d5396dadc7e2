/**
 * Every `Cache-Control` that this code sends; other answers carry none, but for the
 * files of /docs/, where @fastify/static adds its own.
 */
export const cacheControl = {
  /** What one caller may see: auth/guard.ts sends it once the caller is admitted. */
  private: "private, no-cache",
  /** A stored file never changes under its URL: media/index.ts. */
  forever: "public, max-age=31536000, immutable",
  /** Metrics are old at once: routes/metrics.ts. */
  never: "no-store",
} as const;
