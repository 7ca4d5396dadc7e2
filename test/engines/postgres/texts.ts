import { decodedText, encodedText } from "../../../db/postgres/engine/sql.js";
import { worldOf } from "../../helper.js";
import { selection } from "../../db/store-contract/setup.js";
import { emptyDatabase, openNode, type Part } from "./setup.js";

/** Characters that PostgreSQL does not store. */
export const texts: Part = async (t, server) => {
  const chars = ["", "\0", "\x01", "\x02", "\x03", "\x04", "\x05", "\x06", "a"];
  const all = chars.flatMap((a) =>
    chars.flatMap((b) => chars.map((c) => a + b + c)),
  );
  const wrong = all.filter((text) => decodedText(encodedText(text)) !== text);
  t.strictSame(wrong, [], "every text comes back");
  t.notOk(all.some((text) => encodedText(text).includes("\0")));
  const unordered = all.filter(
    (text, i) =>
      i > 0 &&
      text < all[i - 1]! !== encodedText(text) < encodedText(all[i - 1]!),
  );
  t.strictSame(unordered, [], "their order stays");
  const misfound = all.flatMap((text) =>
    chars
      .flatMap((a) => chars.map((b) => a + b))
      .filter(
        (part) =>
          text.includes(part) !== encodedText(text).includes(encodedText(part)),
      ),
  );
  t.strictSame(misfound, [], "and what is in them");

  const { worlds, rooms } = await openNode(t, await emptyDatabase(server));
  await worlds.create(worldOf("demo"));
  const names = ["a", "\x01\x02", "\0", "\x01", "\0\x02", "\x02"];
  for (const name of names) await rooms.create("demo", { name });
  const found = async (search: string) => {
    const asked = selection({ search, ordering: "name" });
    const { rooms: page } = (await rooms.list("demo", asked)).value;
    return page.map(({ name }) => name);
  };
  t.strictSame(await found(""), [...names].sort());
  for (const search of ["\0", "\x01", "\x02", "A"]) {
    t.strictSame(
      await found(search),
      names.filter((name) => name.toUpperCase().includes(search)).sort(),
      JSON.stringify(search),
    );
  }
};
