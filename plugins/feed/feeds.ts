import type { FastifyReply, FastifyRequest } from "fastify";
import fp from "fastify-plugin";
import type { TypeFilter } from "../../schemas/plain/feed.js";
import { FeedReader } from "./reader.js";
import { WorldFeed } from "./world-feed.js";

declare module "fastify" {
  interface FastifyInstance {
    feeds: Feeds;
  }
}

/** The event streams of this process. */
interface Feeds {
  /** Number of open streams. */
  readonly count: number;
  /**
   * Responds to a request with a stream of a world's entries.
   * @param cursor the number of the entry after which the stream begins.
   */
  stream(
    request: FastifyRequest,
    reply: FastifyReply,
    of: { world: string; cursor: number; filter: TypeFilter },
  ): Promise<void>;
}

/** Interval between comments that keep proxies from closing the connection, in milliseconds. */
const COMMENT_INTERVAL_MS = 15_000;

/** Interval between checks for expired tokens, in milliseconds. */
const EXPIRY_CHECK_INTERVAL_MS = 500;

/** Provides `app.feeds`, which streams the change feed. */
export default fp(
  async (app) => {
    const { store, events } = app;
    const worlds = new Map<string, WorldFeed>();
    const all = function* () {
      for (const feed of worlds.values()) yield* feed.readers();
    };

    const subscriptions = new Map<WorldFeed, () => void>();

    function open(world: string): WorldFeed {
      const feed = new WorldFeed(store, world, (error) =>
        app.log.error({ err: error, world }, "the streams of changes ended"),
      );
      worlds.set(world, feed);
      const end = events.subscribe((event) => {
        if (event.type === "world.reset") feed.endAll();
        else if ("seq" in event) feed.take(event);
      }, world);
      subscriptions.set(feed, end);
      return feed;
    }

    function leave(world: string, feed: WorldFeed, reader: FeedReader): void {
      feed.remove(reader);
      events.unfollow(world);
      if (!feed.isEmpty || worlds.get(world) !== feed) return;
      worlds.delete(world);
      subscriptions.get(feed)?.();
      subscriptions.delete(feed);
    }

    app.decorate("feeds", {
      get count() {
        return [...all()].length;
      },
      async stream(request, reply, of) {
        const { world } = of;
        // The client may already have disconnected; 'close' will not fire a second time.
        if (reply.raw.destroyed) {
          reply.hijack();
          return;
        }
        const feed = worlds.get(world) ?? open(world);
        const reader = new FeedReader(request, reply, of);
        feed.add(reader);
        reply.raw.once("close", () => leave(world, feed, reader));
        await events.follow(world);
        feed.began(events.reached(world));
        // If rights were revoked before this process followed the world, no check has covered this
        // reader.
        if (reader.isOver || app.draining || !(await reader.isAdmitted())) {
          reply.hijack();
          reply.raw.destroy();
          return;
        }
        reader.begin();
        reader.catchUp(store, feed).catch((error: unknown) => {
          app.log.warn({ err: error, world }, "a stream of changes ended");
          reader.end();
        });
      },
    } satisfies Feeds);

    const comments = setInterval(() => {
      for (const reader of all()) reader.comment();
    }, COMMENT_INTERVAL_MS).unref();
    const expiries = setInterval(() => {
      const now = Date.now();
      for (const reader of all()) if (reader.hasExpired(now)) reader.end();
    }, EXPIRY_CHECK_INTERVAL_MS).unref();

    const endAll = () => {
      for (const feed of worlds.values()) feed.endAll();
    };
    app.whenDraining(async () => endAll());
    app.addHook("onClose", async () => {
      clearInterval(comments);
      clearInterval(expiries);
      for (const end of subscriptions.values()) end();
      endAll();
    });
  },
  { name: "feeds", dependencies: ["engines", "connections"] },
);
