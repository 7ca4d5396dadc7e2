import fp from "fastify-plugin";
import type { WebhookRecord } from "../../db/contract/webhook-store.js";
import { WebhookDelivery, LEASE_MS, RequestThrottle } from "./delivery.js";
import { Source } from "./source.js";

declare module "fastify" {
  interface FastifyInstance {
    /** Checks for new webhooks immediately. */
    findWebhooks(): void;
  }
}

/** Interval between checks for webhooks without a holder, in milliseconds. */
const LEASE_CHECK_INTERVAL_MS = 2000;

/** Interval between a holder's heartbeats, in milliseconds. */
const HEARTBEAT_INTERVAL_MS = 3000;

/**
 * Time without a heartbeat after which another process takes over, in milliseconds. A holder stops
 * delivering before this time has passed, so two processes never deliver simultaneously.
 */
const SILENCE_MS = LEASE_MS + 3000;

/** Events after which a webhook, or its log, may have been replaced. */
const STATES = new Set<string>(["world.deleted", "world.reset"]);

/** A holder's last heartbeat, as seen by this process. */
interface Seen {
  readonly key: string;
  /** Time at which the heartbeat was first seen, by `performance.now()`. */
  readonly since: number;
}

/**
 * Delivers changes to webhooks. Of all processes that share a database, exactly one holds each
 * webhook and delivers to it. The holder stores a heartbeat every three seconds; another process
 * takes over after seeing no new heartbeat for 23 seconds. The clocks of different machines are
 * never compared.
 */
export default fp(
  async (app) => {
    const { store, events, outbound } = app;
    const holder = events.process;
    const held = new Map<string, WebhookDelivery>();
    const sources = new Map<string, Source>();
    const subscriptions = new Map<string, () => void>();
    const pace = new RequestThrottle();
    const endings = new Set<Promise<void>>();
    const seen = new Map<string, Seen>();
    /** The time of the last stored heartbeat in each world, by `performance.now()`. */
    const renewals = new Map<string, number>();
    let stopped = false;

    const of = (world: string): WebhookDelivery[] =>
      [...held.values()].filter((delivery) => delivery.world === world);

    function sourceOf(world: string): Source {
      const known = sources.get(world);
      if (known) return known;
      const source = new Source(store, world, () => {
        for (const delivery of of(world)) delivery.wake();
      });
      sources.set(world, source);
      const end = events.subscribe((event) => {
        if (STATES.has(event.type)) {
          source.forget();
          for (const delivery of of(world)) delivery.invalidateSettings();
        } else if (event.type === "noted") {
          const { webhook_id } = event.subject;
          if (typeof webhook_id === "string") held.get(webhook_id)?.invalidateSettings();
        }
        if ("seq" in event) source.take(event);
      }, world);
      subscriptions.set(world, end);
      return source;
    }

    /** Unfollows a world, and drops its source if this process holds none of the world's webhooks anymore. */
    function leave(world: string): void {
      events.unfollow(world);
      if (of(world).length > 0) return;
      sources.get(world)?.close();
      sources.delete(world);
      subscriptions.get(world)?.();
      subscriptions.delete(world);
    }

    async function look(): Promise<void> {
      const hooks = await store.webhooks.enabled();
      const now = performance.now();
      for (const hook of hooks) {
        if (stopped || held.has(hook.id)) continue;
        if (!isFree(hook, now)) continue;
        try {
          await hold(hook);
        } catch (error) {
          // One webhook's failure must not hold up the remaining webhooks.
          const { id, world } = hook;
          const about = { err: error, webhook: id, world };
          if (!stopped) app.log.warn(about, "a webhook has to wait");
        }
      }
      const ids = new Set(hooks.map(({ id }) => id));
      for (const id of seen.keys()) if (!ids.has(id)) seen.delete(id);
      for (const [id, delivery] of held) if (!ids.has(id)) delivery.invalidateSettings();
    }

    /**
     * Whether this process may take over a webhook.
     * @param hook a webhook to which this process does not deliver yet.
     */
    function isFree(hook: WebhookRecord, now: number): boolean {
      const { id, beat } = hook;
      // This process is still the holder if a read failed when a delivery began or ended, because
      // the process's heartbeats in the world continue.
      if (hook.holder === null || hook.holder === holder) return true;
      const key = `${hook.holder} ${beat}`;
      const before = seen.get(id);
      if (before?.key !== key) {
        seen.set(id, { key, since: now });
        return false;
      }
      return now - before.since > SILENCE_MS;
    }

    async function hold(hook: WebhookRecord): Promise<void> {
      const { world, id } = hook;
      const began = performance.now();
      if (!(await store.webhooks.hold(world, id, holder, hook))) return;
      seen.delete(id);
      renewals.set(world, began);
      const source = sourceOf(world);
      let found: WebhookRecord | undefined;
      try {
        await events.follow(world);
        found = await store.webhooks.get(world, id);
      } catch (error) {
        leave(world);
        throw error;
      }
      if (!found || stopped) {
        leave(world);
        return release(world, id);
      }
      const delivery = new WebhookDelivery(
        {
          store,
          outbound,
          holder,
          source,
          pace,
          renewedAt: () => renewals.get(world) ?? -Infinity,
          onFault: (error) => app.log.warn({ err: error, world }, "a webhook has to wait"),
        },
        found,
      );
      held.set(id, delivery);
      const ending = delivery.ended
        .then(async () => {
          // Release the webhook before removing it from `held`. Otherwise, the next check could
          // take the webhook again before the release.
          await release(world, id);
          held.delete(id);
          leave(world);
        })
        .finally(() => endings.delete(ending));
      endings.add(ending);
    }

    /** Lets another process take over a webhook immediately. */
    async function release(world: string, id: string): Promise<void> {
      try {
        const found = await store.webhooks.get(world, id);
        if (found?.holder !== holder) return;
        await store.webhooks.hold(world, id, null, found);
      } catch {
        // The lease expires anyway.
      }
    }

    async function beat(): Promise<void> {
      const worlds = new Set([...held.values()].map(({ world }) => world));
      for (const world of worlds) {
        const began = performance.now();
        await store.webhooks.beat(world, holder);
        renewals.set(world, began);
      }
      for (const world of renewals.keys()) {
        if (!worlds.has(world)) renewals.delete(world);
      }
    }

    /** Runs work at an interval. Errors are logged, and the next run retries. */
    function every(ms: number, work: () => Promise<void>) {
      let timer: NodeJS.Timeout | undefined;
      let running: Promise<void> | undefined;
      let isAsked = false;
      const run = (): void => {
        clearTimeout(timer);
        isAsked = running !== undefined;
        if (isAsked || stopped) return;
        running = work()
          .catch((error: unknown) => {
            if (!stopped) app.log.warn({ err: error }, "webhooks have to wait");
          })
          .then(() => {
            running = undefined;
            if (!stopped) timer = setTimeout(run, isAsked ? 0 : ms).unref();
          });
      };
      return {
        run,
        async end() {
          clearTimeout(timer);
          await running;
          clearTimeout(timer);
        },
      };
    }

    const looking = every(LEASE_CHECK_INTERVAL_MS, look);
    const renewing = every(HEARTBEAT_INTERVAL_MS, beat);
    app.decorate("findWebhooks", looking.run);
    app.addHook("onReady", async () => {
      looking.run();
      renewing.run();
    });

    app.addHook("onClose", async () => {
      stopped = true;
      for (const end of subscriptions.values()) end();
      await Promise.all([looking.end(), renewing.end()]);
      for (const delivery of held.values()) delivery.stop();
      // Don't wait for a slow receiver: the next process sends the entry again.
      const limit = new Promise((resolve) => {
        setTimeout(resolve, 1000).unref();
      });
      await Promise.race([Promise.all(endings), limit]);
    });
  },
  { name: "webhooks", dependencies: ["engines", "outbound"] },
);
