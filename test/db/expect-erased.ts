import { readdirSync } from "node:fs";
import { heldIn } from "../database.js";
import { until } from "../helper.js";

/** The marks of erasures that are not over. */
export const marksIn = (dataDir: string): string[] =>
  readdirSync(dataDir).filter((name) => name.includes("erasing"));

/** What was erased leaves the files soon. Until then, a mark says so to the next process. */
export async function expectErased(
  dataDir: string,
  texts: readonly string[],
): Promise<void> {
  const isHeld = () => heldIn(dataDir, texts).length > 0;
  // It may go between two looks.
  if (isHeld() && marksIn(dataDir).length === 0 && isHeld()) {
    throw new Error(`${texts.join()} is neither erased nor marked`);
  }
  await until(() => !isHeld());
}
