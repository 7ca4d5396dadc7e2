import t from "tap";
import { serve } from "../helper.js";
import { agreesWithModel } from "../model.js";
import { faultsAreNamed, subject, validInputIsTaken } from "../properties.js";

// Seeds are new each time, and printed: SEED=… tries the same again, and
// `npm run fuzz` tries for longer.

const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31);
const numRuns = Number(process.env.RUNS ?? 5);
t.comment(`SEED=${seed} RUNS=${numRuns}`);

for (const [name, property] of Object.entries({
  "valid input is taken, and reads back": validInputIsTaken,
  "a fault is named": faultsAreNamed,
  "any sequence of calls agrees with a model": agreesWithModel,
})) {
  void t.test(name, async (t) => {
    const server = await serve(t, subject);
    await t.resolves(property(server, { seed, numRuns }), `SEED=${seed}`);
  });
}
