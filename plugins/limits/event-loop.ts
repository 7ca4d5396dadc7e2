import { monitorEventLoopDelay } from "node:perf_hooks";
import type { FastifyInstance } from "fastify";

/** How often the delay of the event loop is sampled, in milliseconds. */
const RESOLUTION = 10;

/**
 * Measures the delay of the event loop. @fastify/under-pressure does so, too, but
 * it also asks for the memory, in a timer; that throws when there are no file
 * descriptors left, and would end the server.
 * @param interval over how many milliseconds to average. An interval without two
 *   turns of the loop counts as an endless delay, so a short one would make an
 *   overload of any pause.
 * @returns the average delay in the last interval, in milliseconds.
 */
export function watchEventLoop(
  app: FastifyInstance,
  interval: number,
): () => number {
  const histogram = monitorEventLoopDelay({ resolution: RESOLUTION });
  histogram.enable();
  let delay = 0;
  const timer = setInterval(() => {
    const { mean } = histogram;
    delay = Number.isNaN(mean) ? Infinity : mean / 1e6 - RESOLUTION;
    histogram.reset();
  }, interval).unref();
  app.addHook("onClose", async () => {
    clearInterval(timer);
    histogram.disable();
  });
  return () => delay;
}
