import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import t from "tap";

const web = fileURLToPath(new URL("../../../web", import.meta.url));
const files = readdirSync(web, { recursive: true, encoding: "utf8" });

/** The classes that say which kind of button something is, such as `icon`. */
const kinds = new Set(
  [
    ...readFileSync(join(web, "base.css"), "utf8").matchAll(
      /\.button\.([a-z]+)/g,
    ),
  ].map(([, kind]) => kind!),
);

void t.test("no component restyles a kind of button unawares", async (t) => {
  t.ok(kinds.has("icon"));
  const restyled: string[] = [];
  for (const file of files.filter((it) => it.endsWith(".svelte"))) {
    const source = readFileSync(join(web, file), "utf8");
    const [markup = "", style = ""] = source.split("<style>");
    // A rule for another element of the component with the same class.
    const own = [...style.matchAll(/^\s*\.([a-z]+)\b(?=[^{};]*\{)/gm)]
      .map(([, name]) => name!)
      .filter((name) => kinds.has(name));
    const used = [...markup.matchAll(/class="([^"]*\bbutton\b[^"]*)"/g)]
      .flatMap(([, names]) => names!.split(/\s+/))
      .filter((name) => own.includes(name));
    restyled.push(...used.map((name) => `${file}: .${name}`));
  }
  t.same(restyled, []);
});
