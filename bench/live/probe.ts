import { Agent, get } from "node:http";

/** How often a request is sent, in milliseconds. */
const INTERVAL = 5;

/**
 * Asks for a path at a fixed rate, whether answers come or not, so that a server
 * that stands still is noticed.
 * @returns the latencies, in milliseconds, sorted.
 */
export async function probe(
  port: number,
  path: string,
  headers: Record<string, string>,
  seconds: number,
): Promise<number[]> {
  const agent = new Agent({ keepAlive: true });
  const asks: Promise<number>[] = [];
  const count = (seconds * 1000) / INTERVAL;
  const begun = performance.now();
  await new Promise<void>((resolve) => {
    const timer = setInterval(() => {
      const due = Math.min(count, (performance.now() - begun) / INTERVAL);
      while (asks.length < due) {
        asks.push(ask());
      }
      if (asks.length < count) return;
      clearInterval(timer);
      resolve();
    }, INTERVAL);
  });
  const latencies = await Promise.all(asks);
  agent.destroy();
  return latencies.sort((a, b) => a - b);

  function ask(): Promise<number> {
    const sent = performance.now();
    return new Promise((resolve, reject) => {
      get({ agent, host: "127.0.0.1", port, path, headers }, (answer) => {
        answer.resume();
        answer.on("error", reject);
        answer.on("end", () => {
          if (answer.statusCode === 200) resolve(performance.now() - sent);
          else reject(new Error(`${path}: ${answer.statusCode}`));
        });
      }).on("error", reject);
    });
  }
}
