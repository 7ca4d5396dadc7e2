import { readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import type { Browser, Page } from "playwright-core";
import t from "tap";
import type * as LiveKitClient from "livekit-client";
import { CallPage, noChromium, openCallBrowser } from "../support/call-page.js";
import { until } from "../support/helper.js";
import { NIGHT } from "../support/night.js";
import { type Server, startServer } from "../support/server.js";
import { noLiveKit, startLiveKit } from "../support/servers/livekit.js";
import { freePort } from "../support/servers/port.js";

// One call with a full page of tiles, with the real media server. Everything runs on this machine,
// so the browsers, which decode all videos, use most of it.

const PEOPLE = 25;
/** The people whose cameras are on. Everybody has a microphone. */
const CAMERAS = 5;
/** People per page. Each page is a process with a media stack. */
const PER_PAGE = 5;
const SECONDS = 60;
/** The camera's resolution: small, because one machine decodes the videos for everybody. */
const PICTURE = { width: 160, height: 90, frameRate: 10 };

/** What a device has received from another one. */
interface Received {
  /** Packets of the microphone. */
  packets: number;
  /** Decoded frames of the camera. */
  frames: number;
}

interface Ticket {
  url: string;
  token: string;
  identity: string;
}

declare const LivekitClient: typeof LiveKitClient;
declare const devices: { room: LiveKitClient.Room; happened: string[] }[];

/** Enters a call with a device for each ticket, all in one page. */
const enter = (page: Page, tickets: readonly Ticket[]) =>
  page.evaluate(async (tickets) => {
    const { Room, RoomEvent, DisconnectReason } = LivekitClient;
    Object.assign(window, { devices: [] });
    for (const { url, token } of tickets) {
      const room = new Room({ adaptiveStream: false });
      const happened: string[] = [];
      room.on(RoomEvent.Reconnecting, () => happened.push("reconnecting"));
      room.on(RoomEvent.Disconnected, (reason) =>
        happened.push(`disconnected: ${DisconnectReason[reason ?? 0]}`),
      );
      devices.push({ room, happened });
      await room.connect(url, token);
    }
  }, tickets);

/** Publishes the microphones of a page's devices, and the cameras of the first ones. */
const publish = (page: Page, cameras: number) =>
  page.evaluate(
    async ([cameras, video]) => {
      // Audio processing would cost more than the call.
      const audio = { echoCancellation: false, noiseSuppression: false, autoGainControl: false };
      const { Camera, Microphone } = LivekitClient.Track.Source;
      // A browser opens at most 16 microphones, so the devices on a page share one.
      const stream = await navigator.mediaDevices.getUserMedia({
        audio,
        ...(cameras > 0 && { video }),
      });
      const [sound, picture] = [stream.getAudioTracks()[0]!, stream.getVideoTracks()[0]];
      for (const [i, { room }] of devices.entries()) {
        const it = room.localParticipant;
        await it.publishTrack(sound.clone(), { source: Microphone });
        if (i < cameras) await it.publishTrack(picture!.clone(), { source: Camera });
      }
    },
    [cameras, PICTURE] as const,
  );

/** Returns what each device of a page has received, by its identity and that of the sender. */
const received = (page: Page) =>
  page.evaluate(async () => {
    const all: Record<string, Record<string, Received>> = {};
    for (const { room } of devices) {
      const from: Record<string, Received> = (all[room.localParticipant.identity] = {});
      const reports = [...room.remoteParticipants.values()].flatMap(
        ({ identity, trackPublications }) => {
          const sums = (from[identity] = { packets: 0, frames: 0 });
          return [...trackPublications.values()].map(async ({ track }) => {
            const report = await track?.getRTCStatsReport();
            for (const stats of (report?.values() ?? []) as Iterable<RTCInboundRtpStreamStats>) {
              if (stats.type !== "inbound-rtp") continue;
              if (stats.kind === "audio") sums.packets += stats.packetsReceived ?? 0;
              else sums.frames += stats.framesDecoded ?? 0;
            }
          });
        },
      );
      await Promise.all(reports);
    }
    return all;
  });

/** Returns the processor time of a process with all its threads, in seconds. */
function processorTimeOf(pid: number): number {
  // Skips the program name, which comes first, in parentheses, and may contain spaces.
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)!;
  const [user, system] = stat.split(" ").slice(11, 13).map(Number);
  // There are 100 ticks per second: `man 7 time`.
  return (user! + system!) / 100;
}

/** Returns the processor time of each of a browser's processes, by process id. */
async function timesOf(browser: Browser): Promise<Map<number, number>> {
  const session = await browser.newBrowserCDPSession();
  const { processInfo } = await session.send("SystemInfo.getProcessInfo");
  await session.detach();
  return new Map(processInfo.map(({ id }) => [id, processorTimeOf(id)]));
}

async function join(server: Server, room: string, name: string): Promise<Ticket> {
  const token = server.tokenOf({
    uid: name,
    traits: ["admin", "api"],
    profile: { display_name: name },
  });
  const url = `/api/v1/worlds/demo/rooms/${room}/call/join/`;
  const { status, body } = await server.call({
    method: "POST",
    url,
    as: `Bearer ${token}`,
    body: {},
  });
  if (status !== 200) throw new Error(`${status} ${JSON.stringify(body)}`);
  return body as Ticket;
}

const skip =
  noLiveKit ||
  noChromium ||
  (process.platform !== "linux" && "it reads /proc/<pid>/stat") ||
  (!NIGHT && `${PEOPLE} people take the processor for a minute`);

void t.test(`${PEOPLE} people in a call`, { skip, timeout: 600_000 }, async (t) => {
  const port = await freePort();
  const webhook = `http://127.0.0.1:${port}/api/v1/calls/livekit/`;
  const engine = await startLiveKit(t, { webhook });
  const server = await startServer(t, {
    processes: 1,
    env: { ...engine.variables, PORT: `${port}` },
  });
  const browser = await openCallBrowser(t);
  const draft = { name: "Call", module_config: [{ type: "call.native", config: {} }] };
  const room = (await server.rest("POST", "demo/rooms/", draft)).body.id as string;
  const viewer = await server.person("viewer");

  const pages: Page[] = [];
  const identities: string[] = [];
  const cameras: string[] = [];
  for (let first = 0; first < PEOPLE; first += PER_PAGE) {
    const { page } = await CallPage.open(t, browser);
    const tickets: Ticket[] = [];
    for (let i = first; i < Math.min(first + PER_PAGE, PEOPLE); i++) {
      tickets.push(await join(server, room, `person-${i}`));
    }
    await enter(page, tickets);
    await publish(page, Math.min(Math.max(CAMERAS - first, 0), PER_PAGE));
    pages.push(page);
    for (const { identity } of tickets) {
      if (identities.push(identity) <= CAMERAS) cameras.push(identity);
    }
  }

  /** Returns what everybody has received from everybody else: one row per pair. */
  async function pairs() {
    const found = Object.assign({}, ...(await Promise.all(pages.map(received)))) as Record<
      string,
      Record<string, Received>
    >;
    return identities.flatMap((to) =>
      identities
        .filter((from) => from !== to)
        .map((from) => ({ to, from, ...(found[to]?.[from] ?? { packets: 0, frames: 0 }) })),
    );
  }
  const hasCamera = (identity: string) => cameras.includes(identity);
  const happened = async () =>
    (await Promise.all(pages.map((page) => page.evaluate(() => devices.map((it) => it.happened)))))
      .flat()
      .map((what, i) => ({ identity: identities[i]!, what }))
      .filter(({ what }) => what.length > 0);
  let silent: Awaited<ReturnType<typeof pairs>> = [];
  await until(async () => {
    silent = (await pairs()).filter(
      ({ from, packets, frames }) => packets === 0 || (hasCamera(from) && frames === 0),
    );
    if (silent.length > 0) await delay(1000);
    return silent.length === 0;
  }).catch(async (error: unknown) => {
    t.same(silent, [], "everybody receives something from everybody");
    t.same(await happened(), [], "nobody loses the connection");
    throw error;
  });
  await until(async () => {
    const { people, speakers } = await viewer.do("call.state", { room });
    return people === PEOPLE && speakers.length === PEOPLE;
  });

  const spent = async () => ({
    foyer: processorTimeOf(server.processes[0]!.pid),
    livekit: processorTimeOf(engine.pid),
    browsers: await timesOf(browser),
  });
  const [before, start, began] = [await pairs(), await spent(), performance.now()];
  await delay(SECONDS * 1000);
  const [end, seconds] = [await spent(), (performance.now() - began) / 1000];
  const after = await pairs();

  const growth = after.map((pair, i) => ({
    ...pair,
    packets: pair.packets - before[i]!.packets,
    frames: pair.frames - before[i]!.frames,
  }));
  const pictures = growth.filter(({ from }) => hasCamera(from));
  // During silence, a packet is sent every 400 ms.
  t.same(
    growth.filter(({ packets }) => packets < SECONDS),
    [],
    "everybody hears everybody",
  );
  t.same(
    pictures.filter(({ frames }) => frames < SECONDS),
    [],
    "and sees each camera, at one frame a second or more",
  );
  const lost = await happened();
  const isOut = ({ what }: (typeof lost)[number]) =>
    what.some((it) => it.startsWith("disconnected"));
  t.same(lost.filter(isOut), [], "nobody is disconnected");
  // A browser that lacks processor time resumes its connection and keeps its place.
  t.comment(`${lost.length} of ${PEOPLE} resumed a connection since they entered`);
  const { people, speakers } = await viewer.do("call.state", { room });
  t.equal(people, PEOPLE, "Foyer knows all people");
  t.equal(speakers.length, PEOPLE, "and that all of them speak");

  const least = (values: number[]) => Math.round(Math.min(...values) / seconds);
  const sum = (values: number[]) => Math.round(values.reduce((all, one) => all + one) / seconds);
  t.comment(
    `${PEOPLE} microphones, ${CAMERAS} cameras of ${PICTURE.width} × ${PICTURE.height}, ${seconds.toFixed(1)} s`,
  );
  const browsers = [...end.browsers].map(([id, time]) => time - (start.browsers.get(id) ?? 0));
  const times = {
    Foyer: end.foyer - start.foyer,
    LiveKit: end.livekit - start.livekit,
    "the browsers": browsers.reduce((all, one) => all + one),
  };
  for (const [name, time] of Object.entries(times)) {
    const part = ((100 * time) / seconds).toFixed(1);
    t.comment(`processor time of ${name}: ${time.toFixed(2)} s, ${part} % of a core`);
  }
  const [packets, frames] = [
    growth.map((pair) => pair.packets),
    pictures.map((pair) => pair.frames),
  ];
  t.comment(
    `audio: ${sum(packets)} packets a second in all, ${least(packets)} or more of each speaker to each person`,
  );
  t.comment(
    `video: ${sum(frames)} frames a second in all, ${least(frames)} or more of each camera to each person`,
  );
});
