/** Every `Cache-Control` that the server sends. Other answers carry none. */
export const cacheControl = {
  /** What one caller may see: auth/guard.ts sends it once the caller is admitted. */
  private: "private, no-cache",
  /** A stored file never changes under its URL: media/index.ts. */
  forever: "public, max-age=31536000, immutable",
  /** Metrics are old at once: routes/metrics.ts. */
  never: "no-store",
} as const;
