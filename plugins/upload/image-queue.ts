import pLimit, { type LimitFunction } from "p-limit";
import { Refusal } from "../http/errors.js";
import { abandoned } from "../long-work/turns.js";
import { MAX_PIXELS } from "./pixels.js";

/** How many pixels may wait if all are of one world: a few of the largest images, or dozens of photos. */
const MAX_WAITING = 5 * MAX_PIXELS;

const tooMany = () =>
  new Refusal(503, "Too many images are waiting. Try again soon.", { "retry-after": "10" });

/** The images of one world. */
interface Line {
  readonly inOrder: LimitFunction;
  /** How many pixels wait, without the image in progress. */
  waiting: number;
  /** How many images wait, are in progress, or have left and not had their turn yet. */
  images: number;
}

/**
 * Lets one image be worked on at a time. Worlds take turns, so one that uploads many images delays
 * another by one image each time. Pixels bound what waits: worlds share the room equally, and each
 * may have one image in any case. An image leaves when its client disconnects.
 */
export class ImageQueue {
  /** At most one image of each world stands here. */
  readonly #turns = pLimit(1);
  readonly #lines = new Map<string, Line>();

  /**
   * Works on an image when its turn comes, unless its client is gone by then.
   * @param world whose image it is.
   * @throws {Refusal} 503 if too many wait; 408 if the client is gone.
   */
  async inTurn(
    world: string,
    pixels: number,
    gone: AbortSignal,
    work: () => Promise<void>,
  ): Promise<void> {
    if (gone.aborted) throw abandoned();
    const line = this.#lines.get(world) ?? { inOrder: pLimit(1), waiting: 0, images: 0 };
    if (line.waiting > 0 && line.waiting + pixels > this.#shareOf(line)) {
      throw tooMany();
    }
    this.#lines.set(world, line);
    line.waiting += pixels;
    line.images++;
    await new Promise<void>((resolve, reject) => {
      const leave = () => {
        line.waiting -= pixels;
        reject(abandoned());
      };
      gone.addEventListener("abort", leave, { once: true });
      const run = async () => {
        if (gone.aborted) return;
        gone.removeEventListener("abort", leave);
        line.waiting -= pixels;
        await work().then(resolve);
      };
      line
        .inOrder(async () => {
          // It takes no turn from others.
          if (!gone.aborted) await this.#turns(run);
        })
        .catch(reject)
        .finally(() => {
          if (--line.images === 0) this.#lines.delete(world);
        });
    });
  }

  /** How many pixels of a world may wait, beside those of others. */
  #shareOf(own: Line): number {
    let worlds = 1;
    for (const line of this.#lines.values()) {
      if (line !== own && line.waiting > 0) worlds++;
    }
    return MAX_WAITING / worlds;
  }
}
