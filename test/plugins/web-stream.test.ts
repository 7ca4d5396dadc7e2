import t from "tap";
import { playlistAt } from "../../plugins/web/stream.js";
import { serve } from "../helper.js";

const numberOf = (playlist: string, tag: string): number =>
  Number(new RegExp(`^#${tag}:(\\d+)$`, "m").exec(playlist)![1]);

/** The segments that a playlist lists, each by its number, with what a player knows of it. */
function segmentsOf(playlist: string) {
  let number = numberOf(playlist, "EXT-X-MEDIA-SEQUENCE");
  let discontinuity = numberOf(playlist, "EXT-X-DISCONTINUITY-SEQUENCE");
  const segments = new Map<number, object>();
  let date = "";
  for (const line of playlist.split("\n")) {
    if (line === "#EXT-X-DISCONTINUITY") discontinuity++;
    const [, value] = /^#EXT-X-PROGRAM-DATE-TIME:(.*)$/.exec(line) ?? [];
    if (value !== undefined) date = value;
    if (line.startsWith("#") || line === "") continue;
    segments.set(number++, { uri: line, discontinuity, date });
  }
  return segments;
}

void t.test("the window of the stream moves with the clock", async (t) => {
  const start = Date.UTC(2027, 0, 1, 12, 0, 1);
  const known = new Map<number, object>();
  let before = 0;
  for (let second = 0; second < 60; second++) {
    const now = start + second * 1000;
    const playlist = playlistAt(now);
    const segments = segmentsOf(playlist);
    t.equal(segments.size, 6);
    for (const [number, segment] of segments) {
      t.same(known.get(number) ?? segment, segment, `${number} stays as it is`);
      known.set(number, segment);
      const { uri, date } = segment as { uri: string; date: string };
      t.equal(uri, `${number % 6}.m4s`);
      t.ok(Date.parse(date) + 4000 <= now, "it has ended");
    }
    const last = [...segments.keys()].at(-1)!;
    t.ok(last - before <= 1 || before === 0, "none is left out");
    before = last;
  }
  const discontinuities = [...known.values()].map(
    (segment) => (segment as { discontinuity: number }).discontinuity,
  );
  for (const [i, number] of [...known.keys()].entries()) {
    if (i === 0) continue;
    const step = discontinuities[i]! - discontinuities[i - 1]!;
    t.equal(step, number % 6 === 0 ? 1 : 0, "each loop starts over");
  }
});

void t.test("what the server sends of it", async (t) => {
  const { app, call } = await serve(t);
  const playlist = await call({ url: "/demo/stream.m3u8" });
  t.match(playlist, {
    status: 200,
    headers: {
      "content-type": "application/vnd.apple.mpegurl",
      "cache-control": "public, max-age=1",
    },
  });
  const names = playlist.text.match(/^\d\.m4s$|(?<=URI=")[^"]+/gm)!;
  t.equal(new Set(names).size, 7);
  let size = 0;
  for (const name of names) {
    const { statusCode, headers, rawPayload } = await app.inject(
      `/demo/${name}`,
    );
    t.equal(statusCode, 200, name);
    t.match(headers, {
      "content-type": "video/mp4",
      "access-control-allow-origin": "*",
      "cache-control": "public, max-age=86400",
    });
    t.match(rawPayload.subarray(4, 8).toString(), /ftyp|styp|moof/, name);
    size += rawPayload.length;
  }
  t.ok(size < 700_000, `${size} bytes`);
  for (const name of ["", "7.m4s", "../package.json", "%2e%2e/package.json"]) {
    const { status } = await call({ url: `/demo/${name}` });
    t.ok([403, 404].includes(status), `${name} ${status}`);
  }
  const off = await serve(t, undefined, {
    config: { web: { on: false, embedOrigins: [] } },
  });
  const url = "/demo/stream.m3u8";
  t.equal((await off.call({ url })).status, 404);
});
