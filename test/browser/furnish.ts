import sharp from "sharp";
import { type Commands, Foyer, type Live, type SentPoll } from "../../client/index.js";
import { allModules, type World } from "./kit.js";

/** The ids from a furnished world that the tour needs. */
export interface Furnished {
  stage: string;
  hallway: string;
  session: string;
  call: string;
  /** A room with a poll of each kind. */
  quiz: string;
  /** A room whose chat is slow, and in which messages wait. */
  round: string;
}

/** The rooms of a furnished world, in display order. */
export const roomNames = {
  stage: "Main stage",
  hallway: "Hallway",
  program: "Handbook",
  partners: "Partners",
  video: "Recap",
  odd: "Workshop",
  call: "Coffee table",
  talk: "Round table",
  quiz: "Quiz corner",
} as const;

/** Settings of a media server that never answers: calls show all but their inside. */
export const silentEngine = {
  LIVEKIT_URL: "ws://127.0.0.1:9",
  LIVEKIT_API_KEY: "key",
  LIVEKIT_API_SECRET: "secret".repeat(6),
};

export const host = { uid: "host", name: "Hanna Host", traits: ["admin", "api"] };
export const me = { uid: "me", name: "Mara Lindqvist" };
const others = [
  { uid: "ada", name: "Ada Okafor" },
  { uid: "ben", name: "Ben Sørensen" },
  { uid: "chloe", name: "Chloé Martin" },
  { uid: "dev", name: "Dev Patel" },
];

const program = `## Thursday

| Time | Session |
| --- | --- |
| 9:30 | **Welcome**, Main stage |
| 10:00 | *Maps that age well*, Main stage |
| 11:15 | Coffee, [Hallway](https://example.org/hallway) |

- Doors open at 9.
- Bring a laptop for the workshop.
`;

/**
 * Fills a world with the content of a typical event on its first morning: rooms, a conversation,
 * questions and polls in every state, a direct message, an announcement, a program.
 */
export async function furnish(world: World): Promise<Furnished> {
  const stage = await world.room(roomNames.stage, allModules, {
    description: "Talks and *keynotes*.",
    sorting_priority: 1,
  });
  const chat = [{ type: "chat.native", config: { volatile: false } }];
  const hallway = await world.room(roomNames.hallway, chat, {
    description: "Meet the others.",
    sorting_priority: 2,
  });
  const page = { type: "page.markdown", config: { content: program } };
  await world.room(roomNames.program, [page], { sorting_priority: 3 });
  const frame = {
    type: "page.iframe",
    config: { url: `${world.baseUrl}/web/icon.svg` },
  };
  await world.room(roomNames.partners, [frame], { sorting_priority: 4 });
  const video = { type: "livestream.youtube", config: { ytid: "aqz-KE-bpKQ" } };
  await world.room(roomNames.video, [video, ...chat], { sorting_priority: 5 });
  await world.room(roomNames.odd, [{ type: "call.other" }], { sorting_priority: 6 });
  const call = await world.room(
    roomNames.call,
    [{ type: "call.native", config: { limit: 12 } }, ...chat],
    { sorting_priority: 7 },
  );
  const talk = { type: "call.native", config: { mode: "stage" } };
  const slow = { type: "chat.native", config: { volatile: false, hold: true, slow_mode: 30 } };
  const round = await world.room(roomNames.talk, [talk, slow], { sorting_priority: 8 });

  const polls = [{ type: "poll", config: { active: true } }];
  const quiz = await world.room(roomNames.quiz, polls, { sorting_priority: 9 });

  const people = await Promise.all(
    [host, me, ...others].map(async (bearer) => {
      const live = await world.live(bearer);
      await live.call("chat.join", { channel: hallway });
      await live.call("chat.join", { channel: stage });
      return live;
    }),
  );
  const [boss, myself, ada, ben, chloe, dev] = people as [
    Live,
    Live,
    Live,
    Live,
    Live,
    Live, // prettier-ignore
  ];
  await picture(world, ada, "ada", "#c2410c");
  await picture(world, chloe, "chloe", "#0f766e");

  const first = await say(ada, hallway, "Good morning! Who is here for the first time?");
  await say(ben, hallway, "Me. Is there a list of the **talks** somewhere?");
  await say(ada, hallway, "Yes, in the program. The map talk at 10 is the one to see.");
  await react(ben, hallway, first, "👋");
  await react(dev, hallway, first, "👋");
  await react(chloe, hallway, first, "❤️");
  const url = await upload(world, "chloe", "#94a3b8", 640, 360);
  await chloe.call("chat.send", {
    channel: hallway,
    event_type: "channel.message",
    content: {
      type: "files",
      files: [{ url, name: "view-from-the-stage.png", mimeType: "image/png" }],
      body: "The view from the stage.",
    },
  });
  const typo = await say(dev, hallway, "See you at teh coffee stand.");
  for (const [live, reason] of [
    [ada, "spam"],
    [chloe, "other"],
  ] as const) {
    await live.call("chat.report", { channel: hallway, event: typo, reason });
  }
  await dev.call("chat.send", {
    channel: hallway,
    event_type: "channel.message",
    content: { type: "text", body: "See you at the coffee stand." },
    replaces: typo,
  });
  await say(myself, hallway, "On my way! Details: https://example.org/coffee");
  for (const text of [
    "Welcome, everybody. We start in ten minutes.",
    "Questions go into the tab beside the chat.",
  ]) {
    await say(boss, stage, text);
  }
  await say(ben, stage, "Sound is good at the back. 👍");

  for (const live of people) await live.call("room.enter", { room: stage });
  const ask = async (live: Live, content: string, changes: object = {}) => {
    const { question } = await live.call("question.ask", { room: stage, content });
    const { id } = question;
    await boss.call("question.update", { room: stage, id, ...changes });
    return id;
  };
  const visible = { state: "visible" };
  const top = await ask(ben, "How do you keep old maps readable?", visible);
  await ask(dev, "Will the slides be online?", { ...visible, answered: true });
  await ask(chloe, "Which projection do you recommend for the far north?");
  for (const live of [ada, dev, chloe]) {
    await live.call("question.vote", { room: stage, id: top, vote: true });
  }
  await boss.call("question.pin", { room: stage, id: top });

  const poll = async (content: string, options: string[], state: string) => {
    const { poll } = await boss.call("poll.create", {
      room: stage,
      content,
      state: state as "open",
      options: options.map((text, at) => ({ content: text, order: at + 1 })),
    });
    return poll;
  };
  const votes = async (
    { id, options }: Awaited<ReturnType<typeof poll>>,
    ...places: [Live, number][]
  ) => {
    for (const [live, place] of places) {
      const chosen = [options[place]!.id];
      await live.call("poll.vote", { room: stage, id, options: chosen });
    }
  };
  const lunch = await poll("What is for lunch?", ["Soup", "Noodles", "Salad"], "open");
  await votes(lunch, [ada, 0], [ben, 1], [chloe, 1], [dev, 2]);
  const before = await poll("Have you been here before?", ["Yes", "No"], "open");
  await votes(before, [ada, 0], [ben, 1], [chloe, 0], [dev, 0], [myself, 1]);
  await boss.call("poll.update", { room: stage, id: before.id, state: "closed" });
  await boss.call("poll.pin", { room: stage, id: lunch.id });
  await poll("Where shall we meet next year?", ["Lisbon", "Oslo"], "draft");

  await pollOfEachKind(quiz, people);

  const { id: direct } = await ada.call("chat.direct.create", {
    users: [myself.state!.user.id],
    hide: false,
  });
  await say(ada, direct, "Shall we sit together at lunch?");
  await say(myself, direct, "Gladly.");
  const question = { type: "text", body: "When does the round table begin?" };
  for (const live of [myself, dev]) {
    await live.call("chat.join", { channel: round });
    const message = { channel: round, event_type: "channel.message", content: question };
    await live.call("chat.send", message);
  }
  await ben.call("user.report", {
    user: dev.state!.user.id,
    reason: "privacy",
    text: "His picture shows me.",
  });
  await myself.call("user.block", { id: dev.state!.user.id });
  await boss.call("announcement.create", {
    text: "The workshop moves to room 2.",
    state: "active",
  });
  for (const live of people) live.close();
  return { quiz, stage, hallway, session: await schedule(world), call, round };
}

/**
 * Adds a program to a furnished world. Its date is fixed and in the future, so the pages always
 * show it the same.
 * @returns the id of the session with the most content.
 */
async function schedule({ api }: World): Promise<string> {
  const { results } = await api.listRooms();
  const room_id = results.find(({ name }) => name === roomNames.odd)!.id;
  const [ada, chloe] = await Promise.all(
    [
      { name: "Ada Okafor", organization: "Open Maps, Lagos" },
      { name: "Chloé Martin", organization: "Grand Format, Lyon" },
    ].map((speaker) => api.createSpeaker(speaker)),
  );
  const at = (time: string) => `2027-05-20T${time}:00Z`;
  const add = (title: string, start: string, end: string, more: object) =>
    api.createSession({ title, starts_at: at(start), ends_at: at(end), room_id, ...more });
  await add("Welcome", "09:30", "10:00", { track: "Plenary" });
  const { id } = await add("Maps that age well", "10:00", "10:45", {
    track: "Craft",
    speaker_ids: [ada!.id, chloe!.id],
    description:
      "Paper yellows, ink fades, and borders move. **What still helps** after 200 years?",
  });
  await add("Coffee", "11:15", "11:45", {});
  await add("Printing large sheets", "11:45", "12:30", {
    track: "Craft",
    speaker_ids: [chloe!.id],
    state: "draft",
  });
  return id;
}

/**
 * Sends a message.
 * @returns its id.
 */
export async function say(live: Live, channel: string, body: string): Promise<number> {
  const { event } = await live.call("chat.send", {
    channel,
    event_type: "channel.message",
    content: { type: "text", body },
  });
  return event!.event_id;
}

const react = (live: Live, channel: string, event: number, reaction: string) =>
  live.call("chat.react", { channel, event, reaction });

/** Renders a PNG of hills under a sky of the given color. */
export const pictureOf = (color: string, width = 96, height = 96): Promise<Buffer> =>
  sharp(
    Buffer.from(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 100 100"
      width="${width}" height="${height}" preserveAspectRatio="none">
      <linearGradient id="sky" x2="0" y2="1">
        <stop stop-color="${color}"/><stop offset="1" stop-color="#fde68a"/>
      </linearGradient>
      <path d="M0 0h100v100H0z" fill="url(#sky)"/>
      <circle cx="70" cy="36" r="11" fill="#fff" opacity=".85"/>
      <path d="M0 74Q26 48 54 70T100 62V100H0z" fill="#0f172a" opacity=".45"/>
      <path d="M0 86Q34 66 62 82T100 78V100H0z" fill="#0f172a" opacity=".7"/>
    </svg>`),
  )
    .png()
    .toBuffer();

/** Creates polls of all kinds, with votes of all people. The first one manages them. */
async function pollOfEachKind(room: string, people: readonly Live[]) {
  const [boss, , ada, ben, chloe] = people as [Live, Live, Live, Live, Live];
  for (const live of people) await live.call("room.enter", { room });
  type Draft = Commands["poll.create"]["payload"];
  const create = async (poll_type: Draft["poll_type"], content: string, more?: Partial<Draft>) => {
    const draft = { room, content, poll_type, state: "open", ...more } as Draft;
    return (await boss.call("poll.create", draft)).poll;
  };
  const vote = ({ id }: SentPoll, live: Live, ballot: Partial<Commands["poll.vote"]["payload"]>) =>
    live.call("poll.vote", { room, id, ...ballot });
  const options = (...texts: string[]) => texts.map((content, order) => ({ content, order }));

  const rivers = options("Danube", "Volga", "Rhine").map((it, at) => ({
    ...it,
    correct: at === 1,
  }));
  const over = await create("quiz", "Which river is the longest in Europe?", { options: rivers });
  for (const [live, at] of [
    [ada, 1],
    [ben, 1],
    [chloe, 0],
  ] as const) {
    await vote(over, live, { options: [over.options[at]!.id] });
  }
  await boss.call("poll.update", { room, id: over.id, state: "closed" });
  await create("quiz", "Which is the shortest?", { options: rivers, settings: { seconds: 300 } });
  const rank = await create("rank", "What matters most on a map?", {
    options: options("Typography", "Projection", "Color"),
  });
  const [type, projection, color] = rank.options.map(({ id }) => id) as [string, string, string];
  await vote(rank, ada, { options: [projection, type] });
  await vote(rank, ben, { options: [projection, color, type] });
  const labels = { min_label: "Not for me", max_label: "Wonderful" };
  const scale = await create("scale", "How was the keynote?", { settings: labels });
  for (const [live, value] of [
    [ada, 5],
    [ben, 4],
    [chloe, 4],
  ] as const) {
    await vote(scale, live, { value });
  }
  const text = await create("text", "What should we do better?", { settings: { hold: true } });
  await vote(text, ada, { answers: ["Longer breaks, so that people can meet."] });
  await vote(text, ben, { answers: ["Slides before the talks."] });
  const words = await create("words", "What makes a good map?");
  await vote(words, ada, { answers: ["Patience", "Ink"] });
  await vote(words, ben, { answers: ["patience", "accuracy"] });
  await vote(words, chloe, { answers: ["Accuracy", "Patience", "coffee"] });
  await boss.call("poll.pin", { room, id: words.id });
}

/**
 * Uploads a picture as a user.
 * @returns its URL.
 */
export async function upload(
  world: World,
  uid: string,
  ...picture: Parameters<typeof pictureOf>
): Promise<string> {
  const bytes = await pictureOf(...picture);
  const { baseUrl, id } = world;
  const api = new Foyer({ baseUrl, world: id, token: world.token({ uid }) });
  return api.upload(new Blob([new Uint8Array(bytes)]), "picture.png");
}

async function picture(world: World, live: Live, uid: string, color: string) {
  const url = await upload(world, uid, color);
  const { profile } = live.state!.user;
  await live.call("user.update", { profile: { ...profile, avatar: { url } } });
}
