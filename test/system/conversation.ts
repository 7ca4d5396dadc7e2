import { setTimeout as delay } from "node:timers/promises";
import type { Test } from "tap";
import type { Chatter } from "./chatter.js";

// A conversation of several people, and whether each of them heard all of it.

/**
 * Lets writers write until something is so.
 * @param pause of each between two messages, in milliseconds. No user writes without
 *   breathing, and others need the machine.
 */
export async function writeUntil(
  writers: Chatter[],
  isOver: () => boolean,
  pause = 10,
): Promise<void> {
  await Promise.all(
    writers.map(async (writer) => {
      while (!isOver()) {
        await writer.say();
        await delay(pause);
      }
    }),
  );
}

/**
 * Whether everybody got every event once and in order, and every message that was
 * acknowledged is stored once.
 * @returns the id of the last event.
 */
export async function verify(
  t: Test,
  writers: Chatter[],
  everybody: Chatter[],
): Promise<number> {
  const [one] = writers;
  await one!.say();
  const last = Math.max(...one!.acknowledged.values());
  for (const chatter of everybody) await chatter.sees(last);
  const history = await one!.history();
  const stored = history.map(({ event_id }) => event_id);
  const ascending = [...new Set(stored)].sort((a, b) => a - b);
  t.same(stored, ascending, "history is in order");
  for (const chatter of everybody) {
    const until = chatter.seen.indexOf(last) + 1;
    t.same(
      chatter.seen.slice(0, until),
      stored.slice(0, stored.indexOf(last) + 1),
      `${chatter.name} got every event once and in order`,
    );
  }
  const byBody = new Map<string, number[]>();
  for (const { event_id, content } of history) {
    if (content.body === undefined) continue;
    byBody.set(content.body, [...(byBody.get(content.body) ?? []), event_id]);
  }
  for (const { name, acknowledged, unsure } of writers) {
    const kept = [...acknowledged].map(([body]) => byBody.get(body));
    t.same(
      kept,
      [...acknowledged].map(([, id]) => [id]),
      `what ${name} got acknowledged is there once`,
    );
    const ids = [...acknowledged.values()];
    t.same(
      ids,
      [...ids].sort((a, b) => a - b),
      "in the order in which it was written",
    );
    const twice = [...unsure].filter((body) => {
      return (byBody.get(body)?.length ?? 0) > 1;
    });
    t.same(twice, [], "and nothing else is there twice");
  }
  return last;
}
