import { CALLERS, callersOf, impostorsOf } from "./event.js";
import { type Load, load, type Outcome, type Sent } from "./load.js";
import { besideWrites, oneCommitEach, slowDisk } from "./disks.js";
import { form, LARGE, pdf, rooms, type Scene } from "./scene.js";
import type { Work as WorkOn } from "./rounds.js";
import type { Running } from "./servers.js";

/** A measurement of HTTP. */
export type Work = WorkOn<Scene>;

/** A server and its load. */
type Side = [server: Running, asked: Omit<Load, "seconds">];

const CEILING = "requests a second, compared with bare Fastify";
const WRITERS = CALLERS / 2;

const reads = (requests: Sent[]): Side[1] => ({
  requests,
  connections: CALLERS,
});

/** The same request from many callers. */
const from = (callers: string[], sent: Sent): Sent[] =>
  callers.map((authorization) => ({
    ...sent,
    headers: { ...sent.headers, authorization },
  }));

const callers = callersOf("bench");
const staff = callersOf("bench", { traits: ["backstage"] });
const json = { "content-type": "application/json" };

/** Measures both sides one after the other; `turned` begins with the second. */
async function compare(
  sides: [Side, Side],
  seconds: number,
  turned: boolean,
): Promise<number> {
  const run = ([{ port }, asked]: Side) => load(port, { ...asked, seconds });
  const outcomes: Outcome[] = [];
  for (const at of turned ? [1, 0] : [0, 1])
    outcomes[at] = await run(sides[at]!);
  return outcomes[0]!.rate / outcomes[1]!.rate;
}

function ratio(
  name: string,
  goal: Work["goal"],
  sides: (scene: Scene) => [Side, Side],
  of: string,
): Work {
  return {
    name,
    of,
    goal,
    measure: (scene, seconds, turned) => compare(sides(scene), seconds, turned),
  };
}

/** The same requests to Foyer and to bare Fastify. */
const toCeiling = (
  name: string,
  goal: Work["goal"],
  asked: (scene: Scene) => Side[1],
  of = CEILING,
): Work =>
  ratio(
    name,
    goal,
    (scene) => {
      const whole = asked(scene);
      const { refused: _, ...answered } = whole;
      return [
        [scene.foyer, whole],
        [scene.bare, answered],
      ];
    },
    of,
  );

const roomPath = ({ room }: Scene) => `${rooms}${room.id}/`;

/** Requests that change these rooms, each to another value than before. */
const changes = (paths: string[]): Sent[] =>
  Array.from({ length: 50 }, (_, priority) =>
    paths.map((path, n) => ({
      method: "PATCH",
      path,
      headers: { ...json, authorization: staff[n % CALLERS]! },
      body: JSON.stringify({ sorting_priority: priority }),
    })),
  ).flat();

const draft = JSON.stringify({
  name: "A new room",
  description: "Where people meet.",
  module_config: [{ type: "chat.native", config: { volatile: true } }],
  permission_config: { "room.view": [["attendee", "admin"]] },
  sorting_priority: 1000,
});
const drafts: Sent = {
  method: "POST",
  path: rooms,
  headers: json,
  body: draft,
};

/** The cost in a large world, relative to that in a small one. */
const grown = (name: string, query: string, people = callers): Work =>
  ratio(
    `GET rooms, ${name}`,
    { atMost: 1.25 },
    ({ foyer, large }) => {
      const path = `${rooms}${query}`;
      const first = query.replace(/page=\d+/, "page=1");
      return [
        [foyer, reads(from(people, { path: `${rooms}${first}` }))],
        [large, reads(from(people, { path }))],
      ];
    },
    `cost with ${LARGE.toLocaleString("en")} rooms, to that with 100`,
  );

/** All measurements, in the order of the table. */
export const works: Work[] = [
  toCeiling("GET room", { atLeast: 0.95 }, (scene) =>
    reads(from(callers, { path: roomPath(scene) })),
  ),
  toCeiling("GET world", { atLeast: 0.95 }, () =>
    reads(from(callers, { path: "/api/v1/worlds/bench/" })),
  ),
  toCeiling("GET rooms, 50 a page", { atLeast: 1.5 }, () =>
    reads(from(staff, { path: rooms })),
  ),
  toCeiling("GET room, If-None-Match hit", { atLeast: 1 }, (scene) =>
    reads(
      from(callers, {
        path: roomPath(scene),
        headers: { "if-none-match": "*" },
      }),
    ),
  ),
  toCeiling("401 for a bad token", { atLeast: 0.5 }, (scene) => ({
    ...reads(from(impostorsOf("bench"), { path: roomPath(scene) })),
    refused: true,
  })),
  toCeiling("POST room, durable", { atLeast: 0.6 }, () => ({
    requests: from(callers, drafts),
    connections: WRITERS,
  })),
  toCeiling("PATCH room, durable", { atLeast: 0.6 }, ({ desks }) => ({
    requests: changes(desks.map((id) => `${rooms}${id}/`)),
    connections: WRITERS,
  })),
  {
    name: "PATCH room, disk of 4 ms",
    of: "writes a second, compared with one commit for each",
    goal: { atLeast: 8 },
    async measure(scene, seconds) {
      const disk = await slowDisk(scene);
      const requests = changes(disk.desks.map((id) => `${rooms}${id}/`));
      const { rate } = await load(disk.port, {
        requests,
        connections: WRITERS,
        seconds,
      });
      return rate / (await oneCommitEach(seconds));
    },
  },
  ...(["fast", "slow"] as const).flatMap((disk): Work[] => [
    {
      name: `GET room beside writes, ${disk} disk`,
      of: "requests a second, to those without writes",
      goal: { atLeast: 0.6 },
      async measure(scene, seconds) {
        const { alone, beside } = await besideWrites(scene, disk, seconds);
        return beside.rate / alone.rate;
      },
    },
    {
      name: `GET room beside writes, ${disk} disk, p99`,
      of: "latency, to that without writes",
      goal: { atMost: 3 },
      async measure(scene, seconds) {
        const { alone, beside } = await besideWrites(scene, disk, seconds);
        return beside.p99 / alone.p99;
      },
    },
  ]),
  toCeiling(
    "upload of 1 MiB, PDF",
    { atLeast: 0.8 },
    () => ({
      requests: from(
        Array.from({ length: 8 }, (_, n) => `Client bench-${n}`),
        { method: "POST", path: "/storage/upload/", ...form(pdf(2 ** 20)) },
      ),
      connections: 8,
    }),
    "uploads a second, compared with Fastify with multipart, to a file with fsync",
  ),
  ratio(
    "GET media, 64 KiB",
    { atLeast: 0.9 },
    ({ foyer, bare, media }) => [
      [foyer, reads([{ path: media.foyer }])],
      [bare, reads([{ path: media.bare }])],
    ],
    "requests a second, compared with bare @fastify/static",
  ),
  grown("50 a page", "?page=1"),
  grown("page 1,000", "?page=1000&page_size=50"),
  grown("of a type", "?type=livestream.native"),
  grown("by search", "?search=PEOPLE"),
  grown("page 1,000, all seen", "?page=1000&page_size=50", staff),
  ratio(
    "GET world, 10,000 worlds",
    { atMost: 1.1 },
    ({ foyer, many }) => [
      [foyer, reads(from(callers, { path: "/api/v1/worlds/bench/" }))],
      [
        many,
        reads(
          Array.from({ length: CALLERS }, (_, n) => {
            const id = `world-${n * 150}`;
            const [authorization] = callersOf(id, { count: 1 });
            return {
              path: `/api/v1/worlds/${id}/`,
              headers: { authorization: authorization! },
            };
          }),
        ),
      ],
    ],
    "cost in 64 worlds of 10,000, to that in one",
  ),
];
