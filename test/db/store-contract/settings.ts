import { keyOf, worldOf } from "../../helper.js";
import { type Contract, fails, sees } from "./setup.js";

/** What every store keeps to when single keys of a config are changed. */
export async function settingContract(contract: Contract): Promise<void> {
  await contract("a world is configured by keys", async (t, store, open) => {
    const other = await open();
    const { JWT_secrets } = worldOf("demo").config;
    const config = { theme: { a: 1, b: 2 }, JWT_secrets, locale: "en" };
    const before = await store.worlds.create({
      ...worldOf("new"),
      config: { ...config, JWT_secrets: [keyOf("new")] },
    });
    const forged = { ...keyOf("new"), secret: "x".repeat(40) };
    const steps: [changes: object, config: object][] = [
      [
        { config: { timezone: "UTC", theme: { c: 3 } } },
        {
          theme: { c: 3 },
          JWT_secrets: [keyOf("new")],
          locale: "en",
          timezone: "UTC",
        },
      ],
      [
        { config: { JWT_secrets: [forged], locale: null, theme: undefined } },
        {
          theme: { c: 3 },
          JWT_secrets: [keyOf("new")],
          locale: null,
          timezone: "UTC",
        },
      ],
    ];
    let last = before;
    for (const [changes, expected] of steps) {
      const changed = await store.worlds.configure("new", changes);
      t.equal(
        JSON.stringify(changed.value.config),
        JSON.stringify(expected),
        "in this order",
      );
      t.not(changed.version, last.version);
      await sees(t, () => other.worlds.get("new"), changed);
      last = changed;
    }
    const again = await store.worlds.configure("new", {
      title: undefined,
      config: { timezone: "UTC" },
    });
    t.equal(again.version, last.version, "the same values, the same version");
    const named = await store.worlds.configure("new", {
      title: "Named",
      permission_config: { "world.view": ["x"] },
    });
    t.match(named.value, {
      title: "Named",
      permission_config: { "world.view": ["x"] },
      domain: before.value.domain,
    });
    t.strictSame(named.value.config, last.value.config);
    const { issuer, audience } = keyOf("new");
    t.strictSame(await store.worlds.issuing(issuer, audience), [named]);
    await fails(t, store.worlds.configure("none", { title: "x" }), "absent");
    const { version } = named;
    const title = { title: "by version" };
    await fails(t, store.worlds.configure("new", title, []), "changed");
    await store.worlds.configure("new", title, ["old", version]);
    const late = store.worlds.configure("new", { title: "late" }, [version]);
    await fails(t, late, "changed");
  });

  await contract("settings at the same time", async (t, store, open) => {
    const stores = [store, await open()];
    const names = Array.from({ length: 40 }, (_, i) => `key${i}`);
    await Promise.all(
      names.map((name, i) =>
        stores[i % 2]!.worlds.configure("demo", { config: { [name]: i } }),
      ),
    );
    const stored = async () => {
      const { config } = (await store.worlds.get("demo"))!.value;
      return names.map((name) => config[name]);
    };
    const all = names.map((_, i): unknown => i);
    await sees(t, stored, all, "none is lost");
  });
}
