import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parse } from "svelte/compiler";
import t from "tap";

// What no component has in its markup. The compiler allows it.

const web = fileURLToPath(new URL("../../../web", import.meta.url));

/** Why a part of a component is refused, if it is. */
function refusal(node: Record<string, unknown>): string | undefined {
  // Nothing that people write becomes HTML; see web/lib/markdown.ts.
  if (node.type === "HtmlTag") return "{@html}";
  if (node.type === "DebugTag") return "{@debug}";
  if (node.type === "Identifier" && node.name === "$inspect") return "$inspect";
  // Without a key, the state of an item goes to another one when the list changes.
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

const refusalsOf = (source: string) => [
  ...refusalsIn(parse(source, { modern: true })),
];

void t.test("what is refused", async (t) => {
  const rows: [string, string[]][] = [
    ["<p>{@html text}</p>", ["{@html}"]],
    ["<A>{#snippet b()}{#if c}{@html c}{/if}{/snippet}</A>", ["{@html}"]],
    ["{@debug text}", ["{@debug}"]],
    ["<script>$inspect(1);</script>", ["$inspect"]],
    ["{#each list as one}{one}{/each}", ["{#each} without a key"]],
    ["{#each list as { id }, i (id)}{i}{/each}", []],
    ["{#each { length: 3 }}<hr />{/each}", []],
    ["<p>@html {text}</p>", []],
  ];
  for (const [source, found] of rows) t.same(refusalsOf(source), found, source);
});

void t.test("no component has it", async (t) => {
  const files = readdirSync(web, { recursive: true, encoding: "utf8" });
  const components = files.filter((path) => path.endsWith(".svelte"));
  t.ok(components.length > 200);
  for (const path of components) {
    t.same(refusalsOf(readFileSync(join(web, path), "utf8")), [], path);
  }
});
