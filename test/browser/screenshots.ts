import { copyFileSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import sharp from "sharp";
import { scheduleDemo } from "../../cli/demo/demo-program.js";
import { DEMO, ensureDemo } from "../../cli/demo/demo.js";
import { Foyer, type Live } from "../../client/index.js";
import { findWorld, signToken } from "../../db/world-management.js";
import { playlistAt } from "../../plugins/web/stream.js";
import { keyOf } from "../support/helper.js";
import { say } from "./furnish.js";
import { type Lifetime, type Scheme, Site, type Size, Visitor, World } from "./kit.js";

// `npm run screenshots` captures the demo, as started by `npm start`, for the documentation: its
// pages in both color schemes, on desktop and phone. The screenshots show the time of the run.

const FOLDER = "screenshots";

/** The screenshots that the README shows. Each run overwrites them. */
const SHOWN = "docs/screenshots";

const viewports: Record<Size, { width: number; height: number }> = {
  desktop: { width: 1280, height: 800 },
  phone: { width: 390, height: 844 },
};

/** The demo's stream as a finished recording, so that every screenshot can show the same frame. */
const RECORDING = `${playlistAt(24_000)}#EXT-X-ENDLIST\n`;

/** The position at which the stream is paused, in seconds. */
const MOMENT = 6;

interface Shot {
  name: string;
  /** Appended to the page's URL. */
  path?: string;
  /** The text to wait for before capturing. */
  text: string | RegExp;
  act?: (visitor: Visitor) => Promise<unknown>;
}

interface Series {
  as: string;
  /** The URL that signs the user in. */
  begin: string;
  shots: Shot[];
}

const ends: (() => unknown)[] = [];
const home: Lifetime = { teardown: (work) => void ends.unshift(work) };

const host = { uid: "hanna", name: "Hanna Host", traits: ["admin", "api"] };
const me = { uid: "mara", name: "Mara Lindqvist" };

/** Opens the demo world, with a key for this script. */
async function openDemo(): Promise<World> {
  const site = await Site.open(home);
  const { baseUrl } = site;
  const { store, files } = site.server.app;
  await ensureDemo(store);
  const now = Date.now();
  await scheduleDemo({ store, files, world: DEMO, address: baseUrl, now });
  const token = await signToken(await findWorld(store, DEMO), { traits: ["admin", "api"] });
  const api = new Foyer({ baseUrl, world: DEMO, token });
  const { config } = await api.getWorld();
  await api.updateWorld({ config: { ...config, JWT_secrets: [keyOf(DEMO)] } });
  return new World(home, site, DEMO);
}

/** Adds activity that the demo's simulated users do not produce. */
async function prepare(world: World): Promise<Series[]> {
  const { results: rooms } = await world.api.listRooms();
  const idOf = (name: string) => rooms.find((it) => it.name === name)!.id;
  const stage = idOf("Main stage");
  const [boss, mine, mira] = (await Promise.all(
    [host, me, { uid: "demo-mira", name: "Mira", traits: ["speaker"] }].map((bearer) =>
      world.live(bearer),
    ),
  )) as [Live, Live, Live];
  const { id: direct } = await mira.call("chat.direct.create", {
    users: [mine.state!.user.id],
    hide: false,
  });
  await say(mira, direct, "Shall we sit together at lunch?");
  await say(mine, direct, "Gladly. At the window?");
  await boss.call("room.enter", { room: stage });
  const questions = await boss.call("question.list", { room: stage });
  const asked = questions.find(({ content }) => content.includes("readable"))!;
  await boss.call("question.pin", { room: stage, id: asked.id });
  const [poll] = await boss.call("poll.list", { room: stage });
  await boss.call("poll.pin", { room: stage, id: poll!.id });
  const { user } = await boss.call("user.kiosk.create", {
    profile: { display_name: "Screen", room_id: stage },
  });
  const kiosk = await boss.call("user.kiosk.fetch", { id: user.id });
  for (const live of [boss, mine, mira]) live.close();

  const answer = await world.api.request("GET", "/sessions/?page_size=200");
  const { results: sessions } = (await answer.json()) as {
    results: { id: string; title: string; room_id: string; ends_at: string }[];
  };
  const session = sessions.find(
    ({ room_id, ends_at }) => room_id === stage && Date.parse(ends_at) > Date.now(),
  )!;
  const onStage = `#/rooms/${stage}`;
  const signedIn = (page: string, token: string) => `${page}#token=${token}`;
  const shot = (
    name: string,
    path: string | undefined,
    text: string | RegExp,
    act?: Shot["act"],
  ): Shot => ({ name, text, ...(path && { path }), ...(act && { act }) });
  const page = (name: string, text: string | RegExp, act?: Shot["act"]): Shot =>
    shot(name, `#/${name}`, text, act);
  const tab =
    (name: string): Shot["act"] =>
    (it) =>
      it.tab(name).click();
  const press =
    (name: string): Shot["act"] =>
    (it) =>
      it.button(name).click();
  const invite: Shot["act"] = async (it) => {
    await it.page.getByRole("radio", { name: /^One person/ }).check();
    await it.field("Name").fill("Uma Lindqvist");
    await it.button("Create link").click();
  };
  const hall = (name: string, text: string | RegExp) =>
    shot(name, `?screen=${name}&room=${stage}`, text);
  const hallway = `#/rooms/${idOf("Hallway")}`;
  const guide = `#/program/${session.id}`;
  const talk = `#/messages/${direct}`;
  const link = "Anyone with a link can use it";
  return [
    { as: "guest", begin: world.attend, shots: [shot("welcome", undefined, "Your name")] },
    {
      as: "attendee",
      begin: signedIn(world.attend, world.token(me)),
      shots: [
        shot("lobby", "#/", "Help desk"),
        shot("stage", onStage, /back row/),
        shot("questions", onStage, /readable/, tab("Questions")),
        shot("polls", onStage, poll!.content, tab("Polls")),
        shot("hallway", hallway, /Vote for mine/),
        page("program", session.title),
        shot("session", guide, "Speakers"),
        shot("conversation", talk, /At the window/),
        page("profile", "Notifications"),
      ],
    },
    {
      as: "moderator",
      begin: signedIn(world.attend, world.token(host)),
      shots: [
        shot("question-queue", onStage, /how you set up/, tab("Questions")),
        shot("host-view", `${onStage}/host`, /readable/),
      ],
    },
    {
      as: "hall",
      begin: signedIn(`${world.attend}?screen=welcome`, kiosk.token),
      shots: [
        hall("welcome", "Main stage"),
        hall("questions", /readable/),
        hall("poll", poll!.content),
        hall("chat", /back row/),
      ],
    },
    {
      as: "stranger",
      begin: world.console,
      shots: [shot("sign-in", undefined, "Paste a token")],
    },
    {
      as: "console",
      begin: signedIn(world.console, world.token(host)),
      shots: [
        page("overview", "At a glance"),
        page("world", "Main color"),
        page("program", "All times are in"),
        page("rooms", "Help desk"),
        shot("room", onStage, "Add a part"),
        page("invite", "The event’s address"),
        shot("created-link", "#/invite", link, invite),
        page("roles", "Take part"),
        page("people", "Mara Lindqvist"),
        page("announcements", "Announcements"),
        page("results", "Charts"),
        page("history", "created a screen"),
        page("activity", "Connections"),
        page("keys", "Rotate keys"),
        page("webhooks", "Everything", press("New webhook")),
        page("providers", "Client secret", press("New provider")),
      ],
    },
  ];
}

/** Waits until the page is fully loaded, and pauses its stream at {@link MOMENT}. */
async function settle({ page }: Visitor): Promise<void> {
  const player = page.frames().find((frame) => /player\.html/.test(frame.url()));
  // A page with a player may never become network-idle, even once the stream is fully loaded.
  if (!player) return page.waitForLoadState("networkidle");
  await player.locator("video").evaluate(async (video: HTMLVideoElement, moment) => {
    if (!video.controls) return;
    while (video.paused || video.readyState < video.HAVE_FUTURE_DATA)
      await new Promise(requestAnimationFrame);
    video.pause();
    // The controls fade out at an unpredictable time.
    video.controls = false;
    const seeked = new Promise((resolve) =>
      video.addEventListener("seeked", resolve, { once: true }),
    );
    video.currentTime = moment;
    await seeked;
  }, MOMENT);
}

async function take(world: World, size: Size, series: Series): Promise<number> {
  const visitor = await world.visitor({
    size,
    viewport: viewports[size],
    reducedMotion: true,
    bypassCSP: true,
  });
  const { page, context } = visitor;
  await context.route("**/demo/stream.m3u8", (route) =>
    route.fulfill({ body: RECORDING, contentType: "application/vnd.apple.mpegurl" }),
  );
  await page.goto(series.begin);
  await page.waitForFunction(() => !location.hash.includes("token="));
  let total = 0;
  for (const { name, path, text, act } of series.shots) {
    if (path?.startsWith("?")) await page.goto(new URL(path, page.url()).href);
    else if (path) {
      await page.evaluate((path) => {
        location.hash = path;
      }, path);
    }
    await act?.(visitor);
    const shown = page.getByText(text).filter({ visible: true });
    await shown.first().waitFor();
    await page.addStyleTag({ content: "* { caret-color: transparent !important; }" });
    await settle(visitor);
    for (const scheme of ["light", "dark"] as Scheme[]) {
      await page.emulateMedia({ colorScheme: scheme });
      await page.mouse.move(0, 0);
      const bytes = await page.screenshot();
      const file = [series.as, name, size, scheme].join("-");
      const { size: written } = await sharp(bytes)
        .png({ palette: true, colors: 128, effort: 10 })
        .toFile(join(FOLDER, `${file}.png`));
      total += written;
    }
    await page.keyboard.press("Escape");
  }
  await context.close();
  return total;
}

try {
  const world = await openDemo();
  const all = await prepare(world);
  mkdirSync(FOLDER, { recursive: true });
  for (const file of readdirSync(FOLDER)) rmSync(join(FOLDER, file));
  let total = 0;
  for (const size of Object.keys(viewports) as Size[]) {
    for (const series of all) total += await take(world, size, series);
  }
  for (const file of readdirSync(SHOWN)) {
    copyFileSync(join(FOLDER, file), join(SHOWN, file));
  }
  console.log(`${FOLDER}: ${Math.round(total / 1024)} KiB`);
} finally {
  for (const end of ends) await end();
}
