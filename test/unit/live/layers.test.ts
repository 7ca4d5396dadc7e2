import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, posix } from "node:path";
import t from "tap";
import { createApp } from "../../../app.js";
import { LocalBus } from "../../../db/bus/bus.js";
import type { AnyEvent, StoreListener } from "../../../db/contract/events.js";
import { LogEvents } from "../../../db/log/log-events.js";
import { openEngines } from "../../../db/open.js";
import {
  entryOrder,
  type EntryTable,
  handEntries,
  subscribers,
  worldSubscribers,
} from "../../../live/order.js";

// The structure of the live layer: the order of its subscribers, and its imports.

const root = join(import.meta.dirname, "../../../..");

const files = execFileSync("git", ["ls-files", "*.ts", "*.js", "*.svelte"], {
  cwd: root,
  encoding: "utf8",
})
  .trim()
  .split("\n");

/** Returns the project files that each file imports, including type imports. */
function importsOf(names: readonly string[]): Map<string, string[]> {
  const known = new Set(names);
  const imported = (file: string, path: string): string[] => {
    const target = posix.join(posix.dirname(file), path);
    const named = [target.replace(/\.js$/, ".ts"), target, `${target}.ts`];
    return named.filter((name) => known.has(name)).slice(0, 1);
  };
  return new Map(
    names.map((file) => {
      const text = readFileSync(join(root, file), "utf8");
      const paths = text.matchAll(/(?:from|import)\s*\(?\s*"(\.[^"]+)"/g);
      return [file, [...paths].flatMap(([, path]) => imported(file, path!))];
    }),
  );
}

/** Returns the groups of files that import each other (Tarjan's algorithm). */
function importCycles(graph: ReadonlyMap<string, readonly string[]>): string[][] {
  const circles: string[][] = [];
  const lows = new Map<string, number>();
  const path: string[] = [];
  const visit = (file: string): number => {
    const index = lows.size;
    lows.set(file, index);
    const start = path.push(file) - 1;
    let low = index;
    for (const next of graph.get(file) ?? []) {
      if (!lows.has(next)) low = Math.min(low, visit(next));
      else if (path.includes(next)) low = Math.min(low, lows.get(next)!);
    }
    lows.set(file, low);
    if (low === index) {
      const circle = path.splice(start);
      if (circle.length > 1) circles.push(circle.sort());
    }
    return low;
  };
  for (const file of graph.keys()) if (!lows.has(file)) visit(file);
  return circles;
}

const graph = importsOf(files);

void t.test("no files import each other in a circle", async (t) => {
  // The parts of the simulation import each other's types.
  const circles = importCycles(graph).filter(
    ([file]) => !file!.startsWith("test/protocol/simulation/"),
  );
  t.same(circles, []);
});

/** Each layer of the websocket may import only itself and the layers before it. */
const layers = ["rules", "socket", "people", "delivery", "modules"];

/** Files that modules may import in addition to the layers. */
const seams = ["live/module.ts"];

void t.test("a layer knows no layer above it", async (t) => {
  const faults: string[] = [];
  for (const [file, imports] of graph) {
    const [top, layer = "", module] = file.split("/");
    if (top !== "live" || !layers.includes(layer)) continue;
    for (const target of imports) {
      const [other, above = "", next] = target.split("/");
      // Modules receive code from plugins as ports.
      if (layer === "modules" && other === "plugins") {
        faults.push(`${file} imports ${target}`);
      }
      if (other !== "live" || seams.includes(target)) continue;
      const isAllowed =
        layers.includes(above) &&
        layers.indexOf(above) <= layers.indexOf(layer) &&
        (above !== "modules" || next === module);
      if (!isAllowed) faults.push(`${file} imports ${target}`);
    }
  }
  t.same(faults, []);
});

void t.test("no folder of the server has more than 25 files", async (t) => {
  const server = /^(cli|conformance|db|live|plugins|routes|schemas)\//;
  const sizes = new Map<string, number>();
  for (const file of files) {
    if (!server.test(file)) continue;
    const folder = posix.dirname(file);
    sizes.set(folder, (sizes.get(folder) ?? 0) + 1);
  }
  t.same(
    [...sizes].filter(([, size]) => size > 25),
    [],
  );
});

void t.test("entries pass the parts in this order", async (t) => {
  const listed = [
    "activity",
    "world",
    "announcements",
    "guests",
    "silences",
    "program",
    "chat.unread",
    "chat.feed",
    "chat.channels",
    "chat.pages",
    "chat.held",
    "reports",
    "questions.lists",
    "questions",
    "polls.lists",
    "polls.boards",
    "polls",
    "calls",
    "screens",
    "captions",
    "reset",
    "own",
  ] as const;
  t.same(
    entryOrder.map(({ part }) => part),
    listed,
  );
  for (const { part, why } of entryOrder) t.match(why, /\w/, part);

  const listeners: StoreListener[] = [];
  const passed: string[] = [];
  const subscribe = (listener: StoreListener) => {
    listeners.push(listener);
    return () => void listeners.splice(listeners.indexOf(listener), 1);
  };
  const note = (part: string) => (event: AnyEvent) => void passed.push(`${part} ${event.type}`);
  const table = Object.fromEntries(
    listed.map((part) => [part, { "world.reset": note(part) }]),
  ) as unknown as EntryTable;
  const end = handEntries({ subscribe }, { ...table, own: note("own") });
  const send = (event: AnyEvent) => {
    for (const listener of listeners) listener(event);
  };
  send({ type: "world.reset", world: "w" });
  t.same(
    passed.splice(0),
    listed.map((part) => `${part} world.reset`),
  );
  send({ type: "chat.reacted" } as AnyEvent);
  t.same(passed.splice(0), ["own chat.reacted"], "by its type only");
  end();
  t.same(listeners, []);
});

void t.test("entries pass the rest of a process in this order", async (t) => {
  const inProcess = subscribers.map(({ file }) => file);
  const ofWorlds = worldSubscribers.map(({ file }) => file);
  for (const { file, why } of [...subscribers, ...worldSubscribers]) {
    t.match(why, /\w/, file);
  }
  const found = files.filter(
    (file) =>
      /^(db|live|plugins|routes)\//.test(file) &&
      /\b(events|bus)\.subscribe\(/.test(readFileSync(join(root, file), "utf8")),
  );
  const ofBus = ["db/log/log-events.ts"];
  t.same(found.sort(), [...inProcess, ...ofWorlds, ...ofBus].sort());

  const dataDir = await mkdtemp(join(tmpdir(), "foyer-order-"));
  t.teardown(() => rm(dataDir, { recursive: true }));
  const engines = await openEngines({ dataDir });
  const { events } = engines;
  const subscribe = events.subscribe.bind(events);
  const seen: string[] = [];
  events.subscribe = (...asked) => {
    t.equal(asked[1], undefined, "at the start, none is of one world only");
    const stack = new Error().stack!.replaceAll(".js:", ".ts:");
    seen.push(inProcess.find((file) => stack.includes(`/${file}:`)) ?? stack);
    return subscribe(...asked);
  };
  const token = "x".repeat(20);
  const metrics = { host: "", port: undefined, token };
  const app = createApp({ engines, config: { metrics } });
  t.teardown(() => app.close());
  await app.ready();
  // The first two subscribers belong to the engines, which are already open.
  t.same([...new Set(seen)], inProcess.slice(2), "in this order");
});

void t.test("listeners of one world come after all others", async (t) => {
  const events = new LogEvents({
    bus: new LocalBus((error) => t.fail(String(error))),
    log: {} as never,
    onFault: (error) => t.fail(String(error)),
  });
  t.teardown(() => events.close());
  const passed: string[] = [];
  events.subscribe(() => passed.push("one world"), "demo");
  events.subscribe(() => passed.push("all"));
  events.publish({ type: "x", world: "demo" } as never);
  t.same(passed, ["all", "one world"]);
});
