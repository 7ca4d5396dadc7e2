import t from "tap";
import { browserShelf } from "../../web/lib/storage.js";

void t.test("what found no room is kept until there is some", async (t) => {
  const values = new Map<string, string>();
  let isFull = true;
  const storage = {
    getItem: (key: string) => values.get(key) ?? null,
    setItem(key: string, value: string) {
      if (isFull) throw new Error("QuotaExceededError");
      values.set(key, value);
    },
    removeItem: (key: string) => values.delete(key),
  };
  const before = Object.getOwnPropertyDescriptor(globalThis, "localStorage");
  Object.defineProperty(globalThis, "localStorage", {
    value: storage,
    configurable: true,
  });
  t.teardown(() => {
    if (before) Object.defineProperty(globalThis, "localStorage", before);
    else Reflect.deleteProperty(globalThis, "localStorage");
  });

  const shelf = browserShelf();
  shelf.setItem("token", "first");
  t.equal(shelf.getItem("token"), "first");
  isFull = false;
  shelf.setItem("token", "second");
  t.equal(shelf.getItem("token"), "second", "the newer one counts");
  t.equal(browserShelf().getItem("token"), "second");
});
