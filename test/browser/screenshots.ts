import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import sharp from "sharp";
import { playlistAt } from "../../plugins/web/stream.js";
import { furnish } from "./furnish.js";
import {
  allModules,
  type Lifetime,
  type Scheme,
  Site,
  type Size,
  type Visitor,
} from "./kit.js";
import { tours } from "./tour.js";

// `npm run screenshots` takes pictures of the pages for the documents: of each in both
// color schemes, on a desk and on a phone. It shows invented people, and no times, so that
// a picture changes only when a page does.

const FOLDER = "docs/screenshots";

/** The stops of each tour that are worth a picture. */
const wanted: Record<string, readonly string[]> = {
  guest: ["welcome"],
  attendee: [
    ...["lobby", "hallway", "stage", "questions", "polls", "program"],
    ...["session", "conversation", "profile"],
  ],
  moderator: ["question-queue", "managed-polls", "host-view"],
  hall: ["welcome", "questions", "poll", "chat"],
  stranger: ["sign-in"],
  console: [
    ...["overview", "world", "program", "rooms", "room", "invite"],
    ...["created-link", "roles", "people", "announcements", "results"],
    ...["history", "activity", "keys", "new-webhook", "new-provider"],
  ],
};

const viewports: Record<Size, { width: number; height: number }> = {
  desktop: { width: 1280, height: 800 },
  phone: { width: 390, height: 844 },
};

/** What differs from run to run. */
const HIDDEN = `
  time, [data-varies] { visibility: hidden !important; }
  * { caret-color: transparent !important; }
`;

/** The stream of the demo, as one that is over: it is at the same place in each picture. */
const RECORDING = `${playlistAt(24_000)}#EXT-X-ENDLIST\n`;

/** Where the stream stands still, in seconds. */
const MOMENT = 6;

/** Waits until all that a page shows is there; a stream stops at its moment. */
async function settle({ page }: Visitor): Promise<void> {
  const player = page
    .frames()
    .find((frame) => /player\.html/.test(frame.url()));
  // A player that has all of its stream does not always count as idle.
  if (!player) return page.waitForLoadState("networkidle");
  await player
    .locator("video")
    .evaluate(async (video: HTMLVideoElement, moment) => {
      if (!video.controls) return;
      while (video.paused || video.readyState < video.HAVE_FUTURE_DATA)
        await new Promise(requestAnimationFrame);
      video.pause();
      // They fade at a pace of their own.
      video.controls = false;
      const seeked = new Promise((resolve) =>
        video.addEventListener("seeked", resolve, { once: true }),
      );
      video.currentTime = moment;
      await seeked;
    }, MOMENT);
}

const ends: (() => unknown)[] = [];
const home: Lifetime = { teardown: (work) => void ends.unshift(work) };

try {
  const site = await Site.open(home);
  const world = await site.world(home, { title: "Open Maps 2027" });
  const furnished = await furnish(world);
  await world.api.updateRoom(furnished.stage, {
    module_config: allModules.map((module) =>
      module.type === "livestream.native"
        ? { ...module, config: { hls_url: "/demo/stream.m3u8" } }
        : module,
    ),
  });
  mkdirSync(FOLDER, { recursive: true });
  for (const file of readdirSync(FOLDER)) rmSync(join(FOLDER, file));
  let total = 0;
  for (const size of Object.keys(viewports) as Size[]) {
    for (const tour of tours) {
      const visitor = await tour.begin(world, {
        size,
        viewport: viewports[size],
        reducedMotion: true,
        bypassCSP: true,
      });
      await visitor.context.route("**/demo/stream.m3u8", (route) =>
        route.fulfill({
          body: RECORDING,
          contentType: "application/vnd.apple.mpegurl",
        }),
      );
      await visitor.page.reload();
      await visitor.page.addStyleTag({ content: HIDDEN });
      for (const stop of tour.stops(furnished)) {
        await stop.go(visitor);
        if (wanted[tour.name]?.includes(stop.name)) {
          await settle(visitor);
          for (const scheme of ["light", "dark"] as Scheme[]) {
            await visitor.page.emulateMedia({ colorScheme: scheme });
            await visitor.page.mouse.move(0, 0);
            const bytes = await visitor.page.screenshot();
            const name = [tour.name, stop.name, size, scheme].join("-");
            const { size: written } = await sharp(bytes)
              .png({ palette: true, colors: 128, effort: 10 })
              .toFile(join(FOLDER, `${name}.png`));
            total += written;
          }
        }
        await stop.leave?.(visitor);
      }
      await visitor.context.close();
    }
  }
  console.log(`${FOLDER}: ${Math.round(total / 1024)} KiB`);
} finally {
  for (const end of ends) await end();
}
