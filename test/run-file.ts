import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";

// A file of tests in a process of its own, as `tap` runs it, but without the loader that
// notes for coverage what each process and each thread loads: it doubles the time that they
// take to start.

/** After how many seconds a file hangs; a busy machine takes several times as long as a free one. */
const TIMEOUT = 900;

/** How long a process that hangs may take to say in which test, in milliseconds. */
const LAST_WORDS = 5000;

/**
 * The arguments of each process. Node reads the source map of each file only on request, with
 * SOURCE_MAPS=1: it takes a tenth of the time.
 */
const ARGUMENTS = [
  `--import=${new URL("lean.js", import.meta.url).href}`,
  ...(process.env.SOURCE_MAPS ? ["--enable-source-maps"] : []),
];

/** How many lines at the end of its output explain why a process failed that names no test. */
const TAIL = 60;

/** What came of a file. */
export interface Outcome {
  readonly passed: boolean;
  /** How many assertions there were. */
  readonly count: number;
  /** How long it took, in seconds. */
  readonly seconds: number;
  /** What it wrote: TAP, and what came on stderr. */
  readonly output: string;
}

const running = new Set<ChildProcess>();

/** Sends a signal to all files that run, and to what they have started. */
export function signalFiles(signal: NodeJS.Signals): void {
  for (const child of running) signalGroup(child, signal);
}

function signalGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  try {
    if (pid !== undefined) process.kill(-pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

/**
 * Runs a file.
 * @param file its path below `dist/test`.
 * @param env variables beside those of this process.
 */
export async function runFile(
  file: string,
  env: Record<string, string | undefined>,
): Promise<Outcome> {
  const began = performance.now();
  const child = spawn(
    process.execPath,
    [...ARGUMENTS, join(import.meta.dirname, file)],
    {
      cwd: join(import.meta.dirname, "..", ".."),
      env: {
        ...process.env,
        ...{ TAP: "1", TAP_TIMEOUT: String(TIMEOUT), FOYER_BUNDLE: "1" },
        ...env,
      },
      // tap of the file takes messages.
      stdio: ["ignore", "pipe", "pipe", "ipc"],
      // With a group of its own, whose servers end with it.
      detached: true,
    },
  );
  running.add(child);
  const chunks: Buffer[] = [];
  for (const stream of [child.stdout!, child.stderr!]) {
    stream.on("data", (chunk: Buffer) => void chunks.push(chunk));
  }
  const timer = setTimeout(
    () => endHanging(child),
    TIMEOUT * 1000 - LAST_WORDS,
  );
  const [code] = (await once(child, "close")) as [number | null];
  clearTimeout(timer);
  running.delete(child);
  const output = Buffer.concat(chunks).toString();
  const count = Number(/^# \{ total: (\d+)/m.exec(output)?.[1] ?? 0);
  return {
    // One that ends before its tests do shows no plan.
    passed: code === 0 && /^1\.\.\d+/m.test(output),
    count,
    seconds: (performance.now() - began) / 1000,
    output,
  };
}

/** Lets a process say in which test it hangs, and ends it. */
function endHanging(child: ChildProcess): void {
  child.send({ tapAbort: "timeout" }, () => {});
  setTimeout(() => signalGroup(child, "SIGKILL"), LAST_WORDS).unref();
}

/** The part of an output that says what failed: each such assertion with its details, or else the end. */
export function faultsOf(output: string): string {
  const faults = output.match(
    /^( *)not ok .*(\n\1 {2}---\n[\s\S]*?\n\1 {2}\.\.\.$)?/gm,
  );
  return (faults ?? output.trimEnd().split("\n").slice(-TAIL)).join("\n");
}
