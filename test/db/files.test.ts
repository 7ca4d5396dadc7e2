import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { LocalFiles } from "../../db/blobs/folder/files.js";
import { finished, unfinished } from "../files.js";
import { fileStoreContract, pieces, untold } from "./file-contract.js";
import { testdir } from "../testdir.js";

function filesIn(t: Test, dataDir: string): LocalFiles {
  const files = new LocalFiles(dataDir);
  t.teardown(() => files.close());
  return files;
}

void t.test("a folder", (t) =>
  fileStoreContract(t, (t) => filesIn(t, testdir(t))),
);

void t.test("where files lie, and who may read them", async (t) => {
  const dataDir = join(testdir(t), "new");
  const files = filesIn(t, dataDir);
  await files.put("pub/demo/a.pdf", pieces(Buffer.from("x")), untold);
  const modeOf = (path: string) => statSync(join(dataDir, path)).mode & 0o777;
  if (process.platform !== "win32") {
    t.equal(modeOf("media"), 0o700);
    t.equal(modeOf("media/pub/demo"), 0o700);
    t.equal(modeOf("media/pub/demo/a.pdf"), 0o600);
    t.equal(modeOf("work"), 0o700);
  }
  await files.close();
  t.strictSame(readdirSync(join(dataDir, "work")), [], "nothing is left");
});

/** What a process leaves that was killed: a work folder, and files in place. */
function wreck(dataDir: string, name: string): void {
  const work = join(dataDir, "work", name);
  const media = join(dataDir, "media/pub/demo");
  mkdirSync(work, { recursive: true });
  mkdirSync(media, { recursive: true });
  writeFileSync(`${work}.lock`, "");
  writeFileSync(join(work, "1"), "half a file");
  writeFileSync(join(work, "2.clean"), "half an image");
  mkdirSync(join(work, `pub%2Fdemo%2F${name}-told.note`));
  mkdirSync(join(work, `pub%2Fdemo%2F${name}-untold.note`));
  writeFileSync(join(work, "5.note"), `pub/demo/${name}-never`);
  writeFileSync(join(work, "6.note"), "");
  for (const end of ["told", "untold", "old"]) {
    writeFileSync(join(media, `${name}-${end}`), "whole");
  }
}

void t.test("what a crash left is swept", async (t) => {
  const dataDir = testdir(t);
  const files = filesIn(t, dataDir);
  wreck(dataDir, "one");
  wreck(dataDir, "two");
  const asked: string[] = [];
  await files.sweep(async (key) => {
    asked.push(key);
    return key.endsWith("-told");
  });
  t.strictSame(await unfinished(dataDir), []);
  t.strictSame(readdirSync(join(dataDir, "work")), [], "no lock either");
  t.strictSame(readdirSync(join(dataDir, "media/pub/demo")).sort(), [
    "one-old",
    "one-told",
    "two-old",
    "two-told",
  ]);
  t.equal(asked.length, 6, "and only noted files were looked at");
});

void t.test("what another process works on is left alone", async (t) => {
  const dataDir = testdir(t);
  const files = filesIn(t, dataDir);
  const module = JSON.stringify(
    new URL("../../db/blobs/folder/files.js", import.meta.url),
  );
  const child = spawn(
    process.execPath,
    [
      "--input-type=module",
      "-e",
      `import { LocalFiles } from ${module};
       const files = new LocalFiles(${JSON.stringify(dataDir)});
       const wait = () => new Promise(() => setInterval(() => {}, 1000));
       await files.put("pub/whole", [Buffer.from("x")], async () => {
         process.stdout.write("ready");
         await wait();
       });`,
    ],
    { stdio: ["ignore", "pipe", "inherit"] },
  );
  t.teardown(() => child.kill("SIGKILL"));
  await once(child.stdout, "data");
  const path = join(dataDir, "media/pub/whole");

  await files.sweep(async () => false);
  t.ok(existsSync(path), "its process lives");
  t.equal((await unfinished(dataDir)).length, 1, "and so does its note");

  const ended = once(child, "exit");
  child.kill("SIGKILL");
  await ended;
  await files.sweep(async () => false);
  t.notOk(existsSync(path), "its link was never returned");
  t.strictSame(await unfinished(dataDir), []);
});

void t.test("a folder that was taken away is made again", async (t) => {
  const dataDir = testdir(t);
  const files = filesIn(t, dataDir);
  for (const key of ["pub/demo/a", "pub/demo/b"]) {
    await files.put(key, pieces(Buffer.from("x")), untold);
    t.ok(existsSync(join(dataDir, "media", key)), key);
    rmSync(join(dataDir, "media/pub"), { recursive: true });
  }
});

void t.test("a fault of the disk passes", async (t) => {
  const dataDir = testdir(t);
  const files = filesIn(t, dataDir);
  const work = join(dataDir, "work");
  const put = () => files.put("a", pieces(Buffer.from("x")), untold);
  writeFileSync(work, "where the folder should be");
  await t.rejects(put(), { name: "StoreError", problem: "unusable" });
  await t.rejects(put(), { name: "StoreError", problem: "unusable" });
  t.strictSame(await finished(dataDir), []);
  rmSync(work);
  await put();
  t.equal((await finished(dataDir)).length, 1);
});
