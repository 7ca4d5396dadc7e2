import { spawnSync } from "node:child_process";
import { mkdtempSync, rmdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Test } from "tap";

const mounts = (folder: string, size: number): boolean =>
  spawnSync("mount", ["-t", "tmpfs", "-o", `size=${size}m`, "tmpfs", folder]).status === 0;

/** Returns why tests cannot mount a disk; false if they can. */
export function noMount(): false | string {
  const folder = mkdtempSync(join(tmpdir(), "foyer-mount-"));
  const can = mounts(folder, 1);
  if (can) spawnSync("umount", ["-l", folder]);
  rmdirSync(folder);
  return !can && "no disk may be mounted here";
}

/** Mounts a disk on an empty folder until the test ends. @param size in MiB. */
export function mountDisk(t: Test, folder: string, size: number): void {
  if (!mounts(folder, size)) throw new Error(`No disk can be mounted in ${folder}.`);
  t.teardown(() => spawnSync("umount", ["-l", folder]));
}
