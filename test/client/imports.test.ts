import { readdir, readFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import t from "tap";

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
      const names = text.matchAll(
        /^(?:import|export)\b[^;]*?from "([^"]+)"|\b[i]mport\(\s*["]([^"]+)"|^import "([^"]+)"/gm,
      );
      for (const [, from, dynamic, bare] of names) {
        const name = from ?? dynamic ?? bare!;
        const target = relative(root, join(root, file, "..", name));
        const isOwn = name.startsWith(".") && !target.startsWith("..");
        if (!isOwn)
          foreign.push(`${file}: ${dynamic ? "import()" : ""} ${name}`);
      }
    }
    t.same(foreign, ["live/socket.js: import() ws"]);
  },
);
