import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { type Browser, chromium, type Page } from "playwright-core";
import type * as LiveKitClient from "livekit-client";
import { findChromium } from "../browser/chromium.js";

// Browsers in a call that run the media server's own client, so that tests can try what Foyer's
// pages prevent.

interface Lifetime {
  teardown(work: () => unknown): void;
}

/** Why a test that needs a browser is skipped; false if it runs. */
export const noChromium = !findChromium() && "no chromium: set CHROMIUM";

/**
 * Starts a browser with a simulated camera and microphone that grants permissions without asking.
 */
export async function openCallBrowser(t: Lifetime): Promise<Browser> {
  const executablePath = findChromium();
  if (executablePath === undefined) throw new Error("There is no chromium: set CHROMIUM.");
  const browser = await chromium.launch({
    executablePath,
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-dev-shm-usage",
      "--use-fake-device-for-media-stream",
      "--use-fake-ui-for-media-stream",
      "--auto-select-desktop-capture-source=Entire screen",
      "--autoplay-policy=no-user-gesture-required",
      // The engine offers the loopback address, which browsers hide by default.
      "--disable-features=WebRtcHideLocalIpsWithMdns",
    ],
  });
  t.teardown(() => browser.close());
  return browser;
}

/** What a device receives from another one. */
export interface Received {
  /** Decoded frames of all videos. */
  frames: number;
  /** Packets of all audio tracks. */
  packets: number;
}

/** The device's events, oldest first: `connected`, `disconnected: <reason>`, … */
export type Happened = string;

declare const LivekitClient: typeof LiveKitClient;
declare const room: LiveKitClient.Room;
declare const happened: Happened[];

/** A device in a call. */
export class CallPage {
  private constructor(readonly page: Page) {}

  /** Opens a page that has loaded the media server's client but has not joined a call. */
  static async open(t: Lifetime, browser: Browser): Promise<CallPage> {
    const { resolve } = createRequire(import.meta.url);
    const script = readFileSync(
      resolve("livekit-client").replace(/[^/]+$/, "livekit-client.umd.js"),
    );
    // Browsers grant access to devices only to pages with a secure origin, such as this machine.
    const server = createServer((request, response) => {
      const isScript = request.url === "/client.js";
      response.writeHead(200, { "content-type": isScript ? "text/javascript" : "text/html" });
      response.end(isScript ? script : "<!doctype html><script src=/client.js></script>");
    });
    await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
    t.teardown(() => server.close());
    const { port } = server.address() as AddressInfo;
    const page = await (await browser.newContext()).newPage();
    await page.goto(`http://127.0.0.1:${port}/`);
    return new CallPage(page);
  }

  /** Enters a call. Rejects if the engine refuses. */
  async enter({ url, token }: { url: string; token: string }): Promise<void> {
    await this.page.evaluate(
      async ({ url, token }) => {
        const { Room, RoomEvent, DisconnectReason } = LivekitClient;
        const entered = new Room({ adaptiveStream: false });
        const log: string[] = [];
        Object.assign(window, { room: entered, happened: log });
        entered.on(RoomEvent.Connected, () => log.push("connected"));
        entered.on(RoomEvent.Reconnecting, () => log.push("reconnecting"));
        entered.on(RoomEvent.Reconnected, () => log.push("reconnected"));
        entered.on(RoomEvent.Disconnected, (reason) =>
          log.push(`disconnected: ${DisconnectReason[reason ?? 0]}`),
        );
        entered.on(RoomEvent.TrackSubscribed, (track) => track.attach());
        entered.on(RoomEvent.TrackMuted, ({ source }, { identity }) =>
          log.push(`muted: ${source} of ${identity}`),
        );
        await entered.connect(url, token);
      },
      { url, token },
    );
  }

  /** Publishes the camera and the microphone. Rejects without the right to publish. */
  async publish(...sources: ("camera" | "microphone")[]): Promise<void> {
    await this.page.evaluate(async (sources) => {
      const it = room.localParticipant;
      if (sources.includes("camera")) await it.setCameraEnabled(true);
      if (sources.includes("microphone")) await it.setMicrophoneEnabled(true);
    }, sources);
  }

  /** Returns how many tracks this device believes it publishes. */
  published(): Promise<number> {
    return this.page.evaluate(() => room.localParticipant.trackPublications.size);
  }

  /** Publishes a video as another source, as a modified client could. */
  async publishAs(source: "screen_share" | "camera" | "unknown"): Promise<void> {
    await this.page.evaluate(async (source) => {
      const track = await LivekitClient.createLocalVideoTrack();
      await room.localParticipant.publishTrack(track, {
        source: source as LiveKitClient.Track.Source,
      });
    }, source);
  }

  /** Sends data around Foyer. Also resolves if the media server drops the data. */
  async send(text: string): Promise<void> {
    await this.page.evaluate(async (text) => {
      await room.localParticipant.publishData(new TextEncoder().encode(text), { reliable: true });
    }, text);
  }

  /** What this device receives from all others. */
  received(): Promise<Received> {
    return this.page.evaluate(async () => {
      const sum = { frames: 0, packets: 0 };
      for (const person of room.remoteParticipants.values()) {
        for (const { track } of person.trackPublications.values()) {
          const report = await track?.getRTCStatsReport();
          for (const stats of (report?.values() ?? []) as Iterable<RTCInboundRtpStreamStats>) {
            if (stats.type !== "inbound-rtp") continue;
            sum.frames += stats.framesDecoded ?? 0;
            if (stats.kind === "audio") sum.packets += stats.packetsReceived ?? 0;
          }
        }
      }
      return sum;
    });
  }

  /** The identities of the other devices that this device sees. */
  others(): Promise<string[]> {
    return this.page.evaluate(() => [...room.remoteParticipants.keys()].sort());
  }

  /** The sources of this device, according to the media server. */
  own(): Promise<string[]> {
    return this.page.evaluate(() =>
      [...room.localParticipant.trackPublications.values()].map(({ source }) => source),
    );
  }

  happened(): Promise<Happened[]> {
    return this.page.evaluate(() => [...happened]);
  }

  async leave(): Promise<void> {
    await this.page.evaluate(() => room.disconnect());
  }
}
