import { worldOf } from "../../helper.js";
import type { Contract } from "./setup.js";

/** What every store keeps to when it looks for the world of a host name. */
export async function hostContract(contract: Contract): Promise<void> {
  await contract("the world that a host stands for", async (t, store) => {
    const check = async (expected: Record<string, string | undefined>) => {
      for (const [host, id] of Object.entries(expected)) {
        t.equal((await store.worlds.at(host))?.value.id, id, `"${host}"`);
      }
    };
    const any = ["demo.example.org", "demo.example.org:80", "x.org", "x:1", ""];
    const allDemo = Object.fromEntries(any.map((host) => [host, "demo"]));
    await check(allDemo);

    await store.worlds.create(worldOf("a", { domain: "a.org:8001" }));
    await store.worlds.create(worldOf("b", { domain: "a.org:8002" }));
    await check({
      "demo.example.org": "demo",
      "demo.example.org:8001": "demo",
      "a.org:8001": "a",
      "a.org:8002": "b",
      "a.org": undefined,
      "a.org:8003": undefined,
      "a.org:800": undefined,
      "a.org:80010": undefined,
      "example.org": undefined,
      "x.demo.example.org": undefined,
      "demo_example.org": undefined,
      "%": undefined,
      "": undefined,
    });
    t.strictSame(
      await store.worlds.at("a.org:8001"),
      await store.worlds.get("a"),
    );

    await store.worlds.update("a", { domain: "moved.org" });
    await check({
      "a.org:8001": undefined,
      "moved.org": "a",
      "moved.org:1": "a",
    });
    await store.worlds.delete("a");
    await check({ "moved.org": undefined, "a.org:8002": "b" });
    await store.worlds.delete("b");
    await check(allDemo);
    await store.worlds.delete("demo");
    await check({ "demo.example.org": undefined, "x.org": undefined });
  });
}
