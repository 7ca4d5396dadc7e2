import { existsSync, readFileSync } from "node:fs";
import t from "tap";

const root = new URL("../../", import.meta.url);

void t.test("each test that SECURITY.md names is there", (t) => {
  const text = readFileSync(new URL("SECURITY.md", root), "utf8");
  // In each row the last column says what shows it.
  const rows = text
    .split("\n")
    .filter((line) => /^\| (?!They want|-)/.test(line));
  t.ok(rows.length > 15, `${rows.length} threats`);
  for (const row of rows) {
    const named = [
      ...row
        .split("|")
        .at(-2)!
        .matchAll(/`([^`]+)`/g),
    ];
    t.ok(named.length > 0, row.split("|")[1]!.trim());
    for (const [, path] of named) {
      t.ok(existsSync(new URL(path!, root)), path!);
    }
  }
  t.end();
});
