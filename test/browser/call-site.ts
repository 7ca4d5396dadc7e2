import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { openCallBrowser } from "../support/call-page.js";
import { startLiveKit } from "../support/servers/livekit.js";
import { type Lifetime, Site, type Visitor } from "./kit.js";

/**
 * Starts a server with LiveKit, which sends its webhooks to the server, and a browser with a
 * simulated camera and microphone.
 */
export async function openCallSite(t: Lifetime) {
  let target = "";
  // LiveKit must know the webhook address before the server has an address.
  const relay = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const { authorization = "" } = request.headers;
      fetch(`${target}/api/v1/calls/livekit/`, {
        method: "POST",
        headers: { authorization, "content-type": "application/webhook+json" },
        body: Buffer.concat(chunks),
      }).then(
        ({ status }) => response.writeHead(status).end(),
        () => response.writeHead(502).end(),
      );
    });
  }).listen(0, "127.0.0.1");
  await once(relay, "listening");
  t.teardown(() => {
    relay.closeAllConnections();
    relay.close();
  });
  const { port } = relay.address() as AddressInfo;
  const livekit = await startLiveKit(t, { webhook: `http://127.0.0.1:${port}/` });
  const site = await Site.open(t, livekit.variables, openCallBrowser(t));
  target = site.baseUrl;
  return { site, livekit };
}

/** What a page has received of calls so far. */
export interface Media {
  /** Decoded frames of all videos. */
  frames: number;
  /** Packets of all audio tracks. */
  packets: number;
}

/** Counts what a visitor's page receives; must run before the page opens. */
export async function watchMedia({ context, watch }: Visitor, livekit: { url: string }) {
  const { host } = new URL(livekit.url);
  watch.tolerate(
    new RegExp(`^(request|socket): (ws|http)://${host}/`),
    // The media server's client reports this at the end of each call.
    /^console: publisher data channel .* closed unexpectedly/,
  );
  await context.addInitScript(() => {
    const peers: RTCPeerConnection[] = [];
    Object.assign(window, { peers });
    window.RTCPeerConnection = class extends RTCPeerConnection {
      constructor(...args: ConstructorParameters<typeof RTCPeerConnection>) {
        super(...args);
        peers.push(this);
      }
    };
  });
}

/** Returns what a visitor's page has received so far. */
export const receivedBy = ({ page }: Visitor): Promise<Media> =>
  page.evaluate(async () => {
    const sum = { frames: 0, packets: 0 };
    for (const peer of (window as unknown as { peers: RTCPeerConnection[] }).peers) {
      if (peer.connectionState === "closed") continue;
      const report = await peer.getStats();
      for (const stats of report.values() as Iterable<RTCInboundRtpStreamStats>) {
        if (stats.type !== "inbound-rtp") continue;
        sum.frames += stats.framesDecoded ?? 0;
        if (stats.kind === "audio") sum.packets += stats.packetsReceived ?? 0;
      }
    }
    return sum;
  });
