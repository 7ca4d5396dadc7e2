import { callersOf } from "../event.js";
import { Director } from "../live/director.js";
import { Crowd, frame } from "./crowd.js";
import {
  during,
  type Hall,
  type Kind,
  openHall,
  type Outcome,
  PEOPLE,
  SPEAKERS,
  talk,
} from "./halls.js";
import {
  cost,
  type Group,
  type Halls,
  people,
  room,
  shared,
  toBare,
  type Work,
} from "./works.js";

/** How many people do something for each message. */
const BUSY = Math.ceil(PEOPLE / 10);
const busy = BUSY.toLocaleString("en");

/** How many stop reading. */
const SLOW = Math.ceil(PEOPLE / 50);

/** The least time until so much waits for them that they are dropped, in seconds. */
const UNTIL_DROPPED = 15;

/** The size of a message that soon exceeds the unsent bytes of a client, in bytes. */
const LONG = 500;

/** People talk while some clients do not read. @throws {Error} unless those are dropped. */
async function besideSlow(hall: Hall, seconds: number): Promise<Outcome> {
  const slow = await Crowd.open(hall.server.port, {
    ...{ people: SLOW, speakers: 0, first: PEOPLE, slow: true },
    rooms: hall.rooms,
  });
  try {
    await slow.order("measure");
    await slow.order("stall");
    const outcome = await talkLong(hall, "with slow readers", seconds);
    await slow.order("resume");
    const { closed } = await slow.report("slow readers");
    if (closed < SLOW)
      throw new Error(`${closed} of ${SLOW} slow readers were dropped.`);
    return outcome;
  } finally {
    await slow.leave();
  }
}

function talkLong(hall: Hall, name: string, seconds: number): Promise<Outcome> {
  const messages = 50 * Math.max(UNTIL_DROPPED, 2 * seconds);
  const say = () => hall.crowd.say(messages, 50, LONG);
  return during(hall, name, say, messages);
}

/** The ratio of the p95 of two runs in Foyer. */
const toItself =
  (
    run: (hall: Hall, seconds: number) => Promise<Outcome>,
    reference: (hall: Hall, seconds: number) => Promise<Outcome>,
  ) =>
  async ({ foyer }: Halls, seconds: number, turned: boolean) => {
    const p95: number[] = [];
    for (const at of turned ? [1, 0] : [0, 1]) {
      const outcome = await [run, reference][at]!(foyer!, seconds);
      p95[at] = outcome.delay.p95;
    }
    return p95[0]! / p95[1]!;
  };

const slow: Group = {
  kinds: ["foyer"],
  // So that they are dropped while the bench waits.
  plan: {
    ...{ people: PEOPLE, speakers: SPEAKERS },
    env: { LIVE_MAX_UNSENT: "65536" },
  },
  works: [
    {
      name: `${people} people × 50 a second, ${SLOW} do not read, p95`,
      of: "time from sending to having of the others, to that without slow readers",
      goal: { atMost: 1.2 },
      measure: toItself(besideSlow, (hall, seconds) =>
        talkLong(hall, "without slow readers", seconds),
      ),
    },
  ],
};

const ROOMS = Math.ceil(PEOPLE / 10);

/** With `OTHER`, the folder `dist` of another build, that build is measured, too. */
const others: Kind[] = process.env.OTHER ? ["other"] : [];

/** The works that compare with another build, if there is one. */
const ifOther = (...works: Work[]) => (others.length > 0 ? works : []);

const toOther = `${cost}, to that of another build`;

const roomKinds: Kind[] = ["foyer", "bare", "committing", ...others];

const manyRooms = shared(roomKinds, (hall, kind, seconds) =>
  talk(hall, `${kind}, ${ROOMS} rooms`, ROOMS, 2 * seconds),
);

const rooms: Group = {
  kinds: roomKinds,
  plan: { people: PEOPLE, speakers: ROOMS, rooms: ROOMS, rate: 250 },
  works: [
    manyRooms(
      `${ROOMS.toLocaleString("en")} rooms × 10 people × 1 a second, cost`,
      `${cost}, ${toBare}`,
      { atMost: 1.8 },
      ({ foyer, bare }) => foyer.cost / bare.cost,
    ),
    manyRooms(
      `${ROOMS.toLocaleString("en")} rooms × 10 people × 1 a second, cost to committed`,
      `${cost}, compared with bare ws behind commits to SQLite in groups`,
      { atMost: 1.3 },
      ({ foyer, committing }) => foyer.cost / committing.cost,
    ),
    ...ifOther(
      manyRooms(
        `${ROOMS.toLocaleString("en")} rooms × 10 people × 1 a second, cost to the other`,
        toOther,
        {},
        ({ foyer, other }) => foyer.cost / other.cost,
      ),
    ),
  ],
};

const mark = frame("chat.mark_read", 8, { channel: "{room}", id: "{event}" });

async function marked(hall: Hall, kind: Kind, seconds: number) {
  // The id is a number.
  await hall.crowd.order(`on ${mark.replace('"{event}"', "{event}")}`);
  const outcome = await talk(hall, `${kind}, marks`, 5, 2 * seconds);
  await hall.crowd.order("on");
  return outcome;
}

const unmarkedTalk = (hall: Hall, kind: Kind, seconds: number) =>
  talk(hall, `${kind}, no marks`, 5, 2 * seconds);

const markKinds: Kind[] = ["foyer", "bare", ...others];

const marking = shared(markKinds, marked);

const marks: Group = {
  kinds: markKinds,
  plan: { people: BUSY, speakers: SPEAKERS },
  works: [
    marking(
      `${busy} people × 5 a second, all mark all as read, cost`,
      `${cost}, ${toBare}`,
      { atMost: 2.5 },
      ({ foyer, bare }) => foyer.cost / bare.cost,
    ),
    ...ifOther(
      marking(
        `${busy} people × 5 a second, all mark all as read, cost to the other`,
        toOther,
        {},
        ({ foyer, other }) => foyer.cost / other.cost,
      ),
    ),
    {
      name: `${busy} people × 5 a second, all mark all as read, cost to none`,
      of: `${cost}, to that without marks`,
      goal: { atMost: 2.5 },
      async measure({ foyer }, seconds, turned) {
        const costs: number[] = [];
        for (const at of turned ? [1, 0] : [0, 1]) {
          const run = [marked, unmarkedTalk][at]!;
          costs[at] = (await run(foyer!, "foyer", seconds)).cost;
        }
        return costs[0]! / costs[1]!;
      },
    },
  ],
};

/** Opens a poll, in which each client chooses an option. */
async function openPoll({ server, rooms: [room], crowd }: Hall) {
  const [authorization] = callersOf("bench", { count: 1 });
  const director = await Director.join(
    server.port,
    "/ws/world/bench/",
    authorization!,
  );
  const { poll } = await director.ask<{
    poll: { id: string; options: { id: string }[] };
  }>("poll.create", {
    ...{ room, content: "Lunch?", state: "open" },
    options: ["Soup", "Salad", "Bread"].map((content, order) => ({
      ...{ content, order },
    })),
  });
  director.leave();
  const options = poll.options.map(({ id }) => id);
  await crowd.order(`choices ${options.join(" ")}`);
  return poll.id;
}

/** People talk; all vote and react in each second. */
async function besideVotes(hall: Hall, seconds: number): Promise<Outcome> {
  const id = await openPoll(hall);
  const vote = frame("poll.vote", 9, {
    ...{ room: "{room}", id, options: ["{choice}"] },
  });
  const react = frame("room.react", 10, { room: "{room}", reaction: "👏" });
  const times = 2 * seconds;
  return during(
    hall,
    "with votes",
    async () => {
      const talking = hall.crowd.say(5 * times, 5);
      for (let second = 0; second < times; second++)
        await Promise.all([
          hall.crowd.order(`each 1000 ${vote}`),
          hall.crowd.order(`each 1000 ${react}`),
        ]);
      await talking;
    },
    5 * times,
  );
}

const votes: Group = {
  kinds: ["foyer"],
  plan: { people: BUSY, speakers: SPEAKERS },
  works: [
    {
      name: `${busy} people × 5 a second, all vote and react, p95`,
      of: "time from sending to having, to that without votes and reactions",
      goal: { atMost: 2 },
      measure: toItself(besideVotes, (hall, seconds) =>
        talk(hall, "without votes", 5, 2 * seconds),
      ),
    },
  ],
};

/** In the order of measurement. */
export const groups: Group[] = [room, slow, rooms, marks, votes];

/** How long people talk before anything is measured, in seconds. */
const WARM_UP = 5;

/** Opens the servers of a group, does something with them, and stops them. */
export async function withHalls(
  { kinds, plan }: Group,
  run: (halls: Halls) => Promise<void>,
): Promise<void> {
  const halls: Halls = {};
  try {
    for (const kind of kinds) {
      const hall = (halls[kind] = await openHall(kind, plan));
      // Clients get the users who speak, and code is compiled.
      await talk(hall, `${kind}, before`, plan.speakers / WARM_UP, WARM_UP);
    }
    await run(halls);
  } finally {
    for (const hall of Object.values(halls)) await hall.stop();
  }
}
