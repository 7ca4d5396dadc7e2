import { execFileSync } from "node:child_process";
import {
  chownSync,
  mkdirSync,
  rmSync,
  statfsSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import {
  createRoom,
  isRunning,
  type Node,
  SECONDS,
  startNode,
  startSite,
  within,
} from "./kit.js";

// A database that takes no writes: read-only, and full.

/** Writes so much that it takes new pages. */
const write = (node: Node) =>
  node.api("POST", "rooms/", {
    name: "Large",
    module_config: [{ type: "x", config: { text: noise() } }],
  });

/** Text that PostgreSQL cannot compress. */
const noise = (): string =>
  Array.from({ length: 5000 }, () => Math.random().toString(36)).join("");

async function expectRefused(t: Test, node: Node): Promise<void> {
  const { status, retryAfter } = await write(node);
  t.equal(status, 503);
  t.match(retryAfter, /^\d+$/);
  t.equal(await node.status("/healthz"), 200);
  t.ok(isRunning(node));
}

const works = (node: Node) => async () => (await write(node)).status === 201;

void t.test("a database that is read-only", async (t) => {
  const site = await startSite(t);
  const node = await startNode(t, site);
  const room = await createRoom(node);
  const set = async (value: string) => {
    await site.postgres.run(
      `ALTER SYSTEM SET default_transaction_read_only = ${value}`,
    );
    await site.postgres.run("SELECT pg_reload_conf()");
  };
  await set("on");
  await within(5 * SECONDS, "it takes no writes", async () => {
    return (await write(node)).status !== 201;
  });
  await expectRefused(t, node);
  const { status } = await node.api("GET", `rooms/${room}/`);
  t.equal(status, 200, "it is read as before");
  await set("off");
  await within(10 * SECONDS, "it takes writes", works(node));
  t.equal(await node.status("/readyz"), 200);
});

/** Mounts a small disk in a folder of PostgreSQL. @returns where, or undefined where that is not allowed. */
function smallDisk(t: Test, parent: string): string | undefined {
  const folder = join(parent, "disk");
  mkdirSync(folder);
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=64m", "tmpfs", folder], {
      stdio: "ignore",
    });
  } catch {
    return undefined;
  }
  t.teardown(() => execFileSync("umount", ["-l", folder]));
  const { uid, gid } = statSync(parent);
  chownSync(folder, uid, gid);
  return folder;
}

void t.test("a database whose disk is full", async (t) => {
  const site = await startSite(t);
  const disk = smallDisk(t, site.postgres.folder);
  if (disk === undefined) {
    t.pass("NOT TESTED: no disk may be mounted here.");
    return;
  }
  await site.postgres.run(`CREATE TABLESPACE small LOCATION '${disk}'`);
  await site.postgres.run("ALTER DATABASE foyer SET TABLESPACE small");
  const node = await startNode(t, site);
  const room = await createRoom(node);
  const filler = join(disk, "filler");
  const { bavail, bsize } = statfsSync(disk);
  writeFileSync(filler, Buffer.alloc(bavail * bsize - 1024 * 1024));
  await within(30 * SECONDS, "it is full", async () => {
    return (await write(node)).status !== 201;
  });
  await expectRefused(t, node);
  const { status } = await node.api("GET", `rooms/${room}/`);
  t.equal(status, 200, "it is read as before");
  rmSync(filler);
  await within(10 * SECONDS, "it takes writes", works(node));
  t.equal(await node.status("/readyz"), 200);
});
