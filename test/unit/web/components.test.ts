import { existsSync, readdirSync, readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { parse } from "svelte/compiler";
import t from "tap";
import { en as englishLate } from "../../../web/i18n/late/en.js";
import { en as englishConsole } from "../../../web/i18n/console/en/index.js";
import { languages } from "../../../web/i18n/index.js";
import { agoText, isoOf, localInput } from "../../../web/lib/times.js";
import { isSame } from "../../../web/state/room-editor.js";

// Markup that the compiler allows, but no component may contain.

const web = fileURLToPath(new URL("../../../../web", import.meta.url));

/** Returns why a node of a component is refused; undefined if it is not. */
function refusal(node: Record<string, unknown>): string | undefined {
  // User content never becomes HTML; see web/lib/markdown.ts.
  if (node.type === "HtmlTag") return "{@html}";
  if (node.type === "DebugTag") return "{@debug}";
  if (node.type === "Identifier" && node.name === "$inspect") return "$inspect";
  // Without a key, an item's state would move to another item when the list changes.
  if (node.type === "EachBlock" && node.context && !node.key) {
    return "{#each} without a key";
  }
  return undefined;
}

function* refusalsIn(node: unknown): Generator<string> {
  if (typeof node !== "object" || node === null) return;
  const found = refusal(node as Record<string, unknown>);
  if (found) yield found;
  for (const inner of Object.values(node)) yield* refusalsIn(inner);
}

const refusalsOf = (source: string) => [...refusalsIn(parse(source, { modern: true }))];

void t.test("no component has it", async (t) => {
  const files = readdirSync(web, { recursive: true, encoding: "utf8" });
  const components = files.filter((path) => path.endsWith(".svelte"));
  t.ok(components.length > 150);
  for (const path of components) {
    t.same(refusalsOf(readFileSync(join(web, path), "utf8")), [], path);
  }
});

void t.test("the same JSON", async (t) => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => isSame(value, JSON.parse(JSON.stringify(value)))),
  );
  t.ok(isSame({ a: 1, b: [2] }, { b: [2], a: 1 }));
  t.ok(isSame({ a: undefined }, {}));
  const different: [unknown, unknown][] = [
    [[], {}],
    [null, {}],
    [
      [1, 2],
      [2, 1],
    ],
    [{ a: 1 }, { b: 1 }],
    [{ toString: 1 }, {}],
    ["1", 1],
  ];
  for (const [a, b] of different) t.notOk(isSame(a, b), JSON.stringify([a, b]));
});

void t.test("times", async (t) => {
  const iso = "2027-01-31T09:30:00.000Z";
  t.equal(isoOf(localInput(iso)), iso);
  t.equal(isoOf(""), null);
  t.equal(localInput(null), "");
  t.equal(localInput("nonsense"), "");
  const now = Date.parse(iso);
  const ago = (seconds: number) => agoText(new Date(now - seconds * 1000).toISOString(), now, "en");
  t.equal(ago(5), "this minute");
  t.equal(ago(-5), "this minute");
  t.equal(ago(65), "1 minute ago");
  t.equal(ago(7300), "2 hours ago");
  t.equal(ago(90_000), "yesterday");
});

/** Returns the texts of a language, keyed by section, name and form. */
async function textsOf(code: string): Promise<Map<string, string>> {
  const { load, loadConsole, loadLate } = languages[code]!;
  const found = new Map<string, string>();
  const add = (value: unknown, path: string) => {
    if (typeof value === "string") found.set(path, value);
    else {
      for (const [name, inner] of Object.entries(value as object)) {
        add(inner, path === "" ? name : `${path}.${name}`);
      }
    }
  };
  add(await load(), "");
  const { frame, pages } = (await loadConsole?.()) ?? englishConsole;
  const parts = Object.values<() => Promise<object>>(pages);
  for (const words of [frame, ...(await Promise.all(parts.map((load) => load())))]) {
    add(words, "");
  }
  add((await loadLate?.()) ?? englishLate, "");
  return found;
}

const withoutForm = (path: string) => path.split(".").slice(0, 2).join(".");
const placeholders = (text: string) => [
  ...new Set(
    text
      .match(/\{\w+\}/g)
      ?.filter((it) => it !== "{n}")
      .sort(),
  ),
];

void t.test("every language says what English says", async (t) => {
  const english = await textsOf("en");
  const expected = new Map([...english].map(([path, text]) => [withoutForm(path), text]));
  for (const code of Object.keys(languages)) {
    const texts = await textsOf(code);
    const own = new Set([...texts.keys()].map(withoutForm));
    t.same([...own].sort(), [...expected.keys()].sort(), code);
    const forms = new Intl.PluralRules(code).resolvedOptions().pluralCategories;
    for (const [path, text] of texts) {
      const base = withoutForm(path);
      t.not(text.trim(), "", `${code} ${path}`);
      t.same(placeholders(text), placeholders(expected.get(base)!), `${code} ${path}`);
      if (base === path) continue;
      for (const form of forms) t.ok(texts.has(`${base}.${form}`), path);
    }
  }
});

/** Returns a file of the pages with all files that it imports, directly or indirectly. */
function reachOf(path: string, isApart: (path: string) => boolean, found = new Set<string>()) {
  if (found.has(path) || isApart(path)) return found;
  found.add(path);
  const source = readFileSync(join(web, path), "utf8");
  for (const [, type, name] of source.matchAll(
    /(?:(import|export) type )?[^;"]*?(?:from|import\()\s*"(\.[^"]+)"/g,
  )) {
    if (type !== undefined) continue;
    const next = join(path, "..", name!);
    const file = [next, next.replace(/\.js$/, ".ts")].find((it) => existsSync(join(web, it)));
    if (file !== undefined) reachOf(file, isApart, found);
  }
  return found;
}

void t.test("each page of the console loads the words that it shows", async (t) => {
  const { frame, pages } = englishConsole;
  /** The part that has a message; undefined if it comes with the console, or is none of its messages. */
  const partOf = new Map<string, string>();
  for (const [part, load] of Object.entries(pages)) {
    for (const [section, messages] of Object.entries(await load())) {
      for (const name of Object.keys(messages as object)) partOf.set(`${section}.${name}`, part);
      partOf.set(section, part);
    }
  }
  const needs = (paths: Iterable<string>) => {
    const found = new Map<string, string>();
    for (const path of paths) {
      const source = readFileSync(join(web, path), "utf8");
      for (const [, key, section] of source.matchAll(/["`](?:(\w+\.\w+)["`]|(\w+)\.\w*\$\{)/g)) {
        const part = partOf.get((key ?? section)!);
        if (part !== undefined) found.set(part, `${key ?? section} in ${path}`);
      }
    }
    return found;
  };
  const loaded = [
    ...readFileSync(join(web, "console/pages.ts"), "utf8").matchAll(
      /(?:withConsoleWords\(\s*\[([^\]]*)\],\s*)?(?:withLateWords\(\s*)?import\("\.\/([^"]+)"/g,
    ),
  ].map(([, names = "", path]) => ({
    names: [...names.matchAll(/\w+/g)].map(String),
    path: `console/${path}`,
  }));
  t.ok(loaded.length > 15);
  t.ok(Object.keys(frame).length > 3);
  const isApart = (path: string) =>
    /^(?:\.\.|i18n|attend)/.test(path) || loaded.some((it) => it.path === path);
  for (const entry of ["console/main.ts", "setup/main.ts"]) {
    t.same([...needs(reachOf(entry, isApart))], [], entry);
  }
  for (const { names, path } of loaded) {
    const found = needs(reachOf(path, (it) => it !== path && isApart(it)));
    const missing = [...found].filter(([part]) => !names.includes(part));
    t.same(missing, [], path);
    t.same(
      names.filter((name) => !found.has(name)),
      [],
      `${path} loads no more`,
    );
  }
});

void t.test("German has one name for each thing, and says Sie", async (t) => {
  const lines = [...(await textsOf("de")).values()];
  const text = lines.join("\n");
  t.match(text, /\bSie\b/);
  t.notMatch(text, /\b(du|dich|dir|deine?[nmrs]?)\b/i);
  const terms = (await readFile("web/i18n/README.md", "utf8"))
    .split("\n")
    .filter((line) => line.startsWith("| ") && !line.startsWith("| English"))
    .map((line) => line.split("|").map((cell) => cell.trim()))
    .slice(1);
  t.ok(terms.length > 20);
  for (const [, , german = "", others = ""] of terms) {
    for (const word of german.split(", ")) {
      t.match(text.toLowerCase(), word.toLowerCase());
    }
    for (const word of others.split(", ").filter(Boolean)) {
      const pattern = new RegExp(`(?<!\\p{L})${word}(?!\\p{L})`, "iu");
      t.same(
        lines.filter((line) => pattern.test(line)),
        [],
      );
    }
  }
});
