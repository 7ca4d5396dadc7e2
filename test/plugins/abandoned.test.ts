import { pino } from "pino";
import t from "tap";
import { type Store, StoreError } from "../../db/contract/store.js";
import { admin, dial, listen, rawRequest, serve, until } from "../helper.js";

const as = admin("demo");
const rooms = "/api/v1/worlds/demo/rooms/";

void t.test("a search whose client goes is no failure", async (t) => {
  for (const problem of ["busy", "unusable"] as const) {
    let asked = false;
    let ended = false;
    const wrap = (store: Store): Store => ({
      ...store,
      rooms: {
        ...store.rooms,
        list: (_world, { signal }) =>
          new Promise((_resolve, reject) => {
            asked = true;
            signal!.addEventListener("abort", () => {
              ended = true;
              reject(
                new StoreError(problem, "The caller of this search has left."),
              );
            });
          }),
      },
    });
    const lines: { level: number; msg: string }[] = [];
    const logger = pino(
      { level: "debug" },
      {
        write: (line) =>
          void lines.push(JSON.parse(line) as { level: number; msg: string }),
      },
    );
    const { app } = await serve(t, undefined, { wrap, logger });
    const wire = dial(t, await listen(app));
    wire.send(rawRequest(`GET ${rooms}?search=x`, { Authorization: as }));
    await until(() => asked);
    wire.hangUp();
    await until(() => ended);
    await app.close();
    const failed = lines.filter(({ level }) => level >= 50);
    t.equal(failed.length, problem === "busy" ? 0 : 1, problem);
  }
});
