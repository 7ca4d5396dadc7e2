import { spawn } from "node:child_process";
import { readdirSync } from "node:fs";
import { embeddedFiles, shared } from "./shared.js";
import { lengthy, nightly, SHORT } from "./suites.js";
import "./threads.js";

/** An argument by which tap makes a process and its threads note what they load. */
const NOTES = /^--import=.*processinfo/;

/** The file of `db/` that `npm test` runs in a process of its own. */
export const STORE = "store.test.js";

/** Chooses the files of a folder that `npm test` runs. */
export const isBrief =
  (folder: string) =>
  (file: string): boolean =>
    !lengthy[folder]?.includes(file);

/** Chooses the files of a folder that `npm run test:more` runs. */
export const isLengthy =
  (folder: string) =>
  (file: string): boolean =>
    !isBrief(folder)(file);

/**
 * Runs all tests of a folder beside this file in one process: to start one for
 * each takes as long as most of them take. A folder without tests passes.
 * @param chosen by their paths in the folder; all files by default.
 */
export async function runFolder(
  name: string,
  chosen: (file: string) => boolean = () => true,
): Promise<void> {
  if (process.execArgv.some((argument) => NOTES.test(argument))) {
    return runWithoutNotes();
  }
  // It must come after the decision above: a process that loads tap is a test of its own.
  const { endAfterTests, nameWhatHangs } = await import("./watchdog.js");
  nameWhatHangs();
  const folder = new URL(`${name}/`, import.meta.url);
  const files = readdirSync(folder, { recursive: true }) as string[];
  const tests = files
    .filter((file) => file.endsWith(".test.js") && chosen(file))
    .sort();
  if (tests.length === 0) process.stdout.write("1..0\n");
  for (const file of tests) {
    const path = `${name}/${file}`;
    const reason =
      (shared && embeddedFiles[path]) ?? (SHORT ? nightly[path] : undefined);
    if (reason === undefined) await import(new URL(file, folder).href);
    else await skip(file, reason);
  }
  endAfterTests();
}

async function skip(name: string, reason: string): Promise<void> {
  const { default: t } = await import("tap");
  void t.test(name, { skip: reason }, () => {});
}

/**
 * Runs the program of this process again, in a process that does not note what it
 * loads. Only coverage needs the notes, and they double the time that the thread of
 * a store takes to start. Tests start hundreds of them.
 */
async function runWithoutNotes(): Promise<void> {
  const args = process.execArgv.filter((argument) => !NOTES.test(argument));
  // By way of env, as tap adds the argument to the environment of every child.
  const child = spawn(
    "env",
    ["-u", "NODE_OPTIONS", process.execPath, ...args, ...process.argv.slice(1)],
    { stdio: ["inherit", "inherit", "inherit", "ipc"] },
  );
  // A timeout of tap comes as a message: the child names the test that hangs.
  process.on("message", (message: object) => child.send(message));
  const signals = ["SIGHUP", "SIGINT", "SIGTERM"] as const;
  for (const signal of signals) process.on(signal, () => child.kill(signal));
  // tap sends it after that message. A child that could not read it must not survive.
  process.on("SIGALRM", () => child.kill("SIGKILL"));
  process.exitCode = await new Promise<number>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => resolve(code ?? 1));
  });
  if (process.connected) process.disconnect();
}
