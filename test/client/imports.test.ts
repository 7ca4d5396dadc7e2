import { readdir, readFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import t from "tap";
import ts from "typescript";

// The client runs in browsers as it is, without a bundler.

const root = fileURLToPath(new URL("../../client", import.meta.url));

void t.test(
  "the client imports only itself, and ws where needed",
  async (t) => {
    const files = (await readdir(root, { recursive: true })).filter((path) =>
      path.endsWith(".js"),
    );
    t.ok(files.length > 5);
    const foreign: string[] = [];
    for (const file of files) {
      const text = await readFile(join(root, file), "utf8");
      for (const { fileName } of ts.preProcessFile(text, true, true)
        .importedFiles) {
        const target = relative(root, join(root, file, "..", fileName));
        const isOwn = fileName.startsWith(".") && !target.startsWith("..");
        if (!isOwn) foreign.push(`${file}: ${fileName}`);
      }
    }
    const rules = (name: string) => `../../schemas/plain/${name}.js`;
    t.same(foreign.sort(), [
      `live/poll-kind.js: ${rules("items")}`,
      `live/program.js: ${rules("program")}`,
      `live/question-kind.js: ${rules("items")}`,
      "live/socket.js: ws",
      `live/state.js: ${rules("announcements")}`,
    ]);
    for (const name of ["announcements", "items", "program"]) {
      const shared = await readFile(join(root, "live", rules(name)), "utf8");
      t.notMatch(shared, /^import/m, "the server's rules import nothing");
    }
    const socket = await readFile(join(root, "live/socket.js"), "utf8");
    t.notMatch(socket, /^import/m, "only when it is needed");
  },
);
