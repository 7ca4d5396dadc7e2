import { type Clock, sleep } from "../../db/log/clock.js";
import type { Connection } from "./connection.js";
import { Close } from "./frame.js";

/** In how many steps websockets are closed. */
const STEPS = 30;

/** How long the steps take at most, in milliseconds. */
const SPREAD = 3000;
/** The same where no other process takes the clients: they only wait for the next server. */
const SPREAD_ALONE = 300;

/**
 * Closes all websockets in steps, each by the closing handshake. Clients connect
 * again elsewhere, or here when the next server listens. If all came at once, they
 * would overload another process.
 * @param sockets the open ones.
 * @param isAlone whether there is no other process.
 * @param timeout how long the server waits before it stops, in milliseconds. The
 *   steps take a part of it, and so does the wait for clients that do not answer.
 */
export async function closeAll(
  clock: Clock,
  sockets: ReadonlyMap<string, Connection>,
  timeout: number,
  isAlone: boolean,
): Promise<void> {
  const within = Math.min(isAlone ? SPREAD_ALONE : SPREAD, 0.3 * timeout);
  const open = [...sockets.values()];
  const step = Math.ceil(open.length / STEPS);
  for (let i = 0; i < open.length; i += step) {
    for (const connection of open.slice(i, i + step)) {
      connection.closeAfterAnswer(Close.restart);
    }
    if (step > 1) await sleep(clock, within / STEPS);
  }
  const deadline = clock.now() + Math.min(2000, 0.3 * timeout);
  while (sockets.size > 0 && clock.now() < deadline) {
    await sleep(clock, 20);
  }
  for (const connection of sockets.values()) connection.drop();
}
