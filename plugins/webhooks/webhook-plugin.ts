import fp from "fastify-plugin";
import type { Webhook } from "../../db/contract/webhook-store.js";
import { Delivery, LEASE_MS, Pace } from "./delivery.js";
import { Source } from "./source.js";

declare module "fastify" {
  interface FastifyInstance {
    /** Looks for new webhooks at once. */
    lookForWebhooks(): void;
  }
}

/** How often a process looks for webhooks without a holder, in milliseconds. */
const LEASE_CHECK_INTERVAL_MS = 2000;

/** How often a holder says that it lives, in milliseconds. */
const HEARTBEAT_INTERVAL_MS = 3000;

/**
 * How long a holder may be silent before others take over, in milliseconds. It is longer than
 * a holder delivers without a beat, so that two never deliver at once.
 */
const SILENCE_MS = LEASE_MS + 3000;

/** Events after which a webhook, or its log, may be another one. */
const STATES = new Set<string>(["world.deleted", "world.reset"]);

/** The life of a holder, as this process sees it. */
interface Seen {
  readonly key: string;
  /** Since when it is unchanged, by `performance.now()`. */
  readonly since: number;
}

/**
 * Delivers changes to webhooks. Of all processes that share a database, one holds each webhook, and
 * delivers to it. It stores a beat every three seconds; another process takes over when it has
 * seen no beat for 23 seconds. So clocks of machines are never compared.
 */
export default fp(
  async (app) => {
    const { store, events, outbound } = app;
    const holder = events.process;
    const held = new Map<string, Delivery>();
    const sources = new Map<string, Source>();
    const subscriptions = new Map<string, () => void>();
    const pace = new Pace();
    const endings = new Set<Promise<void>>();
    const seen = new Map<string, Seen>();
    /** When the last beat in each world was stored, by `performance.now()`. */
    const beats = new Map<string, number>();
    let stopped = false;

    const of = (world: string): Delivery[] =>
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
          for (const delivery of of(world)) delivery.look();
        } else if (event.type === "noted") {
          const { webhook_id } = event.subject;
          if (typeof webhook_id === "string") held.get(webhook_id)?.look();
        }
        if ("seq" in event) source.take(event);
      }, world);
      subscriptions.set(world, end);
      return source;
    }

    /** Forgets a world without a webhook here. */
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
          // The others need not wait for it.
          const { id, world } = hook;
          const about = { err: error, webhook: id, world };
          if (!stopped) app.log.warn(about, "a webhook has to wait");
        }
      }
      const ids = new Set(hooks.map(({ id }) => id));
      for (const id of seen.keys()) if (!ids.has(id)) seen.delete(id);
      for (const [id, delivery] of held) if (!ids.has(id)) delivery.look();
    }

    /** @param hook that this process does not deliver to. */
    function isFree(hook: Webhook, now: number): boolean {
      const { id, beat } = hook;
      // A read failed when this process began or ended. Its beats in the world go on.
      if (hook.holder === null || hook.holder === holder) return true;
      const key = `${hook.holder} ${beat}`;
      const before = seen.get(id);
      if (before?.key !== key) {
        seen.set(id, { key, since: now });
        return false;
      }
      return now - before.since > SILENCE_MS;
    }

    async function hold(hook: Webhook): Promise<void> {
      const { world, id } = hook;
      const began = performance.now();
      if (!(await store.webhooks.hold(world, id, holder, hook))) return;
      seen.delete(id);
      beats.set(world, began);
      const source = sourceOf(world);
      let found: Webhook | undefined;
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
      const delivery = new Delivery(
        {
          store,
          outbound,
          holder,
          source,
          pace,
          beatAt: () => beats.get(world) ?? -Infinity,
          onFault: (error) => app.log.warn({ err: error, world }, "a webhook has to wait"),
        },
        found,
      );
      held.set(id, delivery);
      const ending = delivery.ended
        .then(async () => {
          // Until then, the next look must not take the webhook again.
          await release(world, id);
          held.delete(id);
          leave(world);
        })
        .finally(() => endings.delete(ending));
      endings.add(ending);
    }

    /** Lets another process hold a webhook at once. */
    async function release(world: string, id: string): Promise<void> {
      try {
        const found = await store.webhooks.get(world, id);
        if (found?.holder !== holder) return;
        await store.webhooks.hold(world, id, null, found);
      } catch {
        // It is free after a while.
      }
    }

    async function beat(): Promise<void> {
      const worlds = new Set([...held.values()].map(({ world }) => world));
      for (const world of worlds) {
        const began = performance.now();
        await store.webhooks.beat(world, holder);
        beats.set(world, began);
      }
      for (const world of beats.keys()) {
        if (!worlds.has(world)) beats.delete(world);
      }
    }

    /** Runs something again and again. Its errors wait for the next time. */
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
    const beating = every(HEARTBEAT_INTERVAL_MS, beat);
    app.decorate("lookForWebhooks", looking.run);
    app.addHook("onReady", async () => {
      looking.run();
      beating.run();
    });

    app.addHook("onClose", async () => {
      stopped = true;
      for (const end of subscriptions.values()) end();
      await Promise.all([looking.end(), beating.end()]);
      for (const delivery of held.values()) delivery.stop();
      // A receiver may be slow, and the next process sends this entry again.
      const limit = new Promise((resolve) => {
        setTimeout(resolve, 1000).unref();
      });
      await Promise.race([Promise.all(endings), limit]);
    });
  },
  { name: "webhooks", dependencies: ["engines", "outbound"] },
);
