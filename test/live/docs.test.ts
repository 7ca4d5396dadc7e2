import { readFileSync } from "node:fs";
import t from "tap";
import { liveErrors } from "../../schemas/live/errors.js";
import { pushes } from "../../schemas/live/index.js";

const page = readFileSync(
  new URL("../../../docs/live.md", import.meta.url),
  "utf8",
);

/** The cells of the table of a section, without its head. */
function tableOf(section: string): string[][] {
  const [text = ""] = page.split(`\n## ${section}\n`)[1]!.split("\n## ", 1);
  return [...text.matchAll(/^\| (.+) \|$/gm)]
    .map(([, row]) => row!.split("|").map((cell) => cell.trim()))
    .slice(2);
}

void t.test(
  "docs/live.md has every code, in the words of the code",
  async (t) => {
    t.same(
      tableOf("Errors"),
      [
        ...Object.entries(liveErrors),
        ["<module>.unsupported_command", "The module has no such command."],
      ].map(([code, when]) => [`\`${code}\``, when]),
    );
  },
);

void t.test("docs/live.md has every push", async (t) => {
  const named = tableOf("Pushes").flatMap(([cell = ""]) => {
    const names = [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => name!);
    // `.removed` continues the name before it.
    return names.map((name) =>
      name.startsWith(".")
        ? names[0]!.slice(0, names[0]!.lastIndexOf(".")) + name
        : name,
    );
  });
  const { authenticated: _, ...sent } = pushes;
  t.same(named.sort(), Object.keys(sent).sort());
});
