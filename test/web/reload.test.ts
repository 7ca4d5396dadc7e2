import t from "tap";
import { reloadOnline, type ReloadWindow } from "../../web/lib/reload.js";

void t.test("a page is loaded again only from a server in reach", async (t) => {
  // The timer of a signal keeps no process alive.
  const alive = setInterval(() => {}, 1000);
  t.teardown(() => clearInterval(alive));
  const never = (_: unknown, { signal }: RequestInit = {}) =>
    new Promise<Response>((_resolve, reject) =>
      signal?.addEventListener("abort", () => reject(new Error("Too late"))),
    );
  const cases: [name: string, fetch: ReloadWindow["fetch"], works: boolean][] =
    [
      ["in reach", async () => new Response(""), true],
      ["ill", async () => new Response("", { status: 502 }), false],
      [
        "out of reach",
        async () => Promise.reject(new TypeError("Failed to fetch")),
        false,
      ],
      ["silent", never, false],
    ];
  for (const [name, fetch, works] of cases) {
    let reloads = 0;
    const location = {
      href: "https://foyer.example/#/rooms/a",
      reload: () => void reloads++,
    };
    t.equal(await reloadOnline({ location, fetch }, 20), works, name);
    t.equal(reloads, works ? 1 : 0, name);
  }
});
