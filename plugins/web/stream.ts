import fp from "fastify-plugin";
import { SEGMENTS } from "../places.js";
import { BuiltFiles, sendCoded } from "../replies.js";

// The demo world's live stream.

/** Number of segments. */
const LOOP = 6;

/** Duration of a segment, in seconds. */
const LENGTH = 4;

/** Number of segments in a playlist. Players start three segments before the end. */
const WINDOW = 6;

/**
 * Returns the playlist of a stream that has been looping since 1970 (RFC 8216). The playlist
 * depends only on the clock, so all processes serve the same playlist.
 * @param now in milliseconds since 1970.
 */
export function playlistAt(now: number): string {
  // The last segment that has already ended.
  const last = Math.floor(now / (LENGTH * 1000)) - 1;
  const first = last - WINDOW + 1;
  const lines = [
    "#EXTM3U",
    "#EXT-X-VERSION:7",
    "#EXT-X-INDEPENDENT-SEGMENTS",
    `#EXT-X-TARGETDURATION:${LENGTH}`,
    `#EXT-X-MEDIA-SEQUENCE:${first}`,
    // Number of loops that began before the first listed segment.
    `#EXT-X-DISCONTINUITY-SEQUENCE:${Math.floor((first - 1) / LOOP)}`,
    '#EXT-X-MAP:URI="init.mp4"',
  ];
  for (let number = first; number <= last; number++) {
    const part = number % LOOP;
    if (part === 0) lines.push("#EXT-X-DISCONTINUITY");
    const date = new Date(number * LENGTH * 1000).toISOString();
    lines.push(`#EXT-X-PROGRAM-DATE-TIME:${date}`, `#EXTINF:${LENGTH.toFixed(3)},`, `${part}.m4s`);
  }
  return `${lines.join("\n")}\n`;
}

/** The stream is public, so pages of any origin may play it, regardless of `CORS_ORIGIN`. */
const FOR_ALL = { "access-control-allow-origin": "*" };

const SEGMENT = /^\w+\.(mp4|m4s)$/;

/** Serves the stream at `/demo/stream.m3u8`. */
export default fp(
  async (app) => {
    app.get("/demo/stream.m3u8", { config: { requires: "public" } }, async (_request, reply) =>
      reply
        .headers(FOR_ALL)
        .header("cache-control", "public, max-age=1")
        .type("application/vnd.apple.mpegurl")
        .send(playlistAt(Date.now())),
    );
    const segments = new BuiltFiles(SEGMENTS);
    app.get<{ Params: { name: string } }>(
      "/demo/:name",
      { config: { requires: "public" } },
      async ({ params: { name } }, reply) => {
        const file = SEGMENT.test(name) && (await segments.find(name));
        if (!file) return reply.callNotFound();
        // Not immutable: a new version of Foyer may ship another stream.
        return sendCoded(reply.headers(FOR_ALL), file, "public, max-age=86400");
      },
    );
  },
  { name: "demo-stream", dependencies: ["errors"] },
);
