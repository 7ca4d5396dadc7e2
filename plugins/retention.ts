import { setTimeout as sleep } from "node:timers/promises";
import fp from "fastify-plugin";
import { type Store, StoreError } from "../db/store.js";
import type { WorldConfig } from "../schemas/worlds.js";

/** How long a world keeps its chat is looked at this long after the start, in milliseconds. */
const FIRST = 60_000;

/** And then at this interval. Timers measure it without the clock, which may jump. */
const INTERVAL = 24 * 60 * 60_000;

/** The pause between two slices, in milliseconds, in which others write. */
const PAUSE = 20;

/** How many worlds are read at once. */
const PAGE_SIZE = 100;

const DAY = 24 * 60 * 60_000;

/**
 * How many days a world keeps its chat: `config.chat.retention_days`. Clients store
 * whatever they like there, and only a positive number is meant.
 * @returns undefined if it keeps it for ever.
 */
export function retentionOf({ chat }: WorldConfig): number | undefined {
  const days = (chat as { retention_days?: unknown } | null | undefined)
    ?.retention_days;
  return typeof days === "number" && days > 0 ? days : undefined;
}

/** How {@link applyRetention} runs. */
export interface RetentionOptions {
  /** Ends it after the present slice. */
  signal?: AbortSignal;
  /** Gets what fails in one world; the others follow. By default it is thrown. */
  onFault?: (error: unknown, world: string) => void;
}

/**
 * Removes events of chat that are older than their world keeps them, with their
 * bytes. Several processes may do so at once: each slice is done by one of them.
 * @param now in milliseconds since 1970.
 */
export async function applyRetention(
  store: Store,
  now: number,
  { signal, onFault }: RetentionOptions = {},
): Promise<void> {
  let after = "";
  for (;;) {
    const page = await store.worlds.list({ after, limit: PAGE_SIZE });
    for (const { id, config } of page) {
      const before = now - (retentionOf(config) ?? Infinity) * DAY;
      if (before <= 0) continue;
      try {
        while (!signal?.aborted && (await store.chat.expire(id, before))) {
          await pause(signal);
        }
      } catch (error) {
        // It was deleted meanwhile.
        if (error instanceof StoreError && error.problem === "absent") continue;
        if (!onFault) throw error;
        onFault(error, id);
      }
    }
    if (signal?.aborted || page.length < PAGE_SIZE) return;
    after = page.at(-1)!.id;
  }
}

/** A pause that a signal ends. */
const pause = (signal?: AbortSignal): Promise<void> =>
  sleep(PAUSE, undefined, { ...(signal && { signal }) }).catch(() => {});

/** When it runs, in milliseconds. */
interface RetentionTimes {
  first?: number;
  interval?: number;
}

/** Applies the retention of all worlds soon after the start, and then daily. */
export default fp<RetentionTimes>(
  async (app, { first = FIRST, interval = INTERVAL }) => {
    const stop = new AbortController();
    const { signal } = stop;
    let running = Promise.resolve();
    let timer: NodeJS.Timeout | undefined;

    function schedule(delay: number): void {
      timer = setTimeout(() => {
        running = run();
      }, delay).unref();
    }

    async function run(): Promise<void> {
      const onFault = (error: unknown, world?: string) => {
        if (signal.aborted) return;
        app.log.error({ err: error, world }, "cannot expire chat");
      };
      try {
        await applyRetention(app.store, Date.now(), { signal, onFault });
      } catch (error) {
        onFault(error);
      }
      if (!signal.aborted) schedule(interval);
    }

    // Not all processes of a server at the same moment.
    app.addHook("onReady", async () => schedule(first * (1 + Math.random())));
    app.addHook("onClose", async () => {
      stop.abort();
      clearTimeout(timer);
      await running;
    });
  },
  { name: "retention", dependencies: ["engines"] },
);
