import {
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { deserialize, serialize } from "node:v8";
import { constants, Script } from "node:vm";
import { crc32 } from "node:zlib";

// Compiling its modules is a third of the processor time of a start. So the command keeps the
// compiled code in DATA_DIR/code, and the next start takes it from there. V8 refuses code of
// another version of itself. It does not notice damage, or another source of the same length,
// and whoever can write code there runs it. So there are checksums, and the folder has to be
// private. A cache that is of no use is replaced: there is one file, whatever has changed.
//
// Node.js has the same for modules of a bundle from version 22 on, in a folder that only grows.

/** The compiled code of a module, and the checksum of its source. */
interface Compiled {
  source: number;
  code: Buffer;
}

type Modules = Record<string, Compiled>;

/** The bytes of the checksum in front of the modules. */
const CHECKSUM = 4;

const HEAD = "(function (exports, require, module, __filename, __dirname) { ";

type Wrapper = (
  exports: unknown,
  require: NodeJS.Require,
  module: NodeJS.Module,
  filename: string,
  folder: string,
) => void;

const bundle = fileURLToPath(new URL(".", import.meta.url));

/**
 * Lets modules of the command that load from now on take their compiled code from a folder of
 * data. Modules of other formats and places load as ever.
 * @returns a function that keeps the code of what has been loaded, unless it was all there. It
 *   never fails: without a cache, the next start takes longer.
 */
export function cacheCode(dataDir: string): () => Promise<void> {
  // Node.js reads the maps of sources only for code that it loads itself.
  if (process.sourceMapsEnabled) return async () => {};
  const folder = join(dataDir, "code");
  const path = join(folder, "cache");
  const kept = readCache(dataDir, folder, path);
  const loaded = new Map<string, { source: number; script: Script }>();
  let isComplete = true;

  const { extensions } = createRequire(import.meta.url);
  const byNode = extensions[".js"];
  const load = (module: NodeJS.Module, filename: string): void => {
    if (join(dirname(filename), "/") !== bundle) {
      byNode(module, filename);
      return;
    }
    const text = readFileSync(filename, "utf8");
    const source = crc32(text);
    const name = basename(filename);
    const known = kept[name];
    const script = new Script(`${HEAD}${text}\n})`, {
      filename,
      importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
      ...(known?.source === source && { cachedData: known.code }),
    });
    // It is undefined for a module that is not in the cache.
    if (script.cachedDataRejected !== false) isComplete = false;
    loaded.set(name, { source, script });
    const run = script.runInThisContext() as Wrapper;
    const exports: unknown = module.exports;
    const require = createRequire(filename);
    run.call(exports, exports, require, module, filename, dirname(filename));
  };
  extensions[".js"] = load;

  return async () => {
    extensions[".js"] = byNode;
    const modules: Modules = {};
    for (const [name, { source, script }] of loaded) {
      if (isComplete) break;
      modules[name] = { source, code: script.createCachedData() };
      // Requests come in between.
      await turn();
    }
    loaded.clear();
    if (Object.keys(modules).length > 0) {
      writeCache(dataDir, folder, path, modules);
    }
  };
}

/** What the cache has; nothing, if it is damaged or not private. */
function readCache(dataDir: string, folder: string, path: string): Modules {
  try {
    if (!isPrivate(dataDir, folder)) return {};
    const bytes = readFileSync(path);
    const body = bytes.subarray(CHECKSUM);
    if (bytes.readUInt32BE() !== crc32(body)) return {};
    return deserialize(body) as Modules;
  } catch {
    return {};
  }
}

function writeCache(
  dataDir: string,
  folder: string,
  path: string,
  modules: Modules,
): void {
  const unfinished = `${path}.new`;
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    if (!isPrivate(dataDir, folder)) return;
    const body = serialize(modules);
    const checksum = Buffer.alloc(CHECKSUM);
    checksum.writeUInt32BE(crc32(body));
    writeFileSync(unfinished, Buffer.concat([checksum, body]), { mode: 0o600 });
    renameSync(unfinished, path);
  } catch {
    discard(unfinished);
  }
}

/** Removes what a full disk did not take whole. In a folder that may only be read, there is nothing. */
function discard(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {
    // The next write replaces it.
  }
}

/**
 * Whether only the user of this process can have put a file into the folder. A link is no
 * folder: it may lead to files that others sent, such as uploads.
 */
function isPrivate(dataDir: string, folder: string): boolean {
  const user = process.geteuid?.();
  const isOwn = ({ uid, mode }: Stats, others: number) =>
    uid === user && (mode & others) === 0;
  const stats = lstatSync(folder);
  return (
    stats.isDirectory() &&
    isOwn(stats, 0o077) &&
    isOwn(statSync(dataDir), 0o022)
  );
}
